package wds_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/writers/wds"
)

// framed lays a batch's values out as f says; what is between them is rubbish.
func framed(b *shardify.Batch, f shardify.Frame) *shardify.Batch {
	c := *b
	c.Columns = append([]shardify.Column(nil), b.Columns...)
	free := func(n int) {
		c.Framed = append(c.Framed, bytes.Repeat([]byte{0xdb}, n)...)
	}
	free(f.Lead)
	for i := range b.Samples {
		for _, v := range f.Values {
			free(v.Before)
			from, to := b.Columns[v.Field].Range(i, i+1)
			c.Framed = append(c.Framed, b.Columns[v.Field].Data[from:to]...)
			free(int(f.End(0, int64(to-from))) - (to - from))
		}
		free(f.After)
	}
	for _, v := range f.Values {
		c.Columns[v.Field].Data, c.Columns[v.Field].Framed = nil, true
	}
	c.Frame = &f
	return &c
}

// photos is a batch of images of two types (bmp comes before cls, jpg after it) with
// classes and captions, some of them missing.
func photos(rng *rand.Rand, first, n, longest int) *shardify.Batch {
	caption := media("txt", "txt")
	caption.Nullable = true
	b := &shardify.Batch{Samples: n, First: shardify.ID{Sample: int64(first)}, Columns: []shardify.Column{
		{Field: field("cls", shardify.I16), Data: make([]byte, 2*n)},
		{Field: media("image", "image"), Offsets: [][]int64{{0}}},
		{Field: labelled(field("image"+shardify.ExtSuffix, shardify.U8), "jpg\nbmp"), Data: make([]byte, n)},
		{Field: caption, Offsets: [][]int64{{0}}, Valid: make([]byte, n)},
	}}
	fill := func(c *shardify.Column, size int) {
		for range size {
			c.Data = append(c.Data, byte(rng.Uint32()))
		}
		c.Offsets[0] = append(c.Offsets[0], int64(len(c.Data)))
	}
	for i := range n {
		b.Columns[0].Data[2*i] = byte(rng.Uint32())
		b.Columns[2].Data[i] = byte(rng.IntN(8) / 7)
		size := rng.IntN(longest)
		if rng.IntN(3) == 0 {
			size -= size % 512
		}
		fill(&b.Columns[1], size)
		b.Columns[3].Valid[i] = byte(rng.IntN(2))
		size = rng.IntN(600) * int(b.Columns[3].Valid[i])
		if rng.IntN(20) == 0 {
			size = 7 // of a value that does not count
		}
		fill(&b.Columns[3], size)
	}
	return b
}

// TestFramesGiveTheSameTar: whatever the frame, its lead, and the mixture with
// plain batches, sink and digest see the same bytes.
func TestFramesGiveTheSameTar(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var plain []*shardify.Batch
		first := 0
		for range 1 + rng.IntN(6) {
			n, longest := rng.IntN(60), 1+rng.IntN(12<<10)
			if rng.IntN(4) == 0 {
				n, longest = rng.IntN(3), 800<<10
			}
			plain = append(plain, photos(rng, first, n, longest))
			first += n
		}
		schema := []shardify.Field{}
		for _, c := range plain[0].Columns {
			schema = append(schema, c.Field)
		}
		want, wantRec := shard(t, schema, plain...)
		wanted := wds.Format.Frame(schema, nil)
		other := shardify.Frame{Block: 64, After: 128, Values: []shardify.FrameValue{{Field: 3, Before: 64}, {Field: 1}}}
		mem := memory.New()
		sink, err := wds.Format.New(mem, format.ShardSpec{Name: "shard-000000.tar", Schema: schema, Samples: int64(first), Exact: true, Options: format.Options{"dali": "false"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range plain {
			f := *wanted
			switch rng.IntN(4) {
			case 0:
				f = other
			case 1:
				f.Lead = rng.IntN(300<<10) &^ 511
			default:
				f.Lead, _ = sink.(format.Framer).NextFrame()
			}
			if rng.IntN(5) > 0 {
				b = framed(b, f)
			}
			if err := sink.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := sink.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(rec) != fmt.Sprint(wantRec) {
			t.Errorf("seed %d: %+v, want %+v", seed, rec, wantRec)
		}
		for name, w := range want {
			if got := mem.Files()[name]; !bytes.Equal(got, w) {
				t.Errorf("seed %d: %s differs: %d bytes, want %d", seed, name, len(got), len(w))
			}
		}
	}
}

// TestFrameMustFit: a batch whose frame is too short, or holds numbers, is refused.
func TestFrameMustFit(t *testing.T) {
	b := photos(rand.New(rand.NewPCG(1, 1)), 0, 5, 100)
	var schema []shardify.Field
	for _, c := range b.Columns {
		schema = append(schema, c.Field)
	}
	good := *wds.Format.Frame(schema, nil)
	for name, spoil := range map[string]func(*shardify.Batch){
		"short":      func(b *shardify.Batch) { b.Framed = b.Framed[:len(b.Framed)-512] },
		"long":       func(b *shardify.Batch) { b.Framed = append(b.Framed, make([]byte, 512)...) },
		"no frame":   func(b *shardify.Batch) { b.Frame = nil },
		"not marked": func(b *shardify.Batch) { b.Columns[1].Framed = false },
		"numbers":    func(b *shardify.Batch) { b.Columns[0].Framed = true },
		"no column": func(b *shardify.Batch) {
			f := *b.Frame
			f.Values = append(f.Values, shardify.FrameValue{Field: 9})
			b.Frame = &f
		},
	} {
		sink, err := wds.Format.New(memory.New(), format.ShardSpec{Name: "shard-000000.tar", Schema: schema, Options: format.Options{"dali": "false"}})
		if err != nil {
			t.Fatal(err)
		}
		bad := framed(b, good)
		spoil(bad)
		if err := sink.Write(bad); err == nil {
			t.Errorf("%s: no error", name)
		}
		sink.Abort()
	}
}
