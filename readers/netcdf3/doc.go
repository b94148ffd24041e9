// Package netcdf3 reads netCDF-3 files as samples: classic, with 64-bit offsets, and CDF-5.
//
// Package internal/cdf parses a header. To package readers/internal/arrays, which does all the
// rest, a file is a store of arrays in chunks: each variable is cut into chunks of about a megabyte
// (file.go), whose bytes are in the file unchanged, or in parts, one in each record.
package netcdf3
