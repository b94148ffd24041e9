// Package mat5 parses MAT-files of MATLAB 4 to 7, which are not HDF5. It knows nothing of samples.
//
//	input.go    bytes in order, of a file or of a compressed element
//	parse.go    the variables of a file, from headers alone
//	matrix.go   a matrix: flags, axes, name, and where its numbers are
//	values.go   the values of a variable, the last index the fastest
//	texts.go    characters
//	sparse.go   sparse matrices, made dense
//	mat4.go     files of MATLAB 4
package mat5
