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
	"github.com/shardify/shardify/tests/rivals"
)

// BenchmarkRead plans and reads the records of the file SHARDIFY_TFRECORD; without one, records of 2 KiB of bytes, 64
// numbers and a label.
func BenchmarkRead(b *testing.B) {
	path := os.Getenv("SHARDIFY_TFRECORD")
	if path == "" {
		path = made(b)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	pool := shardify.NewPool(256 << 20)
	rivals.Run(b, "read/ours", info.Size(), func() error {
		src, err := openFiles(nil, nil, nil, path)
		if err != nil {
			return err
		}
		defer src.Close()
		r, err := src.Reader(0)
		if err != nil {
			return err
		}
		defer r.Close()
		for _, sp := range readertest.Spans(b, src, 4<<20) {
			mem, err := pool.Grant(context.Background(), sp.Bytes)
			if err == nil {
				_, err = r.Read(context.Background(), sp, mem)
			}
			if err != nil {
				return err
			}
			mem.Release()
		}
		return nil
	})
}

func made(b *testing.B) string {
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
	return path
}
