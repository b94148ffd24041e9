package transform

import (
	"bytes"
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/key"
)

// JoinTable is a table in memory that rows are found in by their key.
type JoinTable struct {
	Digest string // of all values
	rows   int
	cols   []shardify.Column // and a row more, of zeros and marks of missing values

	text  bool
	index *key.Index
}

// NewJoinTable makes a table of columns that have so many rows. It takes their memory over.
func NewJoinTable(k shardify.Column, cols []shardify.Column, rows int) (*JoinTable, error) {
	if rows >= math.MaxInt32 {
		return nil, shardify.Unsupported("a table of %d rows; at most %d are joined", rows, math.MaxInt32-1)
	}
	t := &JoinTable{rows: rows, cols: cols}
	if k.Valid != nil {
		if i := bytes.IndexByte(k.Valid, 0); i >= 0 {
			return nil, shardify.Mismatch("row %d has no %s", i, k.Name)
		}
	}
	t.Digest = TableDigest(append([]shardify.Column{k}, cols...))
	if err := key.Check(&k.Field); err != nil {
		return nil, err
	}
	keys := key.Column{Data: k.Data}
	if t.text = key.IsText(&k.Field); t.text {
		keys.Ends = k.Offsets[0]
	} else {
		keys.Nums = make([]uint64, rows)
		var err error
		if keys.Signed, err = key.Numbers(keys.Nums, &k, func(i int, _ float64) error {
			return shardify.Mismatch("row %d: %s is no whole number, and no key", i, k.Name)
		}); err != nil {
			return nil, err
		}
	}
	for i := range t.cols {
		addMissing(&t.cols[i], rows)
	}
	var err error
	if t.index, err = key.NewIndex(keys, rows); err != nil {
		return nil, shardify.Mismatch("%s %v", k.Name, err)
	}
	return t, nil
}

// TableDigest is of all values.
func TableDigest(cols []shardify.Column) string {
	var d index.Digest
	for _, c := range cols {
		fmt.Fprintf(&d, "%s %s %v %d %d\n", c.Name, c.DType, c.Shape, len(c.Data), len(c.Valid))
		d.Write(c.Data)
		d.Write(c.Valid)
		for _, o := range c.Offsets {
			d.Write(shardify.Bytes(o))
		}
	}
	return d.String()
}

// addMissing adds a row without a value.
func addMissing(c *shardify.Column, rows int) {
	if c.Valid == nil {
		c.Valid = bytes.Repeat([]byte{1}, rows)
	}
	c.Valid = append(c.Valid, 0)
	if c.Levels == 0 {
		c.Data = append(c.Data, make([]byte, c.ElemBytes())...)
		return
	}
	c.Offsets[0] = append(c.Offsets[0], c.Offsets[0][rows])
}

// keysOf reads n keys of a column, and marks those that can have no row.
func keysOf(c *shardify.Column, n int, text bool, mem *shardify.Arena) (k key.Column, none []int32) {
	if text {
		k.Data, k.Ends = c.Data, c.Offsets[c.Levels-1]
	} else {
		k.Nums = shardify.View[uint64](mem.Alloc(8 * n))
		k.Signed, _ = key.Numbers(k.Nums, c, func(i int, _ float64) error { none = append(none, int32(i)); return nil })
	}
	if c.Valid != nil && c.Levels == btoi(text) {
		for i, ok := range c.Valid {
			if ok == 0 {
				none = append(none, int32(i))
			}
		}
	}
	return k, none
}

// find sets the row of each key: t.rows for those that have none.
func (t *JoinTable) find(rows []int32, c *shardify.Column, mem *shardify.Arena) (missing int) {
	keys, never := keysOf(c, len(rows), t.text, mem)
	none := int32(t.rows)
	t.index.Find(rows, &keys, none)
	for _, i := range never {
		rows[i] = none
	}
	for _, r := range rows {
		if r == none {
			missing++
		}
	}
	return missing
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
