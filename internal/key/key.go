// Package key finds rows by their keys, which are whole numbers or texts.
package key

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/zeebo/xxh3"
)

// IsText reports whether the values of a field are texts.
func IsText(f *shardify.Field) bool {
	return f.Levels == 1 && f.DType == shardify.U8 && isText(f)
}

func isText(f *shardify.Field) bool { return f.Media != "" && f.Media != "image" }

// Check returns an error unless the values of a field are keys.
func Check(f *shardify.Field) error {
	if !IsText(f) && (f.Levels > 0 || len(f.Shape) > 0) {
		return fmt.Errorf("%s is a list, and no key", f.Name)
	}
	return nil
}

// Numbers reads whole numbers; negative ones only if signed. Floating-point values that are
// not whole, or beyond 2^53, are handed to bad, and 0.
func Numbers(dst []uint64, c *shardify.Column, bad func(i int, f float64) error) (signed bool, err error) {
	const most = 1 << 53
	from, to := c.DType, shardify.I64
	switch {
	case from == shardify.Bool:
		from, to = shardify.U8, shardify.U64
	case from.IsFloat():
		to = shardify.F64
	case from >= shardify.U8:
		to = shardify.U64
	}
	numeric.Convert(shardify.Bytes(dst), to, c.Data, from)
	if to != shardify.F64 {
		return to == shardify.I64, nil
	}
	for i, u := range dst {
		f := math.Float64frombits(u)
		if f != math.Trunc(f) || math.Abs(f) > most {
			dst[i] = 0
			if err := bad(i, f); err != nil {
				return true, err
			}
			continue
		}
		dst[i] = uint64(int64(f))
	}
	return true, nil
}

// Column is keys.
type Column struct {
	Nums   []uint64 // numbers
	Signed bool
	Data   []byte  // or texts
	Ends   []int64 // one more than there are texts; nil for numbers
	parts  []part  // of keys that Join made
}

// part is one of several columns that make keys.
type part struct{ text, signed bool }

// Join is keys of n rows that several columns make: texts whose order is that of the keys,
// column by column. Columns of which each value is for several rows name its place by owner.
func Join(cols []Column, n int, repeated []bool, owner []int32) Column {
	out := Column{Ends: make([]int64, 1, n+1)}
	for p := range cols {
		out.parts = append(out.parts, part{cols[p].Ends != nil, cols[p].Signed})
	}
	for i := range n {
		for p := range cols {
			c, at := &cols[p], i
			if repeated != nil && repeated[p] {
				at = int(owner[i])
			}
			if c.Ends == nil {
				sign := byte(1)
				if c.Signed && int64(c.Nums[at]) < 0 {
					sign = 0
				}
				out.Data = binary.BigEndian.AppendUint64(append(out.Data, sign), c.Nums[at])
				continue
			}
			for _, b := range c.Text(at) {
				if out.Data = append(out.Data, b); b == 0 {
					out.Data = append(out.Data, 0xff)
				}
			}
			out.Data = append(out.Data, 0, 0)
		}
		out.Ends = append(out.Ends, int64(len(out.Data)))
	}
	return out
}

// shown is the parts of a key for people.
func (c *Column) shown(b []byte) string {
	var words []string
	for _, p := range c.parts {
		if !p.text {
			n := binary.BigEndian.Uint64(b[1:])
			if b = b[9:]; p.signed {
				words = append(words, strconv.FormatInt(int64(n), 10))
			} else {
				words = append(words, strconv.FormatUint(n, 10))
			}
			continue
		}
		var text []byte
		for ; b[0] != 0 || b[1] != 0; b = b[1:] {
			if text = append(text, b[0]); b[0] == 0 {
				b = b[1:]
			}
		}
		b, words = b[2:], append(words, strconv.Quote(string(text)))
	}
	return strings.Join(words, ", ")
}

// Text is that of key i.
func (c *Column) Text(i int) []byte { return c.Data[c.Ends[i]:c.Ends[i+1]] }

