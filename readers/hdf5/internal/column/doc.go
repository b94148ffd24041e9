// Package column reads rows of HDF5 data sets into columns. The caller says which rows and
// which fields; the package knows nothing of how samples are found.
//
//	dataset.go    a file and its data sets, with the fields of their elements
//	column.go     rows become columns, of fixed or varying size
//	offsets.go    flat values beside offsets: the values of a range of samples
//	matrix.go     sparse matrices: three data sets that belong together
//	integers.go   data sets of whole numbers
//	texts.go      short lists of names
package column
