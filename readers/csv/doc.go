// Package csv reads tables in text, CSV and TSV, also packed by gzip or zstd: a line is a sample.
//
//	src, err := csv.Format.Open(ctx, format.OpenArgs{Table: table})
//
// readers/internal/lines cuts files into pieces of whole records; this package finds the names and the
// types of columns when a plan is made, and turns cells into values when samples are read.
//
// # Types
//
// A type is that of all cells of a column, in all files; no first lines decide.
//
//	cells                                   field
//	true, false (in any case)               bool
//	whole numbers                           i64, u64 where one needs it
//	numbers, NaN, inf                       f64, correctly rounded
//	all else: 007, 1,234, what fits neither text
//
// An empty cell is a missing value among numbers and "" among texts. A column of empty cells
// alone is left out.
//
// # Files
//
//	settings.go  --csv
//	scan.go      from bytes to cells
//	number.go    from cells to numbers
//	types.go     the types of columns
//	survey.go    the look at all cells
//	source.go    the format
//	parse.go     from cells to columns
package csv
