package sets

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// change is what becomes other in the bytes of shards that move into another set.
type change struct {
	format string
	keyed  bool
	schema []shardify.Field // of the set they move to
	// inputs is added to the numbers of inputs: in names of rows, and in the field
	// origin.
	inputs int64
	origin bool // there is one
}

// provenance tells whether the field origin is what --provenance makes.
func provenance(m *index.Manifest) bool {
	return m.Recipe["provenance"] == "true" && shardify.FieldIndex(m.Schema, convert.OriginField) >= 0
}

// needs tells whether shards of set b must be changed to stand behind others.
func needs(b *Set, schema []shardify.Field, inputs int64) (*change, error) {
	c := &change{format: b.Manifest.Format, keyed: b.Manifest.Keyed, schema: schema, inputs: inputs, origin: provenance(b.Manifest)}
	origin := provenance(b.Manifest) && inputs > 0
	switch c.format {
	case index.FormatMmap:
		if origin || textOf(schema) != textOf(b.Manifest.Schema) {
			return c, nil
		}
	case index.FormatWDS:
		if origin || !c.keyed && inputs > 0 {
			return c, nil
		}
	default:
		if origin {
			return nil, mismatch(b.Dir, "field %s: the inputs of this set would get other numbers, which %s shards hold: convert the inputs of all sets into one", convert.OriginField, c.format)
		}
	}
	return nil, nil
}

// shard rewrites one shard under the name that as has, and completes as.
func (c *change) shard(ctx context.Context, store storage.Store, path string, from, as *shardify.Shard) error {
	in, st, err := local.OpenOwn(path)
	if err != nil {
		return err
	}
	defer in.Close()
	if st.Size() != from.Bytes {
		return shardify.Annotate(shardify.Corrupt(-1, "the manifest says %d bytes, the file has %d", from.Bytes, st.Size()), "read", path, "")
	}
	out, err := store.Create(as.Name)
	if err != nil {
		return err
	}
	defer out.Abort()
	if c.format == index.FormatMmap {
		err = c.mmap(ctx, in, out, from, as)
	} else {
		err = c.tar(ctx, in, out, from, as)
	}
	if err != nil {
		return shardify.Annotate(err, "read", path, "")
	}
	return out.Commit(ctx)
}

// pieceBytes is how much is copied at once.
const pieceBytes = 1 << 20

// mmap copies the tensors behind another header.
func (c *change) mmap(ctx context.Context, in *os.File, out storage.Pending, from, as *shardify.Shard) error {
	s, err := index.OpenShard(in, from.Bytes, from)
	if err != nil {
		return err
	}
	l, err := index.NewLayout(c.schema, c.keyed)
	if err != nil {
		return err
	}
	if len(l.Tensors) != len(s.Tensors) {
		return shardify.Mismatch("%d tensors, the set has %d", len(s.Tensors), len(l.Tensors))
	}
	sums := make([]uint32, len(s.Tensors))
	buf := make([]byte, pieceBytes)
	at := l.HeaderBytes
	for i := range s.Tensors {
		t := &s.Places[i]
		if l.Tensors[i].Name != s.Tensors[i].Name {
			return shardify.Mismatch("tensor %s where the set has %s", s.Tensors[i].Name, l.Tensors[i].Name)
		}
		width := 0
		if c.origin && s.Tensors[i].Name == convert.OriginField {
			width = int(s.Tensors[i].Row)
		}
		had, now, err := c.tensor(ctx, in, out, t.Lo, t.Hi, at, width, buf)
		if err == nil && had != s.CRC32C[i] {
			err = shardify.Corrupt(t.Lo, "crc32c of tensor %s is %08x, stored %08x", t.Name, had, s.CRC32C[i])
		}
		if err != nil {
			return err
		}
		sums[i] = now
		at += t.Hi - t.Lo
	}
	head, err := l.Header(s.Samples, s.Counts, sums)
	if err != nil {
		return err
	}
	if _, err := out.WriteAt(head, 0); err != nil {
		return err
	}
	as.Bytes, as.Digest = at, index.DigestOf(head)
	return nil
}

// tensor copies bytes [lo, hi) to a place. With a width they are rows of so many
// bytes that begin with the number of an input.
func (c *change) tensor(ctx context.Context, in io.ReaderAt, out io.WriterAt, lo, hi, to int64, width int, buf []byte) (had, now uint32, err error) {
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
			binary.LittleEndian.PutUint64(b[i:], binary.LittleEndian.Uint64(b[i:])+uint64(c.inputs))
		}
		now = index.CRC32C(now, b)
		if _, err := out.WriteAt(b, to); err != nil {
			return 0, 0, err
		}
		lo, to = lo+int64(len(b)), to+int64(len(b))
	}
	return had, now, nil
}

// tar copies members under names that begin with other numbers.
func (c *change) tar(ctx context.Context, in *os.File, out storage.Pending, from, as *shardify.Shard) error {
	var w index.TarWindow
	w.Reset(in, from.Bytes, make([]byte, pieceBytes))
	end, err := index.CheckTarEnd(&w)
	if err != nil {
		return err
	}
	walk := index.TarWalker{TarWindow: &w}
	walk.Part(0, end)
	x := tarCopy{change: c, out: out, buf: make([]byte, pieceBytes)}
	for n := 0; ; n++ {
		if n%256 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		m, err := walk.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = x.member(&w, m)
		}
		if err != nil {
			return err
		}
	}
	if err := x.put(make([]byte, index.TarEnd), make([]byte, index.TarEnd)); err != nil {
		return err
	}
	if d := x.had.String(); d != from.Digest {
		return shardify.Corrupt(-1, "digest is %s, the manifest says %s", d, from.Digest)
	}
	as.Bytes, as.Digest = from.Bytes, x.now.String()
	return nil
}

// tarCopy writes a tar and hashes what was and what is.
type tarCopy struct {
	*change
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

func (x *tarCopy) member(w *index.TarWindow, m index.TarEntry) error {
	var had, now [index.TarBlock]byte
	x.name = append(x.name[:0], m.Name...)
	index.PutTarHeader(had[:], x.name, m.Size)
	key, member, ok := index.SplitKey(x.name)
	if !ok {
		return shardify.Corrupt(m.Offset, "tar member %s has no extension", m.Name)
	}
	name := x.name
	if !x.keyed {
		id, ok := index.ParseRowKey(key)
		if !ok || int64(id.Input)+x.inputs > 1<<32-1 {
			return shardify.Corrupt(m.Offset, "%s is not the name of a row", key)
		}
		id.Input += uint32(x.inputs)
		name = append(append(index.AppendRowKey(nil, id), '.'), member...)
		if len(name) > index.MaxTarName {
			return shardify.Unsupported("name %s is longer than a tar holds", name)
		}
	}
	index.PutTarHeader(now[:], name, m.Size)
	if err := x.put(had[:], now[:]); err != nil {
		return err
	}
	origin := x.change.origin && string(member) == convert.OriginField+".npy"
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
	pad := make([]byte, index.TarPad(m.Size))
	return x.put(pad, pad)
}

// renumber changes the array of the field origin.
func (x *tarCopy) renumber(b []byte, size int64) error {
	i := shardify.FieldIndex(x.schema, convert.OriginField)
	h := index.NewNPYHeader(&x.schema[i])
	if int64(len(b)) != size || len(b) < h.Len()+8 || string(b[:h.Len()]) != string(h.Fixed()) {
		return fmt.Errorf("member %s.npy: %w", convert.OriginField, shardify.ErrCorrupt)
	}
	b = b[h.Len():]
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+uint64(x.inputs))
	return nil
}
