package jsonl

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
)

var (
	nan = math.Float64frombits(0x7ff8000000000000)
	inf = math.Inf(1)

	errChanged = fmt.Errorf("%w: a value of another kind than there was", shardify.ErrChanged)
)

// sink is where the values of a leaf go.
type sink struct {
	leaf
	class class
	dtype shardify.DType
	data  []byte
	ends  [2][]int64
	valid []byte // nil while none is missing
	rows  int    // samples before the current one
	at    int    // elements of fixed values
	fixed int    // values of one that has a shape; else 0
	bad   bool   // there was one of another number of values
	keep  []byte // of valid

	replaced int64 // U+FFFD in the place of what is not UTF-8
}

func (k *sink) reset() {
	k.data, k.valid, k.rows, k.replaced, k.bad, k.at = k.data[:0], nil, 0, 0, false, 0
	for i := range k.ends {
		k.ends[i] = append(k.ends[i][:0], 0)
	}
}

func (k *sink) text(t []byte) {
	if k.class != text {
		return
	}
	k.data = append(k.data, t...)
	k.close(k.Lists)
}

func (k *sink) bool(v bool, t []byte) {
	if k.Written {
		k.text(t)
	} else if k.class == boolean {
		c := byte(0)
		if v {
			c = 1
		}
		k.data = append(k.data, c)
	}
}

func (k *sink) float(v float64) {
	switch k.dtype {
	case shardify.F64:
		k.data = binary.LittleEndian.AppendUint64(k.data, math.Float64bits(v))
	case shardify.F32:
		k.data = binary.LittleEndian.AppendUint32(k.data, math.Float32bits(float32(v)))
	}
}

func (k *sink) whole(m uint64, neg bool) bool {
	switch {
	case k.dtype == shardify.U64 && neg, k.dtype == shardify.I64 && !neg && m >= 1<<63, neg && m > 1<<63:
		return false
	case neg:
		m = -m
	}
	k.data = binary.LittleEndian.AppendUint64(k.data, m)
	return true
}

// close ends a list inside so many others.
func (k *sink) close(lists int) {
	n := len(k.data) / (k.dtype.Size() * max(k.fixed, 1))
	if k.fixed > 0 && lists == k.Lists-1 {
		k.at++
		k.bad = k.bad || len(k.data) != k.at*k.fixed*k.dtype.Size()
		return
	}
	if lists+1 < k.levels() {
		n = len(k.ends[lists+1]) - 1
	}
	k.ends[lists] = append(k.ends[lists], int64(n))
}

// none stores an empty value, or NaN.
func (k *sink) none() {
	switch {
	case k.class == text:
		k.close(k.Lists)
	case k.class == boolean:
		k.data = append(k.data, 0)
	case k.fixed > 0:
		k.data = append(k.data, make([]byte, k.fixed*k.dtype.Size())...)
	case k.dtype.IsFloat() && k.Lists > 0:
		k.float(nan)
	default:
		k.data = append(k.data, make([]byte, k.dtype.Size())...)
	}
}

// missing stores a value of a sample that is not there.
func (k *sink) missing() error {
	k.none()
	return k.mark()
}

// mark notes that the current sample has no value.
func (k *sink) mark() error {
	if !k.Nullable {
		return &shardify.Error{Sample: -1, Offset: -1, Field: k.name, Err: fmt.Errorf("%w: a value is missing where there was one", shardify.ErrChanged)}
	}
	if k.valid == nil {
		k.valid = k.keep[:0]
	}
	for len(k.valid) < k.rows {
		k.valid = append(k.valid, 1)
	}
	k.valid = append(k.valid, 0)
	k.keep = k.valid
	return nil
}

// parser turns lines into columns. It is a lines.Parser.
type parser struct {
	scanner
	root  node
	sinks []*sink // by field of the file
	of    []int   // sink of each column of the schema; -1: none
}

// Held implements lines.Parser.
func (x *parser) Held() (n int64) {
	for _, k := range x.sinks {
		n += int64(cap(k.data)+cap(k.keep)) + 8*int64(cap(k.ends[0])+cap(k.ends[1]))
	}
	return n + int64(cap(x.plain)+cap(x.repaired))
}

// Begin implements lines.Parser.
func (x *parser) Begin(*shardify.Batch, *shardify.Arena) error {
	for _, k := range x.sinks {
		k.reset()
	}
	return nil
}

// Parse implements lines.Parser.
func (x *parser) Parse(p *lines.Piece, skip, take int64, last bool) error {
	x.p, x.b = p, p.Data
	i, err := 0, error(nil)
	for n := range skip + take {
		if i = next(p, i); i < 0 {
			return lines.Changed(p)
		}
		if n < skip {
			i = behind(x.b, i)
			continue
		}
		if i, err = x.record(i, &x.root); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Sample = n })
		}
		for _, k := range x.sinks {
			k.rows++
		}
	}
	if last && next(p, i) >= 0 {
		return lines.Changed(p)
	}
	return nil
}

// next is where the next line that is not blank, nor left out, has its first value, or -1.
func next(p *lines.Piece, i int) int {
	for b := p.Data; i < len(b); i++ {
		if c := b[i]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			if !p.Left(i) {
				return i
			}
			i = behind(b, i) - 1
		}
	}
	return -1
}

// End implements lines.Parser.
func (x *parser) End(b *shardify.Batch, mem *shardify.Arena) error {
	shared := map[string][]int64{}
	for i, at := range x.of {
		if at < 0 {
			continue
		}
		c, k := &b.Columns[i], x.sinks[at]
		if k.bad {
			return &shardify.Error{Sample: -1, Offset: -1, Field: k.name, Err: errChanged}
		}
		c.Data = mem.Alloc(len(k.data))
		copy(c.Data, k.data)
		c.Offsets = make([][]int64, k.levels())
		for l := range c.Offsets {
			if o := shared[c.Counter]; l == 0 && c.Counter != "" && o != nil {
				c.Offsets[l] = o
				continue
			}
			c.Offsets[l] = mem.Int64s(len(k.ends[l]))
			copy(c.Offsets[l], k.ends[l])
			if l == 0 && c.Counter != "" {
				shared[c.Counter] = c.Offsets[l]
			}
		}
		if k.valid != nil {
			c.Valid = mem.Alloc(b.Samples)
			for n := copy(c.Valid, k.valid); n < b.Samples; n++ {
				c.Valid[n] = 1
			}
		}
		if err := rows.CheckText(c, 0); err != nil {
			return err
		}
		if k.replaced > 0 {
			b.Counts = append(b.Counts, shardify.Count{Name: lines.Replaced(k.name), N: k.replaced})
		}
	}
	return nil
}
