// Package rows makes many files of one format one table of samples. It is the
// part that table-like formats (HDF5, ROOT, ...) share: the survey of all inputs,
// the comparison of their schemas, the state a plan keeps, the cuts into spans, the
// open files, and the change of a column into the type that all inputs have in
// common. It knows no format and reads no values.
//
// A format says what one file holds and reads samples of one file:
//
//	set, err := rows.Open(ctx, args, rows.Format{Name: "HDF5", Look: look})
//	handles := rows.NewHandles(open)
//
// look returns the Facts of one file; open makes what the format needs to read one,
// a *file, say. A Source is then a *Set, which has Schema, Spans, State, Leftovers
// and Describe, and a Reader which for a span does
//
//	in, b, err := set.Begin(ctx, span, mem) // columns of the file's own types
//	h, err := handles.Acquire(ctx, in)
//	defer h.Release()
//	for i := range b.Columns {
//		if f := in.Field(i); f >= 0 {
//			err = h.Value.read(f, span.Lo, span.Hi, &b.Columns[i], mem)
//		}
//	}
//	return set.Finish(in, b, mem) // columns of the common types, missing ones filled
//
// The example of the package is a whole Source.
package rows
