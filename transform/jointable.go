package transform

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/zeebo/xxh3"
)

// JoinTable is a table that rows are found in by their key: in memory, or in a file, sorted.
type JoinTable struct {
	Digest string // of all values, whatever the table is in
	rows   int
	text   bool
	fields []shardify.Field // nullable where a value is missing

	cols  []shardify.Column // and a row more, of zeros and marks of missing values
	index *key.Index
	file  *joinFile // nil in memory
}

// NewJoinTable makes a table of columns that have so many rows. It takes their memory over.
func NewJoinTable(k shardify.Column, cols []shardify.Column, rows int) (*JoinTable, error) {
	if rows >= math.MaxInt32 {
		return nil, shardify.Unsupported("a table of %d rows; at most %d are joined", rows, math.MaxInt32-1)
	}
	t := &JoinTable{rows: rows, cols: cols}
	if i := bytes.IndexByte(k.Valid, 0); i >= 0 {
		return nil, shardify.Mismatch("row %d has no %s", i, k.Name)
	}
	t.Digest = TableDigest(append([]shardify.Column{k}, cols...), rows)
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
		f := t.cols[i].Field
		f.Nullable = slices.Contains(t.cols[i].Valid, 0)
		t.fields = append(t.fields, f)
		addMissing(&t.cols[i], rows)
	}
	var err error
	if t.index, err = key.NewIndex(keys, rows); err != nil {
		return nil, shardify.Mismatch("%s %v", k.Name, err)
	}
	return t, nil
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

// tableDigest is a digest of rows that may come in any order.
type tableDigest struct {
	sum xxh3.Uint128
	rec []byte
}

// row adds a row, given its number.
func (d *tableDigest) row(cols []shardify.Column, i int, number int64) {
	d.rec = binary.LittleEndian.AppendUint64(d.rec[:0], uint64(number))
	for x := range cols {
		d.rec = appendValue(d.rec, &cols[x], i)
	}
	h := xxh3.Hash128(d.rec)
	d.sum.Hi, d.sum.Lo = d.sum.Hi+h.Hi, d.sum.Lo+h.Lo
}

func (d *tableDigest) text(cols []shardify.Column) string {
	h := xxh3.New()
	for _, c := range cols {
		fmt.Fprintf(h, "%s %s %v %d\n", c.Name, c.DType, c.Shape, c.Levels)
	}
	fmt.Fprintf(h, "%016x %016x", d.sum.Hi, d.sum.Lo)
	x := h.Sum128()
	return fmt.Sprintf("%016x%016x", x.Hi, x.Lo)
}

// TableDigest is of all values of a table.
func TableDigest(cols []shardify.Column, rows int) string {
	var d tableDigest
	for i := range rows {
		d.row(cols, i, int64(i))
	}
	return d.text(cols)
}

// appendValue appends value i of a column: whether there is one, how many there are in its
// lists, and the bytes.
func appendValue(b []byte, c *shardify.Column, i int) []byte {
	valid := byte(1)
	if c.Valid != nil {
		valid = c.Valid[i]
	}
	b = append(b, valid)
	lo, hi := int64(i), int64(i)+1
	for l, o := range c.Offsets {
		if l > 0 {
			for k := lo; k < hi; k++ {
				b = binary.LittleEndian.AppendUint32(b, uint32(o[k+1]-o[k]))
			}
		} else {
			b = binary.LittleEndian.AppendUint32(b, uint32(o[hi]-o[lo]))
		}
		lo, hi = o[lo], o[hi]
	}
	size := int64(c.ElemBytes())
	return append(b, c.Data[lo*size:hi*size]...)
}

// keysOf reads n keys of a column, and tells those that can have no row.
func keysOf(c *shardify.Column, n int, text bool, mem *shardify.Arena) (k key.Column, never []int32) {
	if text {
		k.Data, k.Ends = c.Data, c.Offsets[c.Levels-1]
	} else {
		k.Nums = shardify.View[uint64](mem.Alloc(8 * n))
		k.Signed, _ = key.Numbers(k.Nums, c, func(i int, _ float64) error { never = append(never, int32(i)); return nil })
	}
	if c.Valid != nil && c.Levels == btoi(text) {
		for i, ok := range c.Valid {
			if ok == 0 {
				never = append(never, int32(i))
			}
		}
	}
	return k, never
}

// found is the rows of keys.
type found struct {
	from    *shardify.Batch // rows of the table; the last one has no values
	rows    []int32         // of from, by key
	used    []int32         // numbers of the rows of from in the table; nil if they are those of from
	missing int             // keys without a row
}

func (f *found) none() int32 { return int32(f.from.Samples - 1) }

// find finds the rows of n keys. cols is the columns of a table in memory.
func (t *JoinTable) find(c *shardify.Column, n int, cols []shardify.Column, mem *shardify.Arena) (*found, error) {
	f := &found{rows: shardify.View[int32](mem.Alloc(4 * n))}
	keys, never := keysOf(c, n, t.text, mem)
	if t.file != nil {
		if err := t.file.find(f, &keys, never, t.fields, mem); err != nil {
			return nil, err
		}
	} else {
		f.from = &shardify.Batch{Samples: t.rows + 1, Columns: cols}
		t.index.Find(f.rows, &keys, int32(t.rows))
		for _, i := range never {
			f.rows[i] = int32(t.rows)
		}
	}
	none := f.none()
	for _, r := range f.rows {
		if r == none {
			f.missing++
		}
	}
	return f, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
