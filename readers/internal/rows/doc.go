// Package rows makes many files of one format one table of samples. It is the
// part that table-like formats (HDF5, ROOT, ...) share. It knows no format and reads no values.
//
//	survey      looks at all inputs and merges what they say into one table: which fields there are,
//	            what is missing where, which types all have in common
//	set         the table: its fields, spans, and state; open files, and readers of them
//	sampleaxis  what a sample is in files of arrays
//	coltype     types that are given, common, or of decimals
//
// The package itself has what all of them need: opening of files, checks of text, sums within bounds.
//
// A format says what one file holds and reads samples of one file:
//
//	s, err := survey.Open(ctx, args, survey.Format{Name: "HDF5", Look: look})
//	table := set.NewTable(s, open, reader)
//
// look returns the survey.Facts of one file; open makes what the format needs to read one, a *file, say.
// The set.Table is a Source: the Set in it has Schema, Spans, State, Leftovers and Describe, Handles keep
// files open. reader makes a Reader, mostly by set.NewReader of a Worker, which is handed the open file
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
