package expr

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
)

const (
	blockSamples = 1024
	// blockElems bounds the elements of a block, so that vectors stay in the
	// processor's cache. One sample may have more.
	blockElems = 8192
)

type kind uint8

const (
	kindBool kind = iota
	kindInt
	kindFloat
	kindText
)

func (k kind) String() string {
	return [...]string{"a condition", "an integer", "a float", "a text"}[k]
}

// domain says how many values there are: one per sample, or per element of the lists
// of a column, times the shape.
type domain struct {
	list  int // 1 + column whose offsets make the lists; 0: none
	shape string
	width int
}

var scalar = domain{width: 1}

func (d domain) scalar() bool { return d == scalar }

// vec is the values of a slot for one block; the kind of the slot says which.
type vec struct {
	f    []float64
	i    []int64
	t    []byte
	s    [][]byte // of texts that are made: parts of others, or of buf
	buf  []byte   // of the whole batch
	miss []byte   // per sample, for slots that may miss values
	full int      // of constants: how many are filled in
}

// frame is one goroutine's state.
type frame struct {
	b      *shardify.Batch
	lo, hi int
	slots  []vec
	texts  [][]byte // the batch's results
}

type instr func(f *frame) error

// Program is an expression bound to a schema. It may be run from several goroutines.
type Program struct {
	text   string
	code   []instr
	slots  int
	lists  []int // columns whose offsets bound blocks
	named  bool  // it needs the samples' names
	schema []shardify.Field
	out    value
	frames sync.Pool
}

func (f *frame) samples() int { return f.hi - f.lo }

// count is the number of values of a domain in the block.
func (f *frame) count(d domain) int {
	if d.list == 0 {
		return f.samples() * d.width
	}
	o := f.b.Columns[d.list-1].Offsets[0]
	return int(o[f.hi]-o[f.lo]) * d.width
}

// each calls fn with the values [from, to) of every sample k of the block.
func (f *frame) each(d domain, fn func(k, from, to int)) {
	if d.list == 0 {
		for k := range f.samples() {
			fn(k, k*d.width, (k+1)*d.width)
		}
		return
	}
	o := f.b.Columns[d.list-1].Offsets[0][f.lo : f.hi+1]
	base := o[0]
	for k := range len(o) - 1 {
		fn(k, int(o[k]-base)*d.width, int(o[k+1]-base)*d.width)
	}
}

// floats makes room for n values in a slot.
func (f *frame) floats(slot, n int) []float64 {
	v := &f.slots[slot]
	if cap(v.f) < n {
		v.f = make([]float64, n+n/4)
	}
	v.f = v.f[:n]
	return v.f
}

func (f *frame) ints(slot, n int) []int64 {
	v := &f.slots[slot]
	if cap(v.i) < n {
		v.i = make([]int64, n+n/4)
	}
	v.i = v.i[:n]
	return v.i
}

func (f *frame) bools(slot, n int) []byte {
	v := &f.slots[slot]
	if cap(v.t) < n {
		v.t = make([]byte, n+n/4)
	}
	v.t = v.t[:n]
	return v.t
}

// missing makes room for the marks of missing values.
func (f *frame) missing(slot int) []byte {
	v := &f.slots[slot]
	if v.miss == nil {
		v.miss = make([]byte, blockSamples)
	}
	return v.miss[:f.samples()]
}

// end is where the block that begins at lo ends.
func (p *Program) end(b *shardify.Batch, lo int) int {
	hi := min(lo+blockSamples, b.Samples)
	for _, c := range p.lists {
		o := b.Columns[c].Offsets[0]
		for hi > lo+1 && o[hi]-o[lo] > blockElems {
			hi = lo + (hi-lo)/2
		}
	}
	return hi
}

// run evaluates block by block and lets use look at each.
func (p *Program) run(b *shardify.Batch, use func(f *frame) error) error {
	if len(b.Columns) != len(p.schema) {
		return shardify.Mismatch("%s: %d columns for a schema of %d fields", p.text, len(b.Columns), len(p.schema))
	}
	if p.named && b.Keys == nil {
		return shardify.Mismatch("%s: the samples have no names of their own", p.text)
	}
	f, _ := p.frames.Get().(*frame)
	if f == nil {
		f = &frame{slots: make([]vec, p.slots)}
	}
	f.b = b
	defer func() {
		f.b = nil
		p.frames.Put(f)
	}()
	for f.lo = 0; f.lo < b.Samples; f.lo = f.hi {
		f.hi = p.end(b, f.lo)
		for _, in := range p.code {
			if err := in(f); err != nil {
				return err
			}
		}
		if err := use(f); err != nil {
			return err
		}
	}
	return nil
}

// sampleError is about sample k of the block.
func (f *frame) sampleError(k int, format string, args ...any) error {
	e := shardify.Mismatch(format, args...)
	e.Sample = f.b.ID(f.lo + k).Sample
	return e
}

// sampleOf is the sample of the block that value at belongs to.
func (f *frame) sampleOf(d domain, at int) int {
	out := 0
	f.each(d, func(k, from, to int) {
		if from <= at && at < to {
			out = k
		}
	})
	return out
}

