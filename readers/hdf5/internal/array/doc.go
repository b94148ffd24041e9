// Package array reads rows of the data sets of an HDF5 file, as bytes, into the caller's
// buffer, however they are stored. It knows no samples, fields or options: what the bytes
// are, and who wants which rows, is the caller's business.
//
//	file.go      a file, and those of its folder that it leads to
//	array.go     Array: a data set ready to be read; what its rows may take of memory
//	geometry.go  chunks and where they are in the array; chunks.go reads and decodes
//	             them, and has the Buffers of one reader
//	virtual.go   rows that are those of other data sets; slab.go selections
//	external.go  rows in raw files
//	announce.go  where rows are, for files on other machines before they are read
//	order.go     axes that are read in another order than they are stored in
//	measures.go  what can be read at all, in which units, and how it is stored
//
// An Array is shared by readers; each reader has Buffers of its own. Chunks of whole rows
// are decoded into the caller's buffer, stored ones are read into it; neighbouring chunks
// are read together. A row of chunks that is wanted in part stays decoded for the next
// call, within the reader's share of memory.
//
// Errors say where in the file they are, and a RowError in which row.
package array
