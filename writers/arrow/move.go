package arrow

import (
	"context"
	"io"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/arrow"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers/shard"
)

// mover rewrites the names of classes, which the schema has, and the numbers of inputs.
type mover struct {
	move   format.Move
	origin int // place of the column with numbers of inputs, -1 without one
}

func move(m format.Move) (rewrite format.Rewrite, why string) {
	x := mover{move: m, origin: -1}
	from, to, err := x.layouts()
	if err != nil {
		return func(context.Context, io.ReaderAt, shardify.Shard, storage.Pending) (int64, string, error) {
			return 0, "", err
		}, "its fields"
	}
	if m.Origin != "" && m.Inputs != 0 {
		x.origin = slices.IndexFunc(to.fields, func(f arrow.Field) bool { return f.Name == m.Origin })
	}
	switch {
	case x.origin >= 0:
		return x.rewrite, "the inputs get other numbers"
	case !slices.Equal(from.meta, to.meta):
		return x.rewrite, "the names of classes are others"
	}
	return nil, ""
}

func (m *mover) layouts() (from, to *layout, err error) {
	if from, err = newLayout(m.move.From, m.move.Keyed); err == nil {
		to, err = newLayout(m.move.To, m.move.Keyed)
	}
	return from, to, err
}

func (m *mover) rewrite(ctx context.Context, in io.ReaderAt, old shardify.Shard, out storage.Pending) (size int64, digest string, err error) {
	from, to, err := m.layouts()
	if err != nil {
		return 0, "", err
	}
	stream, err := isStream(in)
	if err != nil {
		return 0, "", err
	}
	x := shard.NewCopy(ctx, in, out)
	instead := func(had, now []byte) error {
		if _, err := x.Take(int64(len(had))); err != nil {
			return err
		}
		return x.Put(now)
	}
	if err := instead(from.begin(stream), to.begin(stream)); err != nil {
		return 0, "", err
	}
	var had, now []arrow.Block
	err = from.walk(in, old.Bytes, func(b arrow.Block, _ int64) error {
		had = append(had, b)
		now = append(now, arrow.Block{Off: x.Size, Head: b.Head, Body: b.Body})
		if err := x.Until(b.Off + b.Head); err != nil {
			return err
		}
		if m.origin >= 0 {
			if err := m.renumber(x, from); err != nil {
				return err
			}
		}
		return x.Until(b.Off + b.Head + b.Body)
	})
	if err == nil {
		err = instead(from.end(stream, had), to.end(stream, now))
	}
	if err != nil {
		return 0, "", err
	}
	digest, err = x.End(old)
	return x.Size, digest, err
}

// renumber copies a batch up to the end of the column with numbers of inputs.
func (m *mover) renumber(x *shard.Copy, l *layout) error {
	last := arrow.NewHeads(l.fields[:m.origin+1]).Sizes // as many buffers
	at := x.At
	for _, size := range l.heads.Sizes[:len(last)-1] {
		at += arrow.Padded(size)
	}
	if err := x.Until(at); err != nil {
		return err
	}
	b, err := x.Take(l.heads.Sizes[len(last)-1])
	if err != nil {
		return err
	}
	shard.Renumber(b, l.cols[m.origin].Size, m.move.Inputs)
	return x.Put(b)
}
