// Package hdu parses FITS files (the standard, version 4.0): header and data units (HDUs), images, tables, and images
// that are compressed in tiles. It knows nothing of samples.
//
//	header.go    cards: keywords with their values
//	parse.go     the HDUs of a file, from headers alone; checksums
//	image.go     images: the stored numbers and their scale
//	table.go     columns of binary tables and what they become
//	rows.go      rows of binary tables, into columns; lists in the heap
//	ascii.go     tables of text
//	tiles.go     images in tiles: RICE_1, GZIP_1, GZIP_2, numbers that were quantised
//	rice.go      the code of RICE_1
package hdu
