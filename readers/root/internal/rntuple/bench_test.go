package rntuple

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/shardify/shardify"
)

// BenchmarkKernel decodes stored pages of 64 Ki elements. Bytes are decoded ones.
func BenchmarkKernel(b *testing.B) {
	const n = 64 << 10
	for _, t := range []colType{colBit, colReal32, colSplitReal32, colSplitReal64, colSplitInt16, colSplitInt32, colSplitInt64, colSplitIndex32, colSplitIndex64, colReal32Trunc, colReal32Quant} {
		c := &Column{Type: t, Bits: columnTypes[t].maxBits, Min: -1, Max: 1}
		if t == colReal32Trunc || t == colReal32Quant {
			c.Bits = 16
		}
		p := page{n: n}
		p.size = p.rawBytes(c)
		disk := make([]byte, p.size)
		for i := range disk {
			disk[i] = byte(rand.Uint32())
		}
		dst := make([]byte, n*t.Width())
		var s scratch
		b.Run(t.String(), func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if err := p.decode(dst, disk, c, 0, n, &s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkCorpus reads all flats of a wide file, and opens it.
func BenchmarkCorpus(b *testing.B) {
	for _, f := range expectedFiles(b) {
		if len(f.data) < 60_000 {
			continue
		}
		for name, n := range openAll(b, f.data) {
			var anchor []byte
			for _, k := range findAnchors(f.data) {
				if k.name == name {
					anchor = k.payload
				}
			}
			b.Run(fmt.Sprintf("open/%d", len(n.Columns)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Open(n.r, n.size, anchor); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("read/%d", len(n.Columns)), func(b *testing.B) {
				s := n.Select(every(n))
				r := s.Reader()
				pool := shardify.NewPool(1 << 30)
				var cols []shardify.Column
				b.ReportAllocs()
				for b.Loop() {
					mem := pool.Overdraft()
					var err error
					if cols, err = r.Read(context.Background(), 0, n.Entries, mem, cols[:0]); err != nil {
						b.Fatal(err)
					}
					mem.Release()
				}
			})
		}
	}
}
