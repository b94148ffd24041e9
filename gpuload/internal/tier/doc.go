// Package tier is where the samples of an epoch come from, between shards and batches.
//
//	file           what it has
//	window.go      Windows: what a Block shuffle reads ahead, a generation at a time
//	generation.go  the reading of one, from shards or from the pinned tier
//	advise.go      Advisor: the page cache as the window, for large samples
//	pinned.go      Pinned: the whole set in host memory, and some of it on a device, too
//	resident.go    the whole set in the memory of a device
//	mapped.go      Mapped: staged shards in memory that all ranks share
package tier
