package diff

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/zeebo/xxh3"
)

// A record is what is kept of a sample: 16 bytes of its key, 8 bytes of the digest of each compared
// field (none where the key is all of them), and its number, high byte first, so that records are
// sorted as bytes.
const (
	keyBytes   = 16
	fieldBytes = 8
	rowBytes   = 8
)

// maxClasses is how many values of a field are counted one by one.
const maxClasses = 10_000

// digester makes records of the samples of one side, in one goroutine.
type digester struct {
	side   int
	cols   *columns
	by     int    // the place in cols.fields of the key; -1: names of samples, or all values
	all    bool   // the key is all values
	split  string // that the samples are of
	splits bool   // it counts as a field
	buf    []byte
	h      xxh3.Hasher
	counts []map[int64]int64 // by class field; nil: too many values
	bytes  []byte            // records
}

func newDigester(side int, cols *columns, by int, all bool) *digester {
	d := &digester{side: side, cols: cols, by: by, all: all, counts: make([]map[int64]int64, len(cols.classes))}
	for i := range d.counts {
		d.counts[i] = map[int64]int64{}
	}
	return d
}

// size is the bytes of a record.
func (d *digester) size() int {
	if d.all {
		return keyBytes + rowBytes
	}
	n := len(d.cols.fields)
	if d.splits {
		n++
	}
	return keyBytes + n*fieldBytes + rowBytes
}

// add makes records of a batch, whose first sample has a number.
func (d *digester) add(b *shardify.Batch, first int64) {
	for i := range b.Samples {
		var key [16]byte
		at := len(d.bytes)
		d.bytes = append(d.bytes, key[:]...)
		d.buf = d.buf[:0]
		for k := range d.cols.fields {
			sum := d.field(b, &d.cols.fields[k], i)
			switch {
			case d.all:
				d.buf = append(d.buf, sum[:]...)
			default:
				d.bytes = append(d.bytes, sum[:fieldBytes]...)
			}
			if k == d.by {
				key = sum
			}
		}
		if d.splits {
			sum := xxh3.HashString128(d.split).Bytes()
			if d.all {
				d.buf = append(d.buf, sum[:]...)
			} else {
				d.bytes = append(d.bytes, sum[:fieldBytes]...)
			}
		}
		switch {
		case d.all:
			key = xxh3.Hash128(d.buf).Bytes()
		case d.by < 0:
			key = xxh3.Hash128(b.Key(i)).Bytes()
		}
		copy(d.bytes[at:], key[:])
		d.bytes = binary.BigEndian.AppendUint64(d.bytes, uint64(first)+uint64(i))
	}
	for k := range d.cols.classes {
		d.classes(b, k)
	}
}

// missing is in the place of the digest of a value that is not there.
var missing = [16]byte{0: 0xff, 15: 0xff}

// field digests the value of a field, with its companions.
func (d *digester) field(b *shardify.Batch, f *compared, i int) (sum [16]byte) {
	list := f.columns[d.side]
	c := &b.Columns[list[0]]
	if c.Valid != nil && c.Valid[i] == 0 {
		return missing
	}
	if len(list) == 1 && f.named[d.side][0] == nil && c.Levels == 0 {
		n := c.ElemBytes()
		return xxh3.Hash128(c.Data[i*n : (i+1)*n]).Bytes()
	}
	d.h.Reset()
	for k, column := range list {
		d.value(&b.Columns[column], f.named[d.side][k], i)
	}
	return d.h.Sum128().Bytes()
}

// value writes a value into the hash: lengths of lists, then the bytes, or the names of codes.
func (d *digester) value(c *shardify.Column, named map[int64][16]byte, i int) {
	lo, hi := int64(i), int64(i)+1
	for l, o := range c.Offsets {
		d.number(o[hi] - o[lo])
		if l > 0 {
			for k := lo; k < hi; k++ {
				d.number(o[k+1] - o[k])
			}
		}
		lo, hi = o[lo], o[hi]
	}
	if named == nil {
		n := int64(c.ElemBytes())
		_, _ = d.h.Write(c.Data[lo*n : hi*n])
		return
	}
	each := c.Elem()
	for k := int(lo) * each; k < int(hi)*each; k++ {
		code := codeAt(&c.Field, c.Data, k)
		if name, ok := named[code]; ok {
			_, _ = d.h.Write(name[:])
		} else {
			d.number(code)
		}
	}
}

func (d *digester) number(n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	_, _ = d.h.Write(b[:])
}

// classes counts the values of a field.
func (d *digester) classes(b *shardify.Batch, k int) {
	at := d.cols.classes[k].column[d.side]
	if at < 0 || d.counts[k] == nil {
		return
	}
	c := &b.Columns[at]
	for i := range b.Samples {
		if c.Valid == nil || c.Valid[i] != 0 {
			d.counts[k][codeAt(&c.Field, c.Data, i)]++
		}
	}
	if len(d.counts[k]) > maxClasses {
		d.counts[k] = nil
	}
}
