package writertest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Batches makes n samples of random values in batches of at most cut samples.
// Equal n and seed give the same samples whatever the cut. Texts are UTF-8, JSON
// is JSON, codes have a label, shapes fit their values, missing values are zero
// or empty, keys are unique and fit a tar.
func Batches(s Schema, n int, seed uint64, cut int) []*shardify.Batch {
	g := generator{rand.New(rand.NewPCG(seed, uint64(n))), newArena()}
	whole := shardify.Batch{Samples: n}
	shapes := map[string][]int64{} // of ragged fields, per sample
	offsets := map[string][]int64{}
	for i := range s.Fields {
		if f := &s.Fields[i]; f.Ragged {
			rank := s.Fields[shardify.FieldIndex(s.Fields, f.Name+shardify.ShapeSuffix)].Shape[0]
			shapes[f.Name] = g.shapes(n, rank)
		}
	}
	for i := range s.Fields {
		whole.Columns = append(whole.Columns, g.column(&s.Fields[i], n, shapes, offsets))
	}
	if s.Keyed {
		k := g.keys(n)
		whole.Keys = &k
	}
	var out []*shardify.Batch
	for lo := 0; lo < n; lo += cut {
		out = append(out, Slice(&whole, lo, min(lo+cut, n)))
	}
	return out
}

func newArena() *shardify.Arena {
	a, err := shardify.NewPool(1<<40).Grant(context.Background(), 1<<39)
	if err != nil {
		panic(err)
	}
	return a
}

type generator struct {
	*rand.Rand
	mem *shardify.Arena
}

// column makes field f of n samples.
func (g *generator) column(f *shardify.Field, n int, shapes, offsets map[string][]int64) shardify.Column {
	c := shardify.Column{Field: *f}
	if f.Nullable {
		c.Valid = g.mem.Alloc(n)
		for i := range c.Valid {
			c.Valid[i] = byte(g.IntN(4)/3 ^ 1)
		}
	}
	if format.IsText(f.Media) {
		return g.texts(c, n)
	}
	if base, ok := strings.CutSuffix(f.Name, shardify.ShapeSuffix); ok && shapes[base] != nil {
		c.Data = shardify.Bytes(g.copy(shapes[base]))
		return c
	}
	items := int64(n)
	for level := 0; level < f.Levels; level++ {
		o := offsets[f.CounterName()]
		if level > 0 || o == nil {
			o = g.lengths(items, func(i int64) int64 {
				switch {
				case f.Ragged:
					return product(shapes[f.Name], n, i)
				case level == 0 && c.Valid != nil && c.Valid[i] == 0:
					return 0
				}
				return g.length()
			})
		}
		if level == 0 {
			offsets[f.CounterName()] = o
		}
		c.Offsets = append(c.Offsets, o)
		items = o[len(o)-1]
	}
	c.Data = g.values(f, int(items))
	if f.Levels == 0 {
		for i, v := range c.Valid {
			if v == 0 {
				clear(c.Data[i*f.ElemBytes() : (i+1)*f.ElemBytes()])
			}
		}
	}
	return c
}

func product(shapes []int64, n int, i int64) int64 {
	rank := int64(len(shapes) / n)
	size := int64(1)
	for _, d := range shapes[i*rank : (i+1)*rank] {
		size *= d
	}
	return size
}

// length is small, and often 0.
func (g *generator) length() int64 { return int64(g.IntN(4) * g.IntN(4)) }

func (g *generator) lengths(n int64, length func(int64) int64) []int64 {
	o := g.mem.Int64s(int(n) + 1)
	o[0] = 0
	for i := int64(0); i < n; i++ {
		o[i+1] = o[i] + length(i)
	}
	return o
}

func (g *generator) shapes(n, rank int) []int64 {
	s := make([]int64, n*rank)
	for i := range s {
		s[i] = int64(g.IntN(4))
	}
	return s
}

func (g *generator) copy(v []int64) []int64 {
	c := g.mem.Int64s(len(v))
	copy(c, v)
	return c
}

// values makes n elements: any bits, except for booleans and codes.
func (g *generator) values(f *shardify.Field, n int) []byte {
	size := f.DType.Size()
	b := g.mem.Alloc(n * f.ElemBytes())
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	labels := uint64(len(f.Labels()))
	for i := 0; i < len(b); i += size {
		switch {
		case f.DType == shardify.Bool:
			b[i] &= 1
		case labels > 0 || f.Name == "cls":
			clear(b[i : i+size])
			b[i] = byte(g.Uint64N(max(labels, 100)))
			if labels > 0 {
				b[i] = byte(g.Uint64N(labels))
			}
		}
	}
	return b
}