// Shown is key i for people.
func (c *Column) Shown(i int) string {
	switch {
	case c.parts != nil:
		return c.shown(c.Text(i))
	case c.Ends != nil:
		return strconv.Quote(string(c.Text(i)))
	case c.Signed:
		return strconv.FormatInt(int64(c.Nums[i]), 10)
	}
	return strconv.FormatUint(c.Nums[i], 10)
}

// Index finds rows by key.
type Index struct {
	keys  Column
	dense []int32 // rows by key, from low on: row+1, or 0
	low   int64
	slots []int32 // or by hash
}

// Twice is the error about a key in two rows.
type Twice struct {
	Key  string
	A, B int // rows
}

func (t *Twice) Error() string {
	return fmt.Sprintf("%s is in rows %d and %d: a key must have one row", t.Key, t.A, t.B)
}

// NewIndex makes an index of the keys of so many rows.
func NewIndex(keys Column, rows int) (*Index, error) {
	x := &Index{keys: keys}
	if keys.Ends == nil && rows > 0 {
		low, high := int64(keys.Nums[0]), int64(keys.Nums[0])
		for _, n := range keys.Nums {
			low, high = min(low, int64(n)), max(high, int64(n))
		}
		if span := uint64(high) - uint64(low); (keys.Signed || low >= 0) && span/8 < uint64(rows) {
			x.low, x.dense = low, make([]int32, span+1)
			for i, n := range keys.Nums {
				at := &x.dense[int64(n)-low]
				if *at > 0 {
					return nil, &Twice{keys.Shown(i), int(*at) - 1, i}
				}
				*at = int32(i) + 1
			}
			return x, nil
		}
	}
	n := 16
	for n < 2*rows {
		n *= 2
	}
	x.slots = make([]int32, n)
	for i := range rows {
		at := x.hash(i) & uint64(n-1)
		for x.slots[at] > 0 {
			if k := int(x.slots[at]) - 1; x.same(k, i) {
				return nil, &Twice{keys.Shown(i), k, i}
			}
			at = (at + 1) & uint64(n-1)
		}
		x.slots[at] = int32(i) + 1
	}
	return x, nil
}

func (x *Index) hash(i int) uint64 {
	if x.keys.Ends != nil {
		return xxh3.Hash(x.keys.Text(i))
	}
	return shardify.Mix(x.keys.Nums[i])
}

func (x *Index) same(i, k int) bool {
	if x.keys.Ends != nil {
		return bytes.Equal(x.keys.Text(i), x.keys.Text(k))
	}
	return x.keys.Nums[i] == x.keys.Nums[k]
}

// Find sets the row of each key, or none.
func (x *Index) Find(rows []int32, keys *Column, none int32) {
	if x.keys.Ends != nil {
		for i := range rows {
			rows[i] = x.text(keys.Text(i), none)
		}
		return
	}
	for i, n := range keys.Nums[:len(rows)] {
		if rows[i] = none; keys.Signed == x.keys.Signed || int64(n) >= 0 {
			rows[i] = x.number(n, none)
		}
	}
}

func (x *Index) text(s []byte, none int32) int32 {
	for at := xxh3.Hash(s) & uint64(len(x.slots)-1); x.slots[at] > 0; at = (at + 1) & uint64(len(x.slots)-1) {
		if k := x.slots[at] - 1; bytes.Equal(x.keys.Text(int(k)), s) {
			return k
		}
	}
	return none
}

func (x *Index) number(n uint64, none int32) int32 {
	if x.dense != nil {
		if at := uint64(int64(n) - x.low); at < uint64(len(x.dense)) && x.dense[at] > 0 && int64(n) >= x.low {
			return x.dense[at] - 1
		}
		return none
	}
	for at := shardify.Mix(n) & uint64(len(x.slots)-1); x.slots[at] > 0; at = (at + 1) & uint64(len(x.slots)-1) {
		if k := x.slots[at] - 1; x.keys.Nums[k] == n {
			return k
		}
	}
	return none
}