// Keep sets keep[i] to 1 where the condition holds for sample i, else to 0: where it
// does not hold, and where the values that it needs are missing.
func (p *Program) Keep(b *shardify.Batch, keep []byte) error {
	return p.run(b, func(f *frame) error {
		v := f.vector(&p.out, f.samples())
		copy(keep[f.lo:f.hi], v.t)
		if p.out.null {
			for k, m := range v.miss[:f.samples()] {
				if m != 0 {
					keep[f.lo+k] = 0
				}
			}
		}
		return nil
	})
}

// Field is the result as a field: its type, shape and lists.
func (p *Program) Field(name string) shardify.Field {
	o := &p.out
	f := shardify.Field{Name: name, Nullable: o.null, Shape: dims(o.dom.shape)}
	switch {
	case o.kind == kindBool:
		f.DType = shardify.Bool
	case o.kind == kindInt:
		f.DType = shardify.I64
	case o.kind == kindText:
		f.DType, f.Levels, f.Media = shardify.U8, 1, "txt"
	case o.narrow:
		f.DType = shardify.F32
	default:
		f.DType = shardify.F64
	}
	if o.dom.list > 0 {
		from := &p.schema[o.dom.list-1]
		f.Levels, f.Counter = 1, from.Counter
	}
	return f
}

// Column evaluates the result as a column of Bool, I64, F64 or texts, whatever Field says of
// its width. It shares offsets with the batch.
func (p *Program) Column(b *shardify.Batch, name string, mem *shardify.Arena) (shardify.Column, error) {
	c := shardify.Column{Field: p.Field(name)}
	o := &p.out
	if o.kind == kindText {
		return p.texts(b, c, mem)
	}
	n := b.Samples * o.dom.width
	if o.dom.list > 0 {
		off := b.Columns[o.dom.list-1].Offsets
		c.Offsets = off[:1:1]
		n = int(off[0][b.Samples]) * o.dom.width
	}
	switch o.kind {
	case kindBool:
		c.Data = mem.Alloc(n)
	case kindInt:
		c.DType, c.Data = shardify.I64, mem.Alloc(n*8)
	default:
		c.DType, c.Data = shardify.F64, mem.Alloc(n*8)
	}
	if o.null {
		c.Valid = mem.Alloc(b.Samples)
	}
	at := 0
	err := p.run(b, func(f *frame) error {
		n := f.count(o.dom)
		v := f.vector(o, n)
		switch o.kind {
		case kindBool:
			copy(c.Data[at:], v.t[:n])
		case kindInt:
			copy(shardify.View[int64](c.Data)[at:], v.i[:n])
		default:
			copy(shardify.View[float64](c.Data)[at:], v.f[:n])
		}
		at += n
		if o.null {
			for k, m := range v.miss[:f.samples()] {
				c.Valid[f.lo+k] = 1 - m
			}
			clearMissing(f, o, c.Data, at-n)
		}
		return nil
	})
	return c, err
}

// clearMissing writes zeros for missing values, so that the bytes do not depend on how
// they came to be missing.
func clearMissing(f *frame, o *value, data []byte, at int) {
	size := 8
	if o.kind == kindBool {
		size = 1
	}
	miss := f.slots[o.slot].miss
	f.each(o.dom, func(k, from, to int) {
		if miss[k] != 0 {
			clear(data[(at+from)*size : (at+to)*size])
		}
	})
}

// vector is the values of v in the block. Constants are as long as they must be.
func (f *frame) vector(v *value, n int) *vec {
	s := &f.slots[v.slot]
	if !v.konst || s.full >= n {
		return s
	}
	n += n / 4
	switch v.kind {
	case kindBool:
		s.t = fill(s.t, n, v.t)
	case kindInt:
		s.i = fill(s.i, n, v.i)
	case kindFloat:
		s.f = fill(s.f, n, v.f)
	}
	if v.null && s.miss == nil {
		s.miss = fill(nil, blockSamples, byte(1))
	}
	s.full = n
	return s
}

func fill[T any](_ []T, n int, x T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = x
	}
	return s
}

// Cost is that of the result as a column of f64, and of its final type; or of a text. What is made of a text may be as
// long as that, twice: lower(...) keeps a copy.
func (e *Expr) Cost(in []shardify.Field) shardify.Cost {
	p, err := e.Bind(in, nil)
	if err != nil {
		return shardify.Cost{}
	}
	switch f := p.Field("x"); {
	case f.Media != "" && len(e.Names()) > 0:
		return shardify.Cost{Growth: 2, Sample: 256}
	case f.Media != "":
		return shardify.Cost{Sample: 256}
	case f.Levels > 0:
		return shardify.Cost{Growth: 4, Sample: 8} // of i8 elements even 8, but those are rare
	default:
		return shardify.Cost{Sample: int64(f.Elem())*16 + 1}
	}
}

// shapeKey is a shape as a comparable word, dims its inverse.
func shapeKey(shape []int) string {
	var b strings.Builder
	for _, d := range shape {
		fmt.Fprintf(&b, "%dx", d)
	}
	return b.String()
}

func dims(key string) (out []int) {
	for w := range strings.SplitSeq(strings.TrimSuffix(key, "x"), "x") {
		if d, err := strconv.Atoi(w); err == nil {
			out = append(out, d)
		}
	}
	return out
}
