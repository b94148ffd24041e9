// Package sqlite reads tables and views of SQLite databases: a row is a sample.
//
//	src, err := sqlite.Format.Open(ctx, format.OpenArgs{Table: table, Options: format.Options{"object": "pulses"}})
//
// SQLite itself, compiled to Go (zombiezen.com/go/sqlite over modernc.org/sqlite), reads the
// schema and steps through views. The rows of tables are read from their b-trees, in parts side
// by side. The database is an immutable file: nothing is locked, nothing is written beside it.
// What that would hide is refused: a write-ahead log that is not empty, and the journal of a
// writer that died. When a plan is made all pages of the table are checked, and the types of all
// cells of the wanted columns, since columns of SQLite need not have a type.
//
//	cells                                field
//	a column of REAL affinity            f64
//	integers                             i64
//	floats, or integers up to 2^53 too   f64
//	texts                                txt
//	blobs                                bin
//	other mixtures                       refused, naming column and row
//
// NULL is a missing value. Rows come by rowid, those of WITHOUT ROWID tables by key.
//
//	file.go    what a database is refused for, its tables and columns
//	btree.go   from pages to rows
//	record.go  from rows to values
//	survey.go  the look at all cells
//	source.go  the format
//	read.go    from values to columns
package sqlite
