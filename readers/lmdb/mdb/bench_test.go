package mdb

import (
	"encoding/binary"
	"os"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/rivals"
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
	var sum int64
	rivals.Run(b, "walk/ours", info.Size(), func() error {
		f, err := Open(r, info.Size())
		if err != nil {
			return err
		}
		c := f.Cursor(f.Main())
		for c.Next() {
			v, err := c.Load()
			if err != nil {
				return err
			}
			if len(v) > 8 {
				sum += int64(binary.LittleEndian.Uint16(v))
			}
		}
		return c.Err()
	})
}
