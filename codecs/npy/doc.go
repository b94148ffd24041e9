// Package npy reads NumPy's .npy files (https://numpy.org/neps/nep-0001-npy-format.html): the
// header of an array with every type that NumPy writes, and whole files in memory.
//
//	header.go   the header; literal.go: the Python dict in it
//	types.go    NumPy's types; structs.go: those with fields
//	values.go   elements in other forms than the machine's
//	decode.go   a whole file in memory: Open
package npy
