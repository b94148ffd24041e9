// Package column reads a column whose values are the names of splits.
package column

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/numeric"
)

// Check refuses a field that cannot name splits: it has one text, or one code of a label, for each sample.
func Check(f *shardify.Field) error {
	switch {
	case key.IsText(f):
		return nil
	case f.DType.IsInt() && f.Levels == 0 && f.Elem() == 1 && len(codesOf(f)) > 0:
		return nil
	case f.DType.IsInt() && f.Levels == 0:
		return shardify.Misuse("--split-from column=%s: the field has numbers, not names: --split 'train=%s == 0; val=%s == 1' says what they mean", f.Name, f.Name, f.Name)
	}
	return shardify.Misuse("--split-from column=%s: want one text or label for each sample", f.Name)
}

// codesOf is the names of codes.
func codesOf(f *shardify.Field) map[int64]string {
	names, codes := f.Codes()
	out := make(map[int64]string, len(names))
	for i, n := range names {
		if n != "" {
			out[codes[i]] = n
		}
	}
	return out
}

// Names are the names in a column.
type Names struct {
	c     *shardify.Column
	codes map[int64]string // of labels; nil for texts
}

// New reads a column whose field Check accepts.
func New(c *shardify.Column) *Names {
	n := &Names{c: c}
	if c.Levels == 0 {
		n.codes = codesOf(&c.Field)
	}
	return n
}

// At is the name of sample i; false if it is missing or empty. It is valid as long as the column.
func (n *Names) At(i int) (name []byte, ok bool) {
	if n.c.Valid != nil && n.c.Valid[i] == 0 {
		return nil, false
	}
	lo, hi := n.c.Range(i, i+1)
	if n.codes == nil {
		return n.c.Data[lo:hi], hi > lo
	}
	var code [1]int64
	numeric.Convert(shardify.Bytes(code[:]), shardify.I64, n.c.Data[lo:hi], n.c.DType)
	text, ok := n.codes[code[0]]
	return []byte(text), ok
}
