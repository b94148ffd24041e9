// Package dataset opens shardify's own data sets and reads their shards: one reader of
// mmap shards and one of tar shards, for readers/mmap and readers/wds, the loader of
// gpuload, staging and checks. The layout of the bytes is in index, index/tar and index/npy; what is read
// where, ahead of time and by how many goroutines, is up to who reads.
//
//	file        what it has
//	set.go      Open: a folder's manifest, and whether several sets are alike
//	id.go       ID: the digest of what a trainer sees of a set
//	absent.go   what is in place of a data set that is not there
//	files.go    opening the files that a manifest names, of the size on record
//	project.go  the fields that globs choose
//	mmap.go     Mmap: tensors of an mmap shard, with their offsets and booleans checked
//	pair.go     pairs of Megatron-LM as shards of the same tensors; sets of pairs without a manifest
//	flat.go     Flat: the elements of all lists of a set as its samples
//	tar.go      Tar, TarIndex: which members a sample has in a tar, and where samples begin
//	tars.go     tars of others as a set; their index in a file: tarsindex.go
//	walk.go     Walk: the members of a sample, checked, and their values
//	check.go    checkers: digests and checksums of a file that passes through
//	names.go    names of samples: those that an output cannot have, those that come twice
package dataset
