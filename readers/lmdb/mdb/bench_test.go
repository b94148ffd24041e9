package mdb

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"
)

// BenchmarkWalk walks through the database SHARDIFY_LMDB, with its values; without one, through one of the corpus.
func BenchmarkWalk(b *testing.B) {
	name := os.Getenv("SHARDIFY_LMDB")
	if name == "" {
		for _, n := range whole(b) {
			if strings.HasSuffix(n, "padded.lmdb") {
				name = n
			}
		}
	}
	r, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		b.Fatal(err)
	}
	var n, sum int64
	for range b.N {
		f, err := Open(r, info.Size())
		if err != nil {
			b.Fatal(err)
		}
		c := f.Cursor(f.Main())
		for n, sum = 0, 0; c.Next(); n++ {
			v, err := c.Load()
			if err != nil {
				b.Fatal(err)
			}
			if len(v) > 8 {
				sum += int64(binary.LittleEndian.Uint16(v))
			}
		}
		if c.Err() != nil {
			b.Fatal(c.Err())
		}
	}
	b.ReportMetric(float64(n), "entries")
	b.SetBytes(info.Size())
}
