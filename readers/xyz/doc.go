// Package xyz reads XYZ and extended XYZ, also packed by gzip or zstd: a frame is a sample.
//
//	src, err := xyz.Format.Open(ctx, format.OpenArgs{Table: table})
//
//	in the file                             field
//	key=value of the comment line           its own name: i64, f64, bool, text; [n] or jagged; [r,c]
//	a key that some frames lack             missing there
//	Lattice                                 f64 [3,3], rows are vectors
//	stress, virial of 9 numbers             f64 [3,3], column by column
//	pbc                                     bool [3]; without it, whether there is a Lattice
//	a comment line without keys             text comment
//	an array of Properties                  jagged, all with the counter atoms; [count] where count > 1
//	species                                 Z, u8; the symbols if --columns asks for them
//
// readers/internal/lines cuts files into pieces of whole frames. The comment lines of all frames are
// looked at when a plan is made: the schema is the union of all. The atoms are parsed when they are read.
//
//	survey.go  what the comment lines say, and what becomes of it
//	source.go  the format
//	parse.go   from frames to columns
package xyz
