// Package h5 reads the structures of an HDF5 file: superblock, object headers,
// groups, datatypes, layouts, chunk indexes, heaps and attributes. It decodes no
// chunk and turns no value into another type; package hdf5 above it does.
//
//	f, err := h5.Open(r, size, "a.h5", h5)
//	link, err := f.Lookup("/train/x")
//	obj, err := f.Object(link.Addr, "/train/x")
//	ds, err := obj.Dataset()
//	table, err := ds.Chunks()
//	chunk, ok := table.At([]int64{3, 0})
//
// Nothing is read before it is asked for: Open reads the superblock and the root
// header, Children the links of one group, Object one header, Dataset the
// messages of a data set, Attributes the attributes, Chunks the chunk index.
//
// Every address in this API is an offset from the start of the file, user block
// included; [Undefined] says that there is no storage. The bytes come from
// others: each length is compared with what the file holds before memory is
// taken, each walk is bounded, each checksum verified. Damage is a
// *shardify.Error that wraps ErrCorrupt and names the structure and its address,
// a feature outside of this reader one that wraps ErrUnsupported.
//
// The files, from the outside in:
//
//	file, object, link, dataset, datatype, dataspace, chunktable, globalheap   the API
//	superblock, header, messages, layout, datatypeparse, datasetparse          messages
//	group, dense, lookup, attr, shared, virtual                                what they lead to
//	chunkindex, chunkarray, chunkfixed, chunkextensible, tablebuild            chunk indexes
//	btree1, btree2, localheap, heapcache, fractalheap, fractalblocks, fractalhuge   trees and heaps
//	io, decode                                                                 bytes
//
// A File, its Objects, Datasets and ChunkTables may be used by several goroutines
// at once; a Heap belongs to one.
package h5
