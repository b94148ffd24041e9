package key

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/zeebo/xxh3"
)

// Table is a table that rows are found in by their key: in memory, or in a file, sorted.
type Table struct {
	Digest string // of all values, whatever the table is in
	Rows   int
	Texts  []bool            // by key column: whether its values are texts
	Fields []shardify.Field  // beside the keys; nullable where a value is missing
	Cols   []shardify.Column // of these in memory, and a row more, of zeros and marks of missing values

	keys   []shardify.Field
	by     []shardify.Column // the keys, in memory
	mu     sync.Mutex
	clocks map[clocked]*Table // with a key as times

	bytes int64 // of the values
	index *Index
	file  *file // nil in memory
}

// RowBytes is what the values of a row take, about.
func (t *Table) RowBytes() float64 { return float64(t.bytes) / float64(max(t.Rows, 1)) }

// NewTable makes a table of key columns and others that have so many rows. It takes the
// memory of the others over.
func NewTable(by, cols []shardify.Column, rows int) (*Table, error) {
	if rows >= math.MaxInt32 {
		return nil, shardify.Unsupported("a table of %d rows; at most %d are joined", rows, math.MaxInt32-1)
	}
	t := &Table{Rows: rows, Cols: cols, by: by}
	t.Digest = TableDigest(slices.Concat(by, cols), rows)
	keys, err := t.keysOf(by, rows, func(i int) int64 { return int64(i) })
	if err != nil {
		return nil, err
	}
	for i := range t.Cols {
		f := t.Cols[i].Field
		f.Nullable = slices.Contains(t.Cols[i].Valid, 0)
		t.Fields = append(t.Fields, f)
		t.bytes += int64(len(t.Cols[i].Data))
		addMissing(&t.Cols[i], rows)
	}
	if t.index, err = NewIndex(keys, rows); err != nil {
		return nil, shardify.Mismatch("%s %v", namesOf(by), err)
	}
	return t, nil
}

// namesOf are those of key columns.
func namesOf(by []shardify.Column) string {
	var list []string
	for i := range by {
		list = append(list, by[i].Name)
	}
	return strings.Join(list, ",")
}

// keysOf reads the keys of rows of the table. number is that of a row.
func (t *Table) keysOf(by []shardify.Column, rows int, number func(i int) int64) (Column, error) {
	parts := make([]Column, len(by))
	t.Texts, t.keys = nil, nil
	for p := range by {
		c, k := &by[p], &parts[p]
		if err := Check(&c.Field); err != nil {
			return *k, err
		}
		if i := bytes.IndexByte(c.Valid, 0); i >= 0 {
			return *k, shardify.Mismatch("row %d has no %s", number(i), c.Name)
		}
		t.Texts, t.keys = append(t.Texts, IsText(&c.Field)), append(t.keys, c.Field)
		if k.Data = c.Data; t.Texts[p] {
			k.Ends = c.Offsets[0]
			continue
		}
		k.Nums = make([]uint64, rows)
		var err error
		if k.Signed, err = Numbers(k.Nums, c, func(i int, _ float64) error {
			return shardify.Mismatch("row %d: %s is not a whole number, and no key", number(i), c.Name)
		}); err != nil {
			return *k, err
		}
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return Join(parts, rows, nil, nil), nil
}

// Close ends the use of the file, if the table is in one.
func (t *Table) Close() error {
	if t.file != nil {
		if c, ok := t.file.in.(io.Closer); ok {
			return c.Close()
		}
	}
	return nil
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

// TableSum is a digest of rows that may come in any order.
type TableSum struct {
	sum xxh3.Uint128
	rec []byte
}

// Row adds a row, given its number.
func (d *TableSum) Row(cols []shardify.Column, i int, number int64) {
	d.rec = binary.LittleEndian.AppendUint64(d.rec[:0], uint64(number))
	for x := range cols {
		d.rec = appendValue(d.rec, &cols[x], i)
	}
	h := xxh3.Hash128(d.rec)
	d.sum.Hi, d.sum.Lo = d.sum.Hi+h.Hi, d.sum.Lo+h.Lo
}

// Text is the digest, of rows of these columns.
func (d *TableSum) Text(cols []shardify.Column) string {
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
	var d TableSum
	for i := range rows {
		d.Row(cols, i, int64(i))
	}
	return d.Text(cols)
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

// ValuesOf reads n keys of a column, and lists those that can have no row.
func ValuesOf(c *shardify.Column, n int, text bool, mem *shardify.Arena) (k Column, never []int32) {
	if text {
		k.Data, k.Ends = c.Data, c.Offsets[c.Levels-1]
	} else {
		k.Nums = shardify.View[uint64](mem.Alloc(8 * n))
		k.Signed, _ = Numbers(k.Nums, c, func(i int, _ float64) error { never = append(never, int32(i)); return nil })
	}
	if c.Valid != nil && (c.Levels == 1) == text {
		for i, ok := range c.Valid {
			if ok == 0 {
				never = append(never, int32(i))
			}
		}
	}
	return k, never
}

// Found is the rows of keys.
type Found struct {
	From    *shardify.Batch // rows of the table; the last one has no values
	Rows    []int32         // of From, by key
	Used    []int32         // numbers of the rows of From in the table; nil if they are those of From
	Missing int             // keys without a row
}

// None is the row of From that has no values.
func (f *Found) None() int32 { return int32(f.From.Samples - 1) }

// InFile reports whether the table is in a file.
func (t *Table) InFile() bool { return t.file != nil }

// Find finds the rows of n keys, of which those in never have no row. cols is Cols, or the columns
// to use instead.
func (t *Table) Find(keys *Column, n int, never []int32, cols []shardify.Column, mem *shardify.Arena) (*Found, error) {
	f := &Found{Rows: shardify.View[int32](mem.Alloc(4 * n))}
	if t.file != nil {
		if err := t.file.find(f, keys, never, t.Fields, mem); err != nil {
			return nil, err
		}
	} else {
		f.From = &shardify.Batch{Samples: t.Rows + 1, Columns: cols}
		t.index.Find(f.Rows, keys, int32(t.Rows))
		for _, i := range never {
			f.Rows[i] = int32(t.Rows)
		}
	}
	none := f.None()
	for _, r := range f.Rows {
		if r == none {
			f.Missing++
		}
	}
	return f, nil
}
