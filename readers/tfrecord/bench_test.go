package tfrecord

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/readers/readertest"
)

// BenchmarkRead plans and reads records of 2 KiB of bytes, 64 numbers and a label.
func BenchmarkRead(b *testing.B) {
	packed := func(p []byte) []byte { return append(binary.AppendUvarint([]byte{0x0a}, uint64(len(p))), p...) }
	var all []byte
	for i := range 20000 {
		var x []byte
		for k := range 64 {
			x = binary.LittleEndian.AppendUint32(x, math.Float32bits(float32(i*k)))
		}
		m := feature("blob", tfrecord.Bytes, packed(bytes.Repeat([]byte{byte(i), 0, 0xff, 1}, 512)))
		m = append(m, feature("label", tfrecord.Ints, packed([]byte{byte(i % 10)}))...)
		all = tfrecord.AppendRecord(all, packed(append(m, feature("x", tfrecord.Floats, packed(x))...)))
	}
	path := filepath.Join(b.TempDir(), "a.tfrecord")
	if err := os.WriteFile(path, all, 0o666); err != nil {
		b.Fatal(err)
	}
	pool := shardify.NewPool(256 << 20)
	b.SetBytes(int64(len(all)))
	for b.Loop() {
		src, err := openFiles(nil, nil, nil, path)
		if err != nil {
			b.Fatal(err)
		}
		r, err := src.Reader(0)
		if err != nil {
			b.Fatal(err)
		}
		for _, sp := range readertest.Spans(b, src, 4<<20) {
			mem, err := pool.Grant(context.Background(), sp.Bytes)
			if err == nil {
				_, err = r.Read(context.Background(), sp, mem)
			}
			if err != nil {
				b.Fatal(err)
			}
			mem.Release()
		}
		r.Close()
		src.Close()
	}
}
