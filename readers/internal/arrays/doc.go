// Package arrays reads files that hold named arrays as samples: what the readers of Zarr and of
// netCDF-3 have in common. Its model is that of Zarr: an array has a type, a shape, names of its
// dimensions and attributes, and is stored in chunks that are decoded one by one. Package store
// has the arrays of an input; package node has what one array is and how its chunks are decoded;
// package attrs has values of attributes; package shelf has decoded rows that readers share.
// A format makes a Kind, whose Source is its Open. Here are
//
//	kind.go     what a format gives
//	survey.go   what the samples are, and the fields
//	missing.go  chunks that are not there
//	fields.go   types and attributes of fields
//	grid.go     where the elements of a chunk belong
//	chunks.go   reading rows of an array, each chunk once
//	shelf.go    rows that readers share
//	input.go    an open input: metadata as the plan has them, chunks, shards
//	source.go   settings, Source and Reader
//	cells.go    a store as package anndata sees it
//
// # Samples
//
// Rows along the first dimension, found by package dims as for HDF5: by the names of
// dimensions, else by length. With sample=file each input is one sample.
package arrays
