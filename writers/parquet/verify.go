package parquet

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/verify/problem"
	"github.com/shardify/shardify/writers/shard"
)

// mostFoot bounds the foot of a file: a row group takes some 100 bytes for each column.
const mostFoot = 1 << 30

// verify checks the foot of a file: it must begin with the schema of the set, and say how many samples
// there are. The digest covers the rest.
func verify(schema []shardify.Field, keyed bool, _ map[string]string) (format.Verifier, error) {
	cols, err := plan(schema, keyed)
	if err != nil {
		return format.Verifier{}, err
	}
	t := thrift{}
	t.begin()
	t.i32(1, 2)
	t.schema(cols)
	t.field(3, tI64)
	return format.Verifier{Shard: func(c *format.ShardCheck) {
		samples, err := foot(c.File, c.Size, t.b)
		if err != nil {
			c.Fail(problem.LevelStructure, err)
			return
		}
		c.Count(samples, "its foot")
		if c.Full {
			c.Parts = samples
		}
	}}, nil
}

// foot reads how many rows a file has, behind what its foot must begin with.
func foot(r io.ReaderAt, size int64, begin []byte) (samples int64, err error) {
	const tail = 8
	if size < int64(len(magic)+tail) {
		return 0, shardify.Corrupt(0, "a file of %d bytes", size)
	}
	var ends [len(magic) + tail]byte
	for _, part := range []struct {
		b   []byte
		off int64
	}{{ends[:len(magic)], 0}, {ends[len(magic):], size - tail}} {
		if n, err := r.ReadAt(part.b, part.off); n < len(part.b) {
			return 0, shard.Short(err, part.off)
		}
	}
	n := int64(binary.LittleEndian.Uint32(ends[len(magic):]))
	switch {
	case string(ends[:len(magic)]) != magic:
		return 0, shardify.Corrupt(0, "it does not begin with %s", magic)
	case string(ends[len(magic)+4:]) != magic:
		return 0, shardify.Corrupt(size-4, "it does not end with %s", magic)
	case n > size-int64(len(magic)+tail) || n > mostFoot:
		return 0, shardify.Corrupt(size-tail, "a foot of %d bytes in a file of %d", n, size)
	}
	b := make([]byte, min(n, int64(len(begin)+binary.MaxVarintLen64)))
	at := size - tail - n
	if k, err := r.ReadAt(b, at); k < len(b) {
		return 0, shard.Short(err, at)
	}
	if !bytes.HasPrefix(b, begin) {
		return 0, shardify.Corrupt(at, "the schema is not that of the set")
	}
	samples, k := binary.Varint(b[len(begin):])
	if k <= 0 || samples < 0 {
		return 0, shardify.Corrupt(at+int64(len(begin)), "no number of rows")
	}
	return samples, nil
}
