package rows

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/zeebo/xxh3"
)

// keys are the fields that identify samples.
type keys struct {
	names   []string
	perFile bool    // the input is one of them
	drop    bool    // rows without a key are left out
	hint    bool    // errors say how
	listed  *listed // samples are the rows of a table; nil if they are what keys there are
}

// field is a key field of samples as those of the rows are. Floating-point numbers become
// whole ones.
func (k *keys) field(f shardify.Field) (shardify.Field, error) {
	if err := key.Check(&f); err != nil {
		return f, shardify.Misuse("--group-rows: %v", err)
	}
	if f.DType.IsFloat() {
		f.DType = shardify.I64
	}
	f.Nullable = false
	return f, nil
}

// column is a key field of the current rows.
type column struct {
	vals []uint64 // of numbers, in an order that unsigned numbers have; nil for text
	flip uint64   // what makes a value of vals the number again
	data []byte
	offs []int64
}

// view is the keys of the current rows. Its memory is used again.
type view struct {
	cols []column
	n    int
	kept []int32 // the rows of the batch that count; nil is all
	none []byte  // marks rows that belong to no sample

	lost [2]int64 // rows without a key, and other rows of no sample

	own  []column // the keys of rows whose cols are numbers of samples
	nums []uint64 // one key as a number, or several as a text; see joined
	text []byte
	ends []int64
	rows []int32
	at   []int32 // see starts
	ids  []shardify.ID
	list []ranked // see order
	tmp  []ranked
}

// look reads the keys of a batch. The result leaves out rows that belong to no sample; it is the
// batch itself if every row belongs to one.
func (k *keys) look(v *view, b *shardify.Batch, mem *shardify.Arena) (*shardify.Batch, error) {
	v.kept = nil
	if err := k.read(v, b); err != nil {
		return nil, err
	}
	n := bytes.IndexByte(v.none, 1)
	if n < 0 {
		return b, nil
	}
	lost := [2]int64{v.lost[0], int64(bytes.Count(v.none, []byte{1})) - v.lost[0]}
	kept := make([]int32, n, b.Samples)
	for i := range kept {
		kept[i] = int32(i)
	}
	for ; n < b.Samples; n++ {
		if v.none[n] == 0 {
			kept = append(kept, int32(n))
		}
	}
	proofs := b.Proofs
	b, err := b.Take(kept, mem)
	if err != nil {
		return nil, err
	}
	b.Proofs = proofs
	err = k.read(v, b)
	v.kept, v.lost = kept, lost
	return b, err
}

func (k *keys) read(v *view, b *shardify.Batch) error {
	v.n = b.Samples
	v.none = slices.Grow(v.none[:0], b.Samples)[:b.Samples]
	clear(v.none)
	v.lost = [2]int64{}
	cols := &v.cols
	if k.listed != nil {
		cols = &v.own
	}
	n := len(k.names)
	if k.perFile {
		n++
	}
	if len(*cols) != n {
		*cols = make([]column, n)
	}
	at := 0
	if k.perFile {
		c := &(*cols)[0]
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
		if err := (*cols)[at+i].read(src, func(row int, f float64) error {
			switch {
			case f == f:
				return atRow(shardify.Mismatch("%v is not a key: floating-point keys must be whole numbers up to 2^53", f), b, row, name)
			case !k.drop:
				err := error(shardify.Mismatch("the key is missing"))
				if k.hint {
					err = shardify.Hint(err, "leave such rows out: --null-keys drop")
				}
				return atRow(err, b, row, name)
			}
			v.lost[0] += int64(1 - v.none[row])
			v.none[row] = 1
			return nil
		}); err != nil {
			return err
		}
	}
	if k.listed == nil {
		return nil
	}
	return k.listed.number(v, b)
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

// read takes the values of a field. Those that are missing (NaN) or no keys are handed to bad,
// and 0 or empty.
func (c *column) read(src *shardify.Column, bad func(row int, f float64) error) error {
	for i, ok := range src.Valid {
		if ok == 0 {
			if err := bad(i, math.NaN()); err != nil {
				return err
			}
		}
	}
	if src.Levels == 1 {
		c.data, c.offs = src.Data, src.Offsets[0]
		return nil
	}
	c.offs = nil
	n := len(src.Data) / src.DType.Size()
	c.vals = slices.Grow(c.vals[:0], n)[:n]
	signed, err := key.Numbers(c.vals, src, func(i int, f float64) error {
		if src.Valid != nil && src.Valid[i] == 0 {
			return nil
		}
		return bad(i, f)
	})
	if c.flip = 0; signed {
		c.flip = 1 << 63
		for i := range c.vals {
			c.vals[i] ^= c.flip
		}
	}
	return err
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

// changes appends the rows whose key differs from that of the row before. The first row is not one
// of them.
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
func (v *view) encode(dst []byte, i int) []byte { return encode(dst, v.cols, i) }

func encode(dst []byte, cols []column, i int) []byte {
	for x := range cols {
		c := &cols[x]
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

// decodeNumber is a key that is one number.
func decodeNumber(s string) uint64 { return binary.BigEndian.Uint64([]byte(s)) }

// identity is the identity of row i's sample: its key if that is one number, else a hash.
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
