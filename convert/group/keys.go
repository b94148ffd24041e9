package group

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/zeebo/xxh3"
)

// keys are the fields that tell samples apart.
type keys struct {
	names   []string
	perFile bool // the input is one of them
}

// field is a key field of samples as those of the rows are. Floating-point numbers become
// whole ones.
func (k *keys) field(f shardify.Field) (shardify.Field, error) {
	switch {
	case f.Levels == 1 && f.DType == shardify.U8 && f.Media != "" && f.Media != "image":
	case f.Levels > 0 || len(f.Shape) > 0:
		return f, shardify.Misuse("--group-rows %s: the field is a list, which is no key", f.Name)
	case f.DType.IsFloat():
		f.DType = shardify.I64
	}
	f.Nullable = false
	return f, nil
}

// column is a key field of the rows at hand.
type column struct {
	vals []uint64 // of numbers, in an order that unsigned numbers have; nil for text
	flip uint64   // what makes a value of vals the number again
	data []byte
	offs []int64
}

// view is the keys of the rows at hand. Its memory is used again.
type view struct {
	cols []column
	n    int
}

// look reads the keys of a batch.
func (k *keys) look(v *view, b *shardify.Batch) error {
	v.n = b.Samples
	n := len(k.names)
	if k.perFile {
		n++
	}
	if v.cols == nil {
		v.cols = make([]column, n)
	}
	at := 0
	if k.perFile {
		c := &v.cols[0]
		c.vals = slices.Grow(c.vals[:0], b.Samples)[:b.Samples]
		for i := range c.vals {
			c.vals[i] = uint64(b.ID(i).Input)
		}
		at = 1
	}
	for i, name := range k.names {
		src := find(b, name)
		if src == nil {
			return shardify.Mismatch("field %s is not there", name)
		}
		if err := v.cols[at+i].read(src, b); err != nil {
			return err
		}
	}
	return nil
}

func find(b *shardify.Batch, name string) *shardify.Column {
	if i := slices.IndexFunc(b.Columns, func(c shardify.Column) bool { return c.Name == name }); i >= 0 {
		return &b.Columns[i]
	}
	return nil
}

// atRow says which row an error is about.
func atRow(err error, b *shardify.Batch, i int, field string) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample, e.Field, e.At = b.ID(i).Sample, field, new(b.ID(i)) })
}

// read takes the values of a field.
func (c *column) read(src *shardify.Column, b *shardify.Batch) error {
	if src.Valid != nil {
		if i := bytes.IndexByte(src.Valid, 0); i >= 0 {
			return atRow(shardify.Mismatch("the key is missing"), b, i, src.Name)
		}
	}
	if src.Levels == 1 {
		c.data, c.offs = src.Data, src.Offsets[0]
		return nil
	}
	c.vals = slices.Grow(c.vals[:0], b.Samples)[:b.Samples]
	c.flip = 1 << 63
	from, to := src.DType, shardify.I64
	switch {
	case from == shardify.Bool:
		from, to, c.flip = shardify.U8, shardify.U64, 0
	case from.IsFloat():
		to = shardify.F64
	case from >= shardify.U8:
		to, c.flip = shardify.U64, 0
	}
	numeric.Convert(shardify.Bytes(c.vals), to, src.Data, from)
	if to == shardify.F64 {
		if err := c.integers(src, b); err != nil {
			return err
		}
	}
	if c.flip != 0 {
		for i := range c.vals {
			c.vals[i] ^= c.flip
		}
	}
	return nil
}

// integers makes floating-point values whole numbers.
func (c *column) integers(src *shardify.Column, b *shardify.Batch) error {
	const most = 1 << 53
	for i, u := range c.vals {
		f := math.Float64frombits(u)
		switch {
		case f != f:
			return atRow(shardify.Mismatch("the key is missing (NaN)"), b, i, src.Name)
		case f != math.Trunc(f) || math.Abs(f) > most:
			return atRow(shardify.Mismatch("%v is no key: floating-point keys must be whole numbers up to 2^53", f), b, i, src.Name)
		}
		c.vals[i] = uint64(int64(f))
	}
	return nil
}

// text is that of row i.
func (c *column) text(i int) []byte { return c.data[c.offs[i]:c.offs[i+1]] }

// compare orders two rows by their keys.
func (v *view) compare(i, k int) int {
	for x := range v.cols {
		c := &v.cols[x]
		d := 0
		if c.offs != nil {
			d = bytes.Compare(c.text(i), c.text(k))
		} else {
			d = cmp.Compare(c.vals[i], c.vals[k])
		}
		if d != 0 {
			return d
		}
	}
	return 0
}

// changes appends the rows whose key is not that of the row before. The first row is none.
func (v *view) changes(dst []int32) []int32 {
	if len(v.cols) == 1 && v.cols[0].offs == nil {
		x := v.cols[0].vals
		for i := 1; i < len(x); i++ {
			if x[i] != x[i-1] {
				dst = append(dst, int32(i))
			}
		}
		return dst
	}
	for i := 1; i < v.n; i++ {
		if v.compare(i-1, i) != 0 {
			dst = append(dst, int32(i))
		}
	}
	return dst
}

// shown is the key of row i for people.
func (v *view) shown(i int) string {
	var words []string
	for x := range v.cols {
		c := &v.cols[x]
		switch {
		case c.offs != nil:
			words = append(words, strconv.Quote(string(c.text(i))))
		case c.flip != 0:
			words = append(words, strconv.FormatInt(int64(c.vals[i]^c.flip), 10))
		default:
			words = append(words, strconv.FormatUint(c.vals[i], 10))
		}
	}
	return strings.Join(words, ", ")
}

// encode appends the key of row i as bytes whose order is that of the keys.
func (v *view) encode(dst []byte, i int) []byte {
	for x := range v.cols {
		c := &v.cols[x]
		if c.offs == nil {
			dst = binary.BigEndian.AppendUint64(dst, c.vals[i])
			continue
		}
		for _, b := range c.text(i) {
			if dst = append(dst, b); b == 0 {
				dst = append(dst, 0xff)
			}
		}
		dst = append(dst, 0, 0)
	}
	return dst
}

// identity is who the sample of row i is: its key if that is one number, else a hash.
func (k *keys) identity(v *view, i int) int64 {
	cols := v.cols
	if k.perFile {
		cols = cols[1:]
	}
	if len(cols) == 1 && cols[0].offs == nil {
		return int64((cols[0].vals[i] ^ cols[0].flip) &^ (1 << 63))
	}
	h := uint64(0)
	for x := range cols {
		c := &cols[x]
		if c.offs == nil {
			h = shardify.Mix(h + shardify.Mix(c.vals[i]^c.flip))
		} else {
			h = shardify.Mix(h + xxh3.Hash(c.text(i)))
		}
	}
	return int64(h &^ (1 << 63))
}
