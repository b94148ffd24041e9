// Package rows makes many files of one format one table of samples. It is the
// part that table-like formats (HDF5, ROOT, ...) share: the survey of all inputs,
// the comparison of their schemas, the state a plan keeps, the cuts into spans, the
// open files, and the change of a column into the type that all inputs have in
// common. It knows no format and reads no values.
//
// A format says what one file holds and reads samples of one file:
//
//	set, err := rows.Open(ctx, args, rows.Format{Name: "HDF5", Look: look})
//	table := rows.NewTable(set, open, reader)
//
// look returns the Facts of one file; open makes what the format needs to read one, a *file, say.
// The Table is a Source: the Set in it has Schema, Spans, State, Leftovers and Describe, Handles keep
// files open. reader makes a Reader, mostly by NewReader of a Worker, which is handed the open file
// (Take) and fills the columns of a span that the file has, in the file's own types (Read):
//
//	for i := range b.Columns {
//		if f := in.Field(i); f >= 0 {
//			err = w.file.read(f, span.Lo, span.Hi, &b.Columns[i], mem)
//		}
//	}
//
// Columns get the common types, and missing ones are filled, behind it.
//
// The example of the package is a whole Source.
package rows
