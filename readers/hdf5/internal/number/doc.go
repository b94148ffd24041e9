// Package number converts stored numbers into those of a column.
//
//	number.go   Form: how a number is stored, and the dtype that it becomes
//	kernels.go  the loops that most bytes go through; Strided: where values are inside
//	            an element
//
// It knows nothing of HDF5's messages: a Form is made from sizes, bits and byte order.
// Forms of the usual sizes are copied or swapped; any other is decoded bit by bit, into
// the smallest dtype that holds all its values exactly. Loops are chosen once for a
// column (Form.Converter), not for each value.
package number
