// Package fits reads FITS files, of astronomy: an image is a sample, or a section of it, and so is a row of a table.
//
// Package internal/hdu parses a file. Images are files of arrays for package readers/internal/arrayfile (images.go),
// tables are rows for readers/internal/rows (tables.go). choose.go decides which HDUs are read.
package fits
