// Package mat reads MAT-files of MATLAB 4 to 7 as samples; those of 7.3 are HDF5.
//
// Package internal/mat5 parses a file. To package readers/internal/arrays, which does all the
// rest, a file is a store of arrays of one chunk each: a variable, decoded, with its last index the fastest (file.go).
package mat
