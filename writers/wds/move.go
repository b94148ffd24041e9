package wds

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/npy"
	"github.com/shardify/shardify/index/tar"
	"github.com/shardify/shardify/storage"
)

// mover rewrites the members whose names or data hold numbers of inputs.
type mover struct{ format.Move }

// move: the names of rows begin with the number of their input.
func move(m format.Move) (rewrite format.Rewrite, why string) {
	if m.Origin == "" && (m.Keyed || m.Inputs == 0) {
		return nil, ""
	}
	return (&mover{m}).rewrite, "the inputs get other numbers"
}

// moveBytes is how much is copied at once.
const moveBytes = 1 << 20

// rewrite copies members under names that begin with other numbers.
func (m *mover) rewrite(ctx context.Context, in io.ReaderAt, from shardify.Shard, out storage.Pending) (bytes int64, digest string, err error) {
	var w tar.Window
	w.Reset(in, from.Bytes, make([]byte, moveBytes))
	end, err := tar.CheckEnd(&w)
	if err != nil {
		return 0, "", err
	}
	walk := tar.Walker{Window: &w}
	walk.Part(0, end)
	x := tarCopy{mover: m, out: out, buf: make([]byte, moveBytes)}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return 0, "", context.Cause(ctx)
		}
		e, err := walk.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = x.member(&w, e)
		}
		if err != nil {
			return 0, "", err
		}
	}
	if err := x.put(make([]byte, tar.End), make([]byte, tar.End)); err != nil {
		return 0, "", err
	}
	if d := x.had.String(); d != from.Digest {
		return 0, "", shardify.Corrupt(-1, "digest is %s, the manifest says %s", d, from.Digest)
	}
	return from.Bytes, x.now.String(), nil
}

// tarCopy writes a tar and hashes what was and what is.
type tarCopy struct {
	*mover
	out      io.Writer
	had, now index.PieceDigest
	buf      []byte
	name     []byte
}

func (x *tarCopy) put(had, now []byte) error {
	x.had.Write(had)
	x.now.Write(now)
	_, err := x.out.Write(now)
	return err
}

func (x *tarCopy) member(w *tar.Window, m tar.Entry) error {
	var had, now [tar.Block]byte
	x.name = append(x.name[:0], m.Name...)
	tar.PutHeader(had[:], x.name, m.Size)
	key, member, ok := tar.SplitKey(x.name)
	if !ok {
		return shardify.Corrupt(m.Offset, "tar member %s has no extension", m.Name)
	}
	name := x.name
	if !x.Keyed {
		id, ok := tar.ParseRowKey(key)
		if !ok || int64(id.Input)+x.Inputs > 1<<32-1 {
			return shardify.Corrupt(m.Offset, "%s is not the name of a row", key)
		}
		id.Input += uint32(x.Inputs)
		name = append(append(tar.AppendRowKey(nil, id), '.'), member...)
		if len(name) > tar.MaxName {
			return shardify.Unsupported("name %s is longer than a tar holds", name)
		}
	}
	tar.PutHeader(now[:], name, m.Size)
	if err := x.put(had[:], now[:]); err != nil {
		return err
	}
	origin := x.Origin != "" && string(member) == x.Origin+".npy"
	for lo := int64(0); lo < m.Size; {
		b := x.buf[:min(int64(len(x.buf)), m.Size-lo)]
		if err := w.ReadAt(b, m.Data()+lo); err != nil {
			return err
		}
		x.had.Write(b)
		if origin {
			if err := x.renumber(b, m.Size); err != nil {
				return err
			}
		}
		x.now.Write(b)
		if _, err := x.out.Write(b); err != nil {
			return err
		}
		lo += int64(len(b))
	}
	pad := make([]byte, tar.Pad(m.Size))
	return x.put(pad, pad)
}

// renumber changes the array of the field origin.
func (x *tarCopy) renumber(b []byte, size int64) error {
	i := shardify.FieldIndex(x.To, x.Origin)
	h := npy.NewHeader(&x.To[i])
	if int64(len(b)) != size || len(b) < h.Len()+8 || string(b[:h.Len()]) != string(h.Fixed()) {
		return fmt.Errorf("member %s.npy: %w", x.Origin, shardify.ErrCorrupt)
	}
	b = b[h.Len():]
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+uint64(x.Inputs))
	return nil
}
