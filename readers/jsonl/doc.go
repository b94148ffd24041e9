// Package jsonl reads JSON lines, also packed by gzip or zstd: an object on each line is a sample.
//
//	src, err := jsonl.Format.Open(ctx, format.OpenArgs{Table: table})
//
// readers/internal/lines cuts files into pieces of whole lines. Every line of every file is looked at
// when a plan is made: the schema is the union of all.
//
//	in the file                        field
//	true, false                        bool
//	whole numbers                      i64, u64 where one needs it
//	numbers, NaN, Infinity             f64, correctly rounded
//	strings                            text
//	objects                            a field for each member: a.b
//	lists                              jagged
//	lists of lists, lists of strings   two levels
//	lists of objects                   jagged hits.t, hits.c with the counter hits
//	three levels                       left out, with the reason
//
// null is the same as a name that is not there: a missing value. Inside of a list it has no
// place: it is an error, or with --null-items fill NaN, 0 or empty.
//
//	scan.go    from bytes to values, for the survey and for reading
//	node.go    the tree of names; what was seen of each, and what becomes of it
//	source.go  the format
//	parse.go   from values to columns
package jsonl
