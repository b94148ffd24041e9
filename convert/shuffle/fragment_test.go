package shuffle

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
	_ "github.com/shardify/shardify/tests/race"
)

var bg = context.Background()

// everyKind is a schema with all that a block must carry.
var everyKind = Layout{
	Schema: []shardify.Field{
		{Name: "a", DType: shardify.I64}, {Name: "b", DType: shardify.U8, Nullable: true}, {Name: "c", DType: shardify.F32, Shape: []int{3}},
		{Name: "d", DType: shardify.F32, Levels: 1}, {Name: "e", DType: shardify.U8, Levels: 2}, {Name: "f", DType: shardify.F64, Levels: 1, Shape: []int{0}},
	},
	Keyed: true, Inputs: true, Copies: true,
}

// kinds invents n samples of a schema.
func kinds(rng *rand.Rand, l *Layout, n int) *shardify.Batch {
	b := &shardify.Batch{Samples: n}
	for range n {
		id := shardify.ID{Sample: int64(rng.Uint32())}
		if l.Inputs {
			id.Input = uint32(rng.IntN(5))
		}
		if l.Copies {
			id.Copy = uint16(rng.IntN(3))
		}
		if l.Wide {
			id.Sample <<= 20
		}
		b.IDs = append(b.IDs, id)
	}
	column := func(f shardify.Field) shardify.Column {
		c := shardify.Column{Field: f}
		count := n
		for range f.Levels {
			o := []int64{0}
			for range count {
				o = append(o, o[len(o)-1]+int64(rng.IntN(4)))
			}
			c.Offsets = append(c.Offsets, o)
			count = int(o[len(o)-1])
		}
		c.Data = room(nil, count*f.ElemBytes())[:count*f.ElemBytes()]
		for i := range c.Data {
			c.Data[i] = byte(rng.Uint32())
		}
		if f.Nullable && rng.IntN(3) > 0 { // else all are present
			for range n {
				c.Valid = append(c.Valid, byte(rng.IntN(2)))
			}
		}
		return c
	}
	for _, f := range l.Schema {
		b.Columns = append(b.Columns, column(f))
	}
	if l.Keyed {
		c := column(keyField)
		b.Keys = &c
	}
	return b
}

// textOf is everything of sample i.
func textOf(b *shardify.Batch, i int) string {
	s := fmt.Sprint(b.ID(i))
	all := b.Columns
	if b.Keys != nil {
		all = append(slices.Clip(all), *b.Keys)
	}
	for k := range all {
		c := &all[k]
		if c.Nullable {
			s += fmt.Sprint(c.Valid == nil || c.Valid[i] == 1)
		}
		if c.Levels == 2 {
			for l := c.Offsets[0][i]; l < c.Offsets[0][i+1]; l++ {
				s += fmt.Sprint(" ", c.Offsets[1][l+1]-c.Offsets[1][l])
			}
		}
		lo, hi := c.Range(i, i+1)
		n := int64(1)
		if c.Levels > 0 {
			n = c.Offsets[0][i+1] - c.Offsets[0][i]
		}
		s += fmt.Sprintf("|%d %x", n, c.Data[lo:hi])
	}
	return s
}

// TestFragmentsGiveBackEverySampleInItsBucket, in the order of keys, whatever the rounds.
func TestFragmentsGiveBackEverySampleInItsBucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, wide := range []bool{false, true} {
		for _, rounds := range []int{1, 4} {
			l := everyKind
			l.Wide = wide
			l.Schema = append(slices.Clip(l.Schema), shardify.Field{Name: "big", DType: shardify.U8, Shape: []int{1001}})
			const buckets = 13
			s := memory.New()
			out, _ := s.Create("x")
			w := &fragWriter{l: l, out: out, n: buckets}
			pool := shardify.NewPool(1 << 26)
			k := NewKeyer(&format.Table{}, 7)
			want := map[string]int{} // text of a sample -> bucket
			h := newBuffer(&l)
			for range rounds {
				for range 3 {
					b := kinds(rng, &l, 100)
					if err := h.add(0, b, &Shuffle{Keyer: k}); err != nil {
						t.Fatal(err)
					}
					for i, key := range k.keys(nil, b) {
						want[textOf(b, i)], _ = bucketOf(key, buckets)
					}
				}
				if err := w.round(h, func(i int) int { b, _ := bucketOf(h.keys[i], buckets); return b }, pool); err != nil {
					t.Fatal(err)
				}
				h.reset()
			}
			n, err := w.commit(bg)
			if err != nil || n != int64(len(s.Files()["x"])) {
				t.Fatal(n, err)
			}
			f, err := openFragment(s, "x")
			if err != nil {
				t.Fatal(err)
			}
			g := gatherer{l: l, keyer: k, pool: pool}
			for b := range buckets {
				last := uint64(0)
				err := g.bucket(bg, []*fragment{f}, b, buckets, 0, 1<<40, func(x *shardify.Batch, _ *shardify.Arena) error {
					if err := x.Check(); err != nil {
						return err
					}
					for i, key := range k.keys(nil, x) {
						text := textOf(x, i)
						if at, ok := want[text]; !ok || at != b || key < last {
							return fmt.Errorf("bucket %d gives sample %s, known %v of bucket %d", b, text, ok, at)
						}
						delete(want, text)
						last = key
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
			if len(want) > 0 {
				t.Fatalf("%d samples are lost", len(want))
			}
		}
	}
}

func FuzzBlocks(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 9} {
		s := memory.New()
		out, _ := s.Create("x")
		w := &fragWriter{l: everyKind, out: out, n: 1}
		b := kinds(rng, &everyKind, n)
		mem := shardify.NewPool(1 << 20).Overdraft()
		h := newBuffer(&everyKind)
		if err := h.add(0, b, &Shuffle{Keyer: &Keyer{}}); err != nil {
			f.Fatal(err)
		}
		part, err := h.b.Take([]int32{0}, mem)
		if err != nil {
			f.Fatal(err)
		}
		if err := w.block(part, 0, 1); err != nil {
			f.Fatal(err)
		}
		f.Add(bytes.Clone(w.buf))
	}
	pool := shardify.NewPool(1 << 30)
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := everyKind.blocks(nil, b)
		if err != nil {
			return
		}
		mem, err := pool.Grant(context.Background(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer mem.Release()
		x := everyKind.join(list, mem)
		if err := x.Check(); err != nil {
			t.Fatal(err)
		}
	})
}
