package shardify

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

// takeBatch is n samples in every kind of column, filled with random bytes.
func takeBatch(rng *rand.Rand, n int, listed bool, mem *Arena) *Batch {
	b := &Batch{Samples: n, First: ID{Input: 3, Sample: 100}}
	if listed {
		for i := range n {
			b.IDs = append(b.IDs, ID{Input: uint32(i % 3), Sample: int64(i * 2), Copy: uint16(i % 2)})
		}
	}
	offsets := func(n, most int) []int64 {
		o := mem.Int64s(n + 1)
		o[0] = 0
		for i := range n {
			o[i+1] = o[i] + int64(rng.IntN(most))
		}
		return o
	}
	data := func(n int) []byte {
		d := mem.Alloc(n)
		for i := range d {
			d[i] = byte(rng.Uint32())
		}
		return d
	}
	shared := offsets(n, 5)
	add := func(f Field, o ...[]int64) {
		f.Levels, f.Name = len(o), fmt.Sprintf("%s%v%d", f.DType, f.Shape, len(b.Columns))
		c := Column{Field: f, Offsets: o}
		elems := n
		for _, l := range o {
			elems = int(l[len(l)-1])
		}
		c.Data = data(elems * f.ElemBytes())
		if f.Nullable {
			c.Valid = data(n)
			for i := range c.Valid {
				c.Valid[i] &= 1
			}
		}
		b.Columns = append(b.Columns, c)
	}
	for _, d := range []DType{U8, F16, F32, I64} {
		add(Field{DType: d, Nullable: d == F32})
		add(Field{DType: d, Counter: "Jet"}, shared)
	}
	add(Field{DType: F64, Shape: []int{2}})
	add(Field{DType: F32, Shape: []int{3, 5}})
	add(Field{DType: F32, Shape: []int{0}})
	add(Field{DType: F32, Shape: []int{4}}, offsets(n, 4))
	outer := offsets(n, 4)
	add(Field{DType: I16}, outer, offsets(int(outer[n]), 3))
	o := offsets(n, 9)
	b.Keys = &Column{Field: Field{Name: "key", DType: U8, Levels: 1}, Offsets: [][]int64{o}, Data: data(int(o[n]))}
	return b
}

// sampleBytes is everything of sample i, lengths included.
func sampleBytes(b *Batch, i int) []byte {
	out := fmt.Appendf(nil, "%v;", b.ID(i))
	all := b.Columns
	if b.Keys != nil {
		all = append(all[:len(all):len(all)], *b.Keys)
	}
	for k := range all {
		c := &all[k]
		out = fmt.Appendf(out, "%s:", c.Name)
		if c.Valid != nil {
			out = append(out, c.Valid[i])
		}
		if c.Levels > 1 {
			for l := c.Offsets[0][i]; l < c.Offsets[0][i+1]; l++ {
				out = fmt.Appendf(out, "(%d)", c.Offsets[1][l+1]-c.Offsets[1][l])
			}
		}
		lo, hi := c.Range(i, i+1)
		out = fmt.Appendf(out, "%d=%x;", hi-lo, c.Data[lo:hi])
	}
	return out
}

func TestTakeGivesTheSamplesAsked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	pool := NewPool(1 << 30)
	for round := range 60 {
		mem, err := pool.Grant(context.Background(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		n := rng.IntN(70)
		b := takeBatch(rng, n, round%2 == 0, mem)
		var rows []int32
		for len(rows) < rng.IntN(100) && n > 0 {
			first := rng.IntN(n) // stretches, so that both ways of copying are taken
			for r := first; r < min(n, first+1+rng.IntN(1+round)); r++ {
				rows = append(rows, int32(r))
			}
		}
		got, err := b.Take(rows, mem)
		if err != nil {
			t.Fatal(err)
		}
		if err := got.Check(); err != nil {
			t.Fatal(err)
		}
		if got.Samples != len(rows) {
			t.Fatalf("%d samples for %d rows", got.Samples, len(rows))
		}
		for i, r := range rows {
			if want, have := sampleBytes(b, int(r)), sampleBytes(got, i); !bytes.Equal(want, have) {
				t.Fatalf("row %d (sample %d)\nhave %s\nwant %s", i, r, have, want)
			}
		}
		mem.Release()
	}
}

func TestTakeRefusesStreams(t *testing.T) {
	mem := NewPool(1 << 20).Overdraft()
	defer mem.Release()
	b := &Batch{Samples: 1, Columns: []Column{{Field: Field{Name: "x", DType: U8}, Stream: func(func([]byte) error) error { return nil }, StreamBytes: 1}}}
	if _, err := b.Take([]int32{0}, mem); err == nil {
		t.Fatal("a stream was taken from")
	}
}

func BenchmarkTake(b *testing.B) {
	for _, dt := range []DType{U8, F32, F64} {
		b.Run(dt.String(), func(b *testing.B) {
			pool := NewPool(1 << 30)
			const n = 1 << 17
			mem := pool.Overdraft()
			src := &Batch{Samples: n, Columns: []Column{{Field: Field{Name: "x", DType: dt}, Data: mem.Alloc(n * dt.Size())}}}
			rows := make([]int32, n)
			for i, r := range rand.Perm(n) {
				rows[i] = int32(r)
			}
			b.SetBytes(int64(n * dt.Size()))
			for b.Loop() {
				out := pool.Overdraft()
				if _, err := src.Take(rows, out); err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
		})
	}
}
