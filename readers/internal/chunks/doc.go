// Package chunks makes samples of the chunks of arrays: each is the rows that are stored together,
// fewer at the end of an input. It knows no format. A reader that reads rows says for each input
// how many are in a chunk:
//
//	return chunks.New(rows, wanted, func(in *rows.Input) (*chunks.Size, error) { ... })
package chunks
