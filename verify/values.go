package verify

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/verify/problem"
)

// compare reports every field of every sample in which the data set differs from
// the source.
func (l *openReaders) compare(a, b *shardify.Batch, s shardify.Span) {
	l.c.count(int64(a.Samples), len(a.Columns))
	if len(a.Columns) != len(b.Columns) {
		l.differs(s, 0, "", fmt.Sprintf("%d columns", len(a.Columns)), fmt.Sprintf("%d columns", len(b.Columns)))
		return
	}
	for i := range a.Columns {
		x, y := &a.Columns[i], &b.Columns[i]
		if sameColumn(x, y) {
			continue
		}
		for k := range a.Samples {
			if !sameSample(x, y, k) {
				at := firstElement(x, y, k)
				l.differs(s, k, x.Name, render(x, k, at), render(y, k, at))
			}
		}
	}
	var key [64]byte
	for k := range a.Samples {
		want, got := a.Key(k), b.Key(k)
		switch {
		case got == nil: // mmap shards of rows have no keys
			continue
		case !l.c.keyed:
			want = tar.AppendRowKey(key[:0], a.ID(k))
		}
		if !bytes.Equal(want, got) {
			l.differs(s, k, index.KeyName, fmt.Sprintf("%q", want), fmt.Sprintf("%q", got))
		}
	}
}

func (c *comparison) count(samples int64, fields int) {
	c.c.count(func(n *Counts) { n.Compared += samples; n.Values += samples * int64(fields) })
}

// differs reports sample k of a span.
func (l *openReaders) differs(s shardify.Span, k int, field, want, got string) {
	e := &l.c.shards[l.number]
	p := problem.New(problem.LevelValues, problem.KindValue, e.Name, "value")
	p.Field, p.Sample = field, e.sample(l.at+int64(k))
	p.Want = problem.Says(fmt.Sprintf("%s sample %d", l.c.inputName(s.Input), s.Lo+int64(k)), want)
	p.Got = problem.Says("the data set", got)
	l.c.add(p)
}

// sameColumn compares whole columns at once. Data under a missing value do not count, so false is
// not final.
func sameColumn(a, b *shardify.Column) bool {
	if !bytes.Equal(a.Data, b.Data) || !sameValid(a.Valid, b.Valid) || len(a.Offsets) != len(b.Offsets) {
		return false
	}
	for i := range a.Offsets {
		if !slices.Equal(a.Offsets[i], b.Offsets[i]) {
			return false
		}
	}
	return true
}

func sameValid(a, b []byte) bool {
	for i := range max(len(a), len(b)) {
		if valid(a, i) != valid(b, i) {
			return false
		}
	}
	return true
}

func valid(v []byte, i int) bool { return v == nil || v[i] != 0 }

// sameSample compares sample k of two columns of one field.
func sameSample(a, b *shardify.Column, k int) bool {
	if len(a.Offsets) != len(b.Offsets) || valid(a.Valid, k) != valid(b.Valid, k) {
		return false
	}
	if !valid(a.Valid, k) {
		return true
	}
	if len(a.Offsets) == 2 {
		x, y := lists(a, k), lists(b, k)
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if x[i]-x[0] != y[i]-y[0] {
				return false
			}
		}
	}
	return bytes.Equal(sampleData(a, k), sampleData(b, k))
}

// lists are the inner offsets of sample k.
func lists(c *shardify.Column, k int) []int64 {
	o := c.Offsets[0]
	return c.Offsets[1][o[k] : o[k+1]+1]
}

func sampleData(c *shardify.Column, k int) []byte {
	lo, hi := c.Range(k, k+1)
	return c.Data[lo:hi]
}

// firstElement is the number of the first value that differs within sample k.
func firstElement(a, b *shardify.Column, k int) int {
	x, y := sampleData(a, k), sampleData(b, k)
	n := min(len(x), len(y))
	for i := range n {
		if x[i] != y[i] {
			return i / a.DType.Size()
		}
	}
	return n / a.DType.Size()
}

// render writes sample k for people: texts whole if short, else how much there
// is and the value at an element.
func render(c *shardify.Column, k, at int) string {
	if !valid(c.Valid, k) {
		return "nothing"
	}
	b := sampleData(c, k)
	size := c.DType.Size()
	n := len(b) / size
	switch {
	case (c.Media == "txt" || c.Media == "json") && len(b) <= 80:
		return strconv.Quote(string(b))
	case at >= n:
		return fmt.Sprintf("%d %s", n, unitOf(c))
	}
	v := number(c.DType, b[at*size:])
	if c.Levels == 0 && n == 1 {
		return v
	}
	return fmt.Sprintf("%d %s, [%d] = %s", n, unitOf(c), at, v)
}

func unitOf(c *shardify.Column) string {
	if c.Media != "" {
		return "bytes"
	}
	return "values"
}

// number writes one element.
func number(d shardify.DType, b []byte) string {
	switch d {
	case shardify.F32:
		return strconv.FormatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 'g', -1, 32)
	case shardify.F64:
		return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64)
	case shardify.BF16:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16)), 'g', -1, 32)
	case shardify.F16:
		return fmt.Sprintf("f16 %#04x", binary.LittleEndian.Uint16(b))
	}
	var v uint64
	for i := range d.Size() {
		v |= uint64(b[i]) << (8 * i)
	}
	if d >= shardify.I8 && d <= shardify.I64 {
		shift := 64 - 8*d.Size()
		return strconv.FormatInt(int64(v<<shift)>>shift, 10)
	}
	return strconv.FormatUint(v, 10)
}
