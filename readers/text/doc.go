// Package text reads plain text, also packed by gzip or zstd: a file, a line, a paragraph, or
// what is between lines of one kind, is a sample.
//
//	src, err := text.Format.Open(ctx, format.OpenArgs{Table: table, Options: format.Options{"text-docs": "paragraph"}})
//
// Nothing in a file says what a document is, so the format is read only when the user asks for
// it. The field is text; it has the bytes of the file, without the end of its last line.
//
//	docs.go    where documents begin and end
//	source.go  the format, and documents within files: readers/internal/lines cuts files into pieces
//	whole.go   files that are one document each, of any size
package text
