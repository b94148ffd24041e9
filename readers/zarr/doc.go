// Package zarr reads Zarr stores of formats 2 and 3 as samples.
//
// An input is the file of metadata at the root of a store (store.Roots), which stands for the
// folder that it is in, or a zip file. Package internal/store finds the arrays, internal/node
// understands their metadata and decodes chunks. Here are
//
//	survey.go   what the samples are, and the fields
//	missing.go  chunks that are not there
//	fields.go   types and attributes of fields; cf.go
//	grid.go     where the elements of a chunk belong
//	chunks.go   reading rows of an array, each chunk once
//	input.go    an open store: metadata as the plan has them, chunks, shards
//	source.go   options, Source and Reader
//
// # Samples
//
// Rows along the first dimension, found by package dims as for HDF5: by the names of
// dimensions, else by length. With sample=file each store is one sample.
package zarr
