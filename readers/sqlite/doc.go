// Package sqlite reads tables and views of SQLite databases: a row is a sample.
//
//	src, err := sqlite.Format.Open(ctx, format.OpenArgs{Table: table, Options: format.Options{"object": "pulses"}})
//
// SQLite itself reads them, compiled to Go (zombiezen.com/go/sqlite over modernc.org/sqlite),
// as an immutable file: nothing is locked, nothing is written beside it. What that would hide is
// refused: a write-ahead log that is not empty, and the journal of a writer that died. When a
// plan is made quick_check looks at all pages, and every cell of the wanted columns tells its
// type, since columns of SQLite need not have one.
//
//	cells                                field
//	a column of REAL affinity            f64
//	integers                             i64
//	floats, or integers below 2^53 too   f64
//	texts                                txt
//	blobs                                bin
//	other mixtures                       refused, naming column and row
//
// NULL is a missing value. Rows come by rowid, those of WITHOUT ROWID tables by key.
//
//	file.go    what a database is refused for, its tables and columns
//	survey.go  the look at all cells
//	source.go  the format, and reading
package sqlite
