package stats

import (
	"cmp"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/shardify/shardify"
)

const (
	// maxClasses is how many distinct values are counted one by one.
	maxClasses = 1000
	// maxText is the longest text that may be the name of a class.
	maxText = 256
)

// Classes counts the distinct values of a field that may be a label.
type Classes struct {
	Many  bool // more than maxClasses, or long texts: not counted
	dtype shardify.DType
	ints  map[uint64]int64
	texts map[string]int64
}

func newClasses(f *shardify.Field) *Classes {
	switch {
	case f.Media == "txt" && f.Levels == 1:
		return &Classes{texts: map[string]int64{}}
	case f.Media == "" && f.Levels == 0 && len(f.Shape) == 0 && (f.DType.IsInt() || f.DType == shardify.Bool):
		return &Classes{dtype: f.DType, ints: map[uint64]int64{}}
	}
	return nil
}

// column adds the present values of a batch.
func (c *Classes) column(col *shardify.Column, samples int) {
	if c.Many {
		return
	}
	size := col.ElemBytes()
	for i := range samples {
		if col.Valid != nil && col.Valid[i] == 0 {
			continue
		}
		if c.texts != nil {
			c.text(col.Data[col.Offsets[0][i]:col.Offsets[0][i+1]])
		} else {
			var b [8]byte
			copy(b[:], col.Data[i*size:(i+1)*size])
			k := binary.LittleEndian.Uint64(b[:])
			c.ints[k]++
			c.Many = c.dtype == shardify.U64 && k > math.MaxInt64 // a hash, no label
		}
		if c.Many || len(c.ints)+len(c.texts) > maxClasses {
			c.Many, c.ints, c.texts = true, nil, nil
			return
		}
	}
}

func (c *Classes) text(b []byte) {
	if len(b) > maxText {
		c.Many = true
		return
	}
	c.texts[string(b)]++
}

func (c *Classes) merge(d *Classes) {
	if c.Many || d.Many {
		c.Many, c.ints, c.texts = true, nil, nil
		return
	}
	for k, n := range d.ints {
		c.ints[k] += n
	}
	for k, n := range d.texts {
		c.texts[k] += n
	}
	if len(c.ints)+len(c.texts) > maxClasses {
		c.Many, c.ints, c.texts = true, nil, nil
	}
}

// Class is a distinct value.
type Class struct {
	Value int64  `json:"value"`
	Name  string `json:"name,omitempty"` // of a text, or from the field's labels
	Count int64  `json:"count"`
}

// List is the values in their order.
func (c *Classes) List(names []string, codes []int64) []Class {
	var out []Class
	named := make(map[int64]string, len(names))
	for i, name := range names {
		named[codes[i]] = name
	}
	for _, k := range slices.Sorted(maps.Keys(c.ints)) {
		v := c.signed(k)
		out = append(out, Class{Value: v, Name: named[v], Count: c.ints[k]})
	}
	slices.SortFunc(out, func(a, b Class) int { return cmp.Compare(a.Value, b.Value) })
	for i, k := range slices.Sorted(maps.Keys(c.texts)) {
		out = append(out, Class{Value: int64(i), Name: k, Count: c.texts[k]})
	}
	return out
}

// signed is the value whose low bytes are k.
func (c *Classes) signed(k uint64) int64 {
	switch c.dtype {
	case shardify.I8:
		return int64(int8(k))
	case shardify.I16:
		return int64(int16(k))
	case shardify.I32:
		return int64(int32(k))
	}
	return int64(k)
}