func (g *generator) texts(c shardify.Column, n int) shardify.Column {
	items := int64(n)
	if c.Levels == 2 {
		o := g.lengths(items, func(int64) int64 { return g.length() })
		c.Offsets, items = append(c.Offsets, o), o[n]
	}
	var text []byte
	o := g.lengths(items, func(i int64) int64 {
		before := len(text)
		switch {
		case c.Levels == 1 && c.Valid != nil && c.Valid[i] == 0:
		case c.Media == "json":
			text = fmt.Appendf(text, `{"a": %d, "b": ["é"]}`, g.IntN(1000))
		case c.Valid != nil:
			text = fmt.Appendf(text, "caption %d ü", g.IntN(1000))
		default:
			text = append(text, strings.Repeat("wört ", int(g.length()))...)
		}
		return int64(len(text) - before)
	})
	c.Offsets = append(c.Offsets, o)
	c.Data = g.mem.Alloc(len(text))
	copy(c.Data, text)
	return c
}

func (g *generator) keys(n int) shardify.Column {
	c := shardify.Column{Field: shardify.Field{Name: "__key__", DType: shardify.U8, Levels: 1, Media: "txt"}}
	var text []byte
	c.Offsets = [][]int64{g.lengths(int64(n), func(i int64) int64 {
		before := len(text)
		text = fmt.Appendf(text, "d%d/n%06d", i%3, i*7)
		return int64(len(text) - before)
	})}
	c.Data = g.mem.Alloc(len(text))
	copy(c.Data, text)
	return c
}

// Slice copies samples [lo, hi) into a batch of their own.
func Slice(b *shardify.Batch, lo, hi int) *shardify.Batch {
	mem := newArena()
	c := &shardify.Batch{Samples: hi - lo, First: b.ID(lo)}
	for i := range b.Columns {
		c.Columns = append(c.Columns, sliceColumn(&b.Columns[i], lo, hi, mem))
	}
	if b.Keys != nil {
		k := sliceColumn(b.Keys, lo, hi, mem)
		c.Keys = &k
	}
	return c
}

func sliceColumn(c *shardify.Column, lo, hi int, mem *shardify.Arena) shardify.Column {
	s := shardify.Column{Field: c.Field}
	from, to := c.Range(lo, hi)
	s.Data = mem.Alloc(to - from)
	copy(s.Data, c.Data[from:to])
	if c.Valid != nil {
		s.Valid = mem.Alloc(hi - lo)
		copy(s.Valid, c.Valid[lo:hi])
	}
	a, b := int64(lo), int64(hi)
	for _, o := range c.Offsets {
		p := mem.Int64s(int(b-a) + 1)
		for i := range p {
			p[i] = o[a+int64(i)] - o[a]
		}
		s.Offsets = append(s.Offsets, p)
		a, b = o[a], o[b]
	}
	return s
}

// Join is the inverse of cutting: all samples of the batches in one.
func Join(batches []*shardify.Batch) *shardify.Batch {
	out := &shardify.Batch{}
	for n, b := range batches {
		if n == 0 {
			out.First = b.First
			out.Columns = make([]shardify.Column, len(b.Columns))
			if b.Keys != nil {
				out.Keys = &shardify.Column{}
			}
		}
		for i := range b.Columns {
			joinColumn(&out.Columns[i], &b.Columns[i], out.Samples, b.Samples)
		}
		if b.Keys != nil {
			joinColumn(out.Keys, b.Keys, out.Samples, b.Samples)
		}
		out.Samples += b.Samples
	}
	return out
}

func joinColumn(to, c *shardify.Column, had, adds int) {
	to.Field = c.Field
	for l, o := range c.Offsets {
		if l == len(to.Offsets) {
			to.Offsets = append(to.Offsets, []int64{0})
		}
		base := to.Offsets[l][len(to.Offsets[l])-1]
		for _, v := range o[1:] {
			to.Offsets[l] = append(to.Offsets[l], base+v)
		}
	}
	to.Data = append(to.Data, c.Data...)
	if c.Valid != nil || to.Valid != nil {
		to.Valid = append(marks(to.Valid, had), marks(c.Valid, adds)...)
	}
}

// marks spells out that nil means all present.
func marks(v []byte, n int) []byte {
	if v != nil || n == 0 {
		return v
	}
	return []byte(strings.Repeat("\x01", n))
}

// poison overwrites a batch that was handed to Write.
func poison(b *shardify.Batch) {
	for i := range b.Columns {
		poisonColumn(&b.Columns[i])
	}
	if b.Keys != nil {
		poisonColumn(b.Keys)
	}
	b.Columns, b.Keys, b.Samples = nil, nil, -1
}

func poisonColumn(c *shardify.Column) {
	const rubbish = 0xdbdbdbdbdbdbdbdb
	for i := range c.Data {
		c.Data[i] = 0xdb
	}
	for i := range c.Valid {
		c.Valid[i] = 0xdb
	}
	for _, o := range c.Offsets {
		for i := range o {
			binary.NativeEndian.PutUint64(shardify.Bytes(o[i:i+1]), rubbish)
		}
	}
}
