package mmap

import (
	"context"
	"encoding/binary"
	"errors"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// mover copies the tensors of a shard behind another header.
type mover struct {
	format.Move
	to *index.Layout
}

// move: the header holds the schema, with its labels.
func move(m format.Move) (rewrite format.Rewrite, why string) {
	from, err := index.NewLayout(m.From, m.Keyed)
	to, err2 := index.NewLayout(m.To, m.Keyed)
	switch x := (&mover{m, to}); {
	case err != nil || err2 != nil: // a manifest has been checked already
		return func(context.Context, io.ReaderAt, shardify.Shard, storage.Pending) (int64, string, error) {
			return 0, "", errors.Join(err, err2)
		}, "the schema differs"
	case from.SchemaText() != to.SchemaText():
		return x.rewrite, "labels were added to the headers"
	case m.Origin != "":
		return x.rewrite, "the inputs get other numbers"
	}
	return nil, ""
}

// pieceBytes is how much is copied at once.
const pieceBytes = 1 << 20

func (m *mover) rewrite(ctx context.Context, in io.ReaderAt, from shardify.Shard, out storage.Pending) (bytes int64, digest string, err error) {
	s, err := index.OpenShard(in, from.Bytes, &from)
	if err != nil {
		return 0, "", err
	}
	l := m.to
	if len(l.Tensors) != len(s.Tensors) {
		return 0, "", shardify.Mismatch("%d tensors, the set has %d", len(s.Tensors), len(l.Tensors))
	}
	sums := make([]uint32, len(s.Tensors))
	buf := make([]byte, pieceBytes)
	at := l.HeaderBytes
	for i := range s.Tensors {
		t := &s.Places[i]
		if l.Tensors[i].Name != s.Tensors[i].Name {
			return 0, "", shardify.Mismatch("tensor %s where the set has %s", s.Tensors[i].Name, l.Tensors[i].Name)
		}
		width := 0
		if m.Origin != "" && s.Tensors[i].Name == m.Origin {
			width = int(s.Tensors[i].Row)
		}
		had, now, err := m.tensor(ctx, in, out, t.Lo, t.Hi, at, width, buf)
		if err == nil && had != s.CRC32C[i] {
			err = shardify.Corrupt(t.Lo, "crc32c of tensor %s is %08x, stored %08x", t.Name, had, s.CRC32C[i])
		}
		if err != nil {
			return 0, "", err
		}
		sums[i] = now
		at += t.Hi - t.Lo
	}
	head, err := l.Header(s.Samples, s.Counts, sums)
	if err == nil {
		_, err = out.WriteAt(head, 0)
	}
	return at, index.DigestOf(head), err
}

// tensor copies bytes [lo, hi) to a place. With a width they are rows of so many
// bytes that begin with the number of an input.
func (m *mover) tensor(ctx context.Context, in io.ReaderAt, out io.WriterAt, lo, hi, to int64, width int, buf []byte) (had, now uint32, err error) {
	if width > 0 {
		buf = buf[:len(buf)/width*width]
	}
	for lo < hi {
		if ctx.Err() != nil {
			return 0, 0, context.Cause(ctx)
		}
		b := buf[:min(int64(len(buf)), hi-lo)]
		if n, err := in.ReadAt(b, lo); n < len(b) {
			return 0, 0, shardify.Corrupt(lo+int64(n), "ends here: %v", err)
		}
		had = index.CRC32C(had, b)
		for i := 0; width > 0 && i < len(b); i += width {
			binary.LittleEndian.PutUint64(b[i:], binary.LittleEndian.Uint64(b[i:])+uint64(m.Inputs))
		}
		now = index.CRC32C(now, b)
		if _, err := out.WriteAt(b, to); err != nil {
			return 0, 0, err
		}
		lo, to = lo+int64(len(b)), to+int64(len(b))
	}
	return had, now, nil
}
