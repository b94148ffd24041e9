package mmap

import (
	"bytes"
	"errors"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
)

// TestScratchBytesBoundTheSpill: what a sink spills of many samples is what the
// format says, or less.
func TestScratchBytesBoundTheSpill(t *testing.T) {
	u8 := func(name string, levels int) shardify.Field {
		return shardify.Field{Name: name, DType: shardify.U8, Levels: levels}
	}
	f64 := shardify.Field{Name: "x", DType: shardify.F64, Shape: []int{3}}
	const n, each = 4000, 500
	for _, c := range []struct {
		what     string
		schema   []shardify.Field
		inexact  bool
		min, max int64
	}{
		{"fixed", []shardify.Field{f64, u8("y", 0)}, false, 0, 0},
		{"fixed, samples may be skipped", []shardify.Field{f64, u8("y", 0)}, true, n / 2, n},
		{"one of variable length, and a number behind it", []shardify.Field{f64, u8("a", 1), u8("y", 0)}, false, n / 2, n},
		{"two of variable length", []shardify.Field{f64, u8("a", 1), u8("b", 1)}, false, n * each / 2, n * (2*each + 100)},
	} {
		mem := memory.New()
		k, err := New(mem, format.ShardSpec{Name: "s.safetensors", Schema: c.schema, Samples: n, Exact: !c.inexact})
		if err != nil {
			t.Fatal(err)
		}
		var decoded int64
		for range 4 {
			b := part(c.schema, n/4, each)
			decoded += b.Bytes()
			if err := k.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		fixed, factor := Format.ScratchBytes(c.schema, false, !c.inexact)
		bound := n*fixed + int64(float64(decoded)*factor)
		for i := range k.(*sink).tensors {
			if err := k.(*sink).tensors[i].flush(); err != nil {
				t.Fatal(err)
			}
		}
		var spilled int64
		if s := k.(*sink).spill; s != nil {
			spilled = s.Size()
		}
		if spilled > bound || bound < c.min || bound > c.max {
			t.Errorf("%s: %d bytes spilled, bound %d, want one from %d to %d", c.what, spilled, bound, c.min, c.max)
		}
		k.Abort()
	}
}

// part is a batch of n samples, lists of so many elements.
func part(schema []shardify.Field, n, each int) *shardify.Batch {
	b := &shardify.Batch{Samples: n}
	for _, f := range schema {
		c := shardify.Column{Field: f, Data: make([]byte, n*f.ElemBytes())}
		if f.Levels > 0 {
			c.Data = make([]byte, n*each)
			o := make([]int64, n+1)
			for i := range o {
				o[i] = int64(i * each)
			}
			c.Offsets = [][]int64{o}
		}
		b.Columns = append(b.Columns, c)
	}
	return b
}

// TestListsThatWereCountedAreNotSpilled: they are written in place, with the same bytes; another
// count is an error.
func TestListsThatWereCountedAreNotSpilled(t *testing.T) {
	const n, each = 3000, 100
	schema := []shardify.Field{{Name: "a", DType: shardify.U8, Levels: 1, Counter: "rows"}, {Name: "b", DType: shardify.U8, Levels: 1, Counter: "rows"}, {Name: "y", DType: shardify.U8}}
	write := func(items map[string]int64) (b []byte, spilled bool, err error) {
		mem := memory.New()
		k, err := New(mem, format.ShardSpec{Name: "s.safetensors", Schema: schema, Samples: n, Exact: true, Items: items})
		if err != nil {
			t.Fatal(err)
		}
		defer k.Abort()
		for range 3 {
			b := part(schema, n/3, each)
			for c := range b.Columns {
				for i := range b.Columns[c].Data {
					b.Columns[c].Data[i] = byte(i*(c+3) + i>>8)
				}
			}
			if err := k.Write(b); err != nil {
				return nil, false, err
			}
		}
		spilled = k.(*sink).spill != nil
		_, err = k.Commit(t.Context())
		return mem.Files()["s.safetensors"], spilled, err
	}
	want, spilled, err := write(nil)
	if err != nil || !spilled {
		t.Fatal(spilled, err)
	}
	got, spilled, err := write(map[string]int64{"rows": n * each})
	if err != nil || spilled || !bytes.Equal(got, want) {
		t.Errorf("spilled %v, equal %v, %v", spilled, bytes.Equal(got, want), err)
	}
	if _, _, err := write(map[string]int64{"rows": n*each + 1}); !errors.Is(err, shardify.ErrSchema) {
		t.Error(err)
	}
}
