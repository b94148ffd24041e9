// Package load brings samples from shards into tables, which are arrays in memory laid out
// as in a shard, and gathers batches from tables.
//
//	file         what it has
//	table.go     Table: a buffer for each tensor of a layout; Memory, which tables are made of
//	gather.go    Gather: rows of tables become a batch; rows_*.s copies them
//	cast.go      Cast, checked for a field; castrows.go does the arithmetic
//	shards.go    Shards: the files of a data set, opened, checked and kept open
//	load.go      Reader: runs of samples into a table, in passes: lengths, lists, data
//	visit.go     the same for short rows, out of mappings
//	loadtar.go   the same for tars, by package dataset
//	scrub.go     checksums that are compared beside the reading
//	spares.go    memory that is used again
//	parallel.go  Crew: the goroutines that may help
package load
