package dataset

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// Wanted says what is read of a file, and how it is checked.
type Wanted struct {
	// Digest is that of the whole file, which is read. "" leaves it to who reads the file.
	Digest string
	// Record is that of an mmap shard, of which the header and these tensors are read, as
	// far as it has them.
	Record  *shardify.Shard
	Tensors []string
}

// Refetches is how often what arrives damaged is fetched again.
const Refetches = 3

// Fetch reads a file of a data set into memory of its size, and compares checksums. What is
// not wanted is left as it is there.
func Fetch(ctx context.Context, in storage.FS, name string, want Wanted, b []byte) error {
	for n := 0; ; n++ {
		f, err := OpenFile(ctx, in, name, int64(len(b)))
		if errors.Is(err, fs.ErrNotExist) {
			err = Missing(int64(len(b)))
		}
		if err != nil {
			return shardify.Annotate(err, "open", name, "")
		}
		err = want.read(f, b)
		more := n < Refetches && Again(f, err)
		f.Close()
		if !more {
			return shardify.Annotate(err, "read", name, "")
		}
	}
}

func (w *Wanted) read(f storage.File, b []byte) error {
	if w.Record != nil {
		return w.tensors(f, b)
	}
	if err := ReadFull(f, b, 0); err != nil || w.Digest == "" {
		return err
	}
	c, err := NewChecker(w.Digest)
	if err != nil {
		return err
	}
	_, _ = c.Write(b)
	return c.End()
}

func (w *Wanted) tensors(f storage.File, b []byte) error {
	s, err := index.OpenShard(f, int64(len(b)), w.Record)
	if err != nil {
		return err
	}
	if err := ReadFull(f, b[:s.HeaderBytes], 0); err != nil {
		return err
	}
	if d := index.DigestOf(b[:s.HeaderBytes]); d != w.Record.Digest {
		return shardify.Corrupt(0, "digest: the manifest says %s, the header has %s", w.Record.Digest, d)
	}
	var list []int
	for i := range s.Tensors {
		if slices.Contains(w.Tensors, s.Tensors[i].Name) {
			list = append(list, i)
		}
	}
	storage.Announce(f, func(yield func(storage.Range) bool) {
		for _, i := range list {
			if p := s.Places[i]; !yield(storage.Range{Off: p.Lo, Len: p.Hi - p.Lo}) {
				return
			}
		}
	})
	var g errgroup.Group
	g.SetLimit(8)
	for _, i := range list {
		g.Go(func() error {
			p := s.Places[i]
			if err := ReadFull(f, b[p.Lo:p.Hi], p.Lo); err != nil {
				return err
			}
			if crc := index.CRC32C(0, b[p.Lo:p.Hi]); crc != s.CRC32C[i] {
				return shardify.Annotate(shardify.Corrupt(p.Lo, "crc32c is %08x, its header says %08x", crc, s.CRC32C[i]), "", "", p.Name)
			}
			return nil
		})
	}
	return g.Wait()
}
