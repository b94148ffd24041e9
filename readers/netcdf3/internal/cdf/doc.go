// Package cdf parses the header of netCDF-3 files: classic, with 64-bit offsets, and CDF-5.
//
//	f, err := cdf.Parse(file, size)
//	for i := range f.Variables { ... }
//
// It finds where the values of each variable are and checks that they are within the file, but reads
// none. A header has no checksum: what it says twice is compared, so that damage is an error.
//
//	parse.go   the header
//	place.go   where values are: records, sizes, the end of the file
package cdf
