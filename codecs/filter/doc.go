// Package filter decodes the chunks of HDF5 data sets, and what Zarr has of the same: it undoes the filters that
// a writer applied to them, compression above all. It knows nothing of files, and does not encode.
//
//	p, err := filter.New(specs, elemSize, chunkBytes) // refuses what it cannot decode
//	...
//	var s filter.Scratch // one for each worker
//	err = p.Decode(chunk, stored, mask, &s)
//
// The filters of a data set form a pipeline, which a writer applies in order and a
// reader from last to first:
//
//	values -> shuffle -> deflate -> fletcher32 -> stored
//
// It has deflate, shuffle, fletcher32, szip, nbit, scale-offset, LZF, Blosc 1 and 2, bitshuffle, LZ4, zstd and
// bzip2; the file of each says its stored form. Shuffles and Fletcher-32 have AVX2 forms (BenchmarkUnshuffle has both).
// There is no other decoder of these in Go among the modules of this project: the rival is libhdf5 with its
// plugins, by way of h5py, in bench/RESULTS.md (make bench).
//
// Errors wrap shardify.ErrCorrupt, or shardify.ErrUnsupported with a command that converts the file.
package filter
