// Package made is text that is made of files of another kind, such as databases: a piece is what some of their records become.
// A reader of text (JSON lines, XYZ) reads it as it reads files.
//
//	src, err := jsonl.Open(ctx, args, &made.Text{Name: "LMDB", Record: "entry", Look: look, Open: open})
package made

import (
	"context"
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// Text is how the text of a file is made. The places of records are places in that text.
type Text struct {
	// Name is that of the format in errors, Record what its records are called, Key all that the texts depend on
	// beside the files.
	Name, Record, Key string
	// End is where the first record of b ends that ends at from or behind; nil: records are lines.
	End func(b []byte, from int) int
	// Look finds the pieces of a file.
	Look func(ctx context.Context, f storage.File, path string) (*Pieces, error)
	// Open begins to make texts of a file.
	Open func(ctx context.Context, f storage.File, path string, state []byte) (Maker, error)
}

// Pieces are those of a file.
type Pieces struct {
	Rows   []int64 // the number of the first record of each, and that of all
	State  []byte  // that the plan keeps for Open
	Left   []format.Leftover
	Remark string
}

// Maker makes the texts of a file. One goroutine uses it.
type Maker interface {
	// Piece appends the text of piece k, which has the records [lo, hi) and ends in a line feed.
	Piece(ctx context.Context, k int, lo, hi int64, b []byte) ([]byte, error)
	Close() error
}

// Join is two parts as one, the first one behind its length.
func Join(first, second []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(len(first)))
	return append(append(b, first...), second...)
}

// Cut is the inverse of Join.
func Cut(b []byte) (first, second []byte, err error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) {
		return nil, nil, errParts
	}
	return b[k : k+int(n)], b[k+int(n):], nil
}

var errParts = shardify.Corrupt(-1, "survey of the plan: parts of it")
