package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers/shard"
)

// mover rewrites the names of classes, which the foot of each file has, and the numbers of inputs.
type mover struct {
	from, to []column
	origin   int // place of the column with numbers of inputs, -1 without one
	inputs   int64
}

func move(m format.Move) (rewrite format.Rewrite, why string) {
	x := mover{origin: -1, inputs: m.Inputs}
	var err error
	if x.from, err = plan(m.From, m.Keyed); err == nil {
		x.to, err = plan(m.To, m.Keyed)
	}
	if err != nil {
		return func(context.Context, io.ReaderAt, shardify.Shard, storage.Pending) (int64, string, error) {
			return 0, "", err
		}, "its fields"
	}
	if m.Origin != "" && m.Inputs != 0 {
		x.origin = slices.IndexFunc(x.to, func(c column) bool { return c.Name == m.Origin })
	}
	switch {
	case x.origin >= 0:
		return x.rewrite, "the inputs get other numbers"
	case !slices.Equal(metadata(x.from), metadata(x.to)):
		return x.rewrite, "the names of classes are others"
	}
	return nil, ""
}

func (m *mover) rewrite(ctx context.Context, in io.ReaderAt, from shardify.Shard, out storage.Pending) (size int64, digest string, err error) {
	const tail = 8
	var end [tail]byte
	if n, err := in.ReadAt(end[:], max(from.Bytes-tail, 0)); n < tail {
		return 0, "", shard.Short(err, from.Bytes)
	}
	foot := from.Bytes - tail - int64(binary.LittleEndian.Uint32(end[:]))
	if foot < int64(len(magic)) {
		return 0, "", shardify.Corrupt(from.Bytes-tail, "no foot")
	}
	x := shard.NewCopy(ctx, in, out)
	if m.origin >= 0 {
		err = m.pages(x, in, foot)
	}
	if err == nil {
		err = x.Until(foot)
	}
	if err != nil {
		return 0, "", err
	}
	old, err := x.Take(from.Bytes - foot)
	if err != nil {
		return 0, "", err
	}
	had := footEnd(metadata(m.from))
	old = old[:len(old)-tail]
	if !bytes.HasSuffix(old, had) {
		return 0, "", shardify.Corrupt(foot, "the foot is not that of the set")
	}
	now := append(slices.Clone(old[:len(old)-len(had)]), footEnd(metadata(m.to))...)
	now = append(binary.LittleEndian.AppendUint32(now, uint32(len(now))), magic...)
	if err := x.Put(now); err != nil {
		return 0, "", err
	}
	digest, err = x.End(from)
	return x.Size, digest, err
}

// pages copies the row groups, with other numbers of inputs.
func (m *mover) pages(x *shard.Copy, in io.ReaderAt, foot int64) error {
	if err := x.Until(int64(len(magic))); err != nil {
		return err
	}
	for at := foot; x.At < at; {
		for i := range m.from {
			pages := 1
			if m.from[i].File {
				pages = 2
			}
			for range pages {
				head, body, err := pageHead(in, x.At, foot)
				if err == nil {
					err = x.Until(x.At + head)
				}
				if err == nil && i == m.origin {
					err = m.renumber(x, body)
				} else if err == nil {
					err = x.Until(x.At + body)
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// pageHead finds how long the head of a page of ours is, and its body.
func pageHead(in io.ReaderAt, at, end int64) (head, body int64, err error) {
	b := make([]byte, min(64, end-at))
	if n, err := in.ReadAt(b, at); n < len(b) {
		return 0, 0, shard.Short(err, at)
	}
	rest := b
	number := func(tag byte) (v int64) {
		if len(rest) == 0 || rest[0] != tag {
			rest = nil
			return -1
		}
		v, k := binary.Varint(rest[1:])
		rest = rest[min(1+max(k, 0), len(rest)):]
		return v
	}
	const next = 1<<4 | tI32
	number(next)
	body = number(next)
	number(next)
	if len(rest) < 2 || rest[0] != 2<<4|tStruct {
		return 0, 0, shardify.Corrupt(at, "no page")
	}
	rest = rest[1:]
	for range 4 {
		number(next)
	}
	if len(rest) < 2 || rest[0] != 0 || rest[1] != 0 || body < 0 || body > end-at {
		return 0, 0, shardify.Corrupt(at, "no page")
	}
	return int64(len(b) - len(rest) + 2), body, nil
}

// renumber copies a page of the column with numbers of inputs: the first number of each sample.
func (m *mover) renumber(x *shard.Copy, size int64) error {
	b, err := x.Take(size)
	if err != nil {
		return err
	}
	values := b
	for range 1 + min(1, len(m.to[m.origin].Lists)) {
		if len(values) < 4 || int64(binary.LittleEndian.Uint32(values)) > int64(len(values)-4) {
			return shardify.Corrupt(x.At-size, "levels of a page")
		}
		values = values[4+binary.LittleEndian.Uint32(values):]
	}
	shard.Renumber(values, m.to[m.origin].Size, m.inputs)
	return x.Put(b)
}
