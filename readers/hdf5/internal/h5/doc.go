// Package h5 reads the objects of an HDF5 file: superblock, object headers, groups, links,
// attributes and data sets. It decodes no chunk and turns no value into another type; package
// hdf5 above it does.
//
//	f, err := h5.Open(r, size, "a.h5")
//	link, err := f.Lookup("/train/x")
//	obj, err := f.Object(link.Addr, "/train/x")
//	ds, err := obj.Dataset()
//
// Nothing is read before it is asked for: Open reads the superblock and the root
// header, Children the links of one group, Object one header, Dataset the
// messages of a data set, Attributes the attributes.
//
// The files, from the outside in:
//
//	file, object, link                  the API
//	group, dense, lookup                links
//	attr, datasetparse, messages        attributes, data sets
//	shared                              messages that several objects share
//	superblock, header                  where everything begins
//
// A File and its Objects may be used by several goroutines at once.
package h5
