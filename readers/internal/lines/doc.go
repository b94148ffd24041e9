// Package lines makes tables of text files whose records are lines: what CSV and JSON lines
// share. It unpacks gzip and zstd, cuts the text into pieces of about a MiB that hold whole
// records, has several goroutines look at all of them when a plan is made, and keeps where the
// pieces begin, so that reading can begin at any of them. It knows nothing of what a record says.
//
//	index, err := lines.Survey{Workers: 2, Work: count}.Run(ctx, file)
//	blob := index.Append(own) // what the plan keeps of a file
//	src := lines.NewSource(set, encoding, parser)
//
// A packed or transcoded file is one run: it is read from its beginning, once if its spans are
// read in order. A plain one is read from the piece that a span begins in.
package lines
