package arrow

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/arrow"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/writers/shard"
	"github.com/shardify/shardify/writers/table"
)

// A batch ends at batchRows samples, or where its values reach batchBytes: a batch that a processor's cache holds is written in
// half the time of one that it does not.
const (
	batchRows  = 64 << 10
	batchBytes = 1 << 20
)

// sink writes one file, batch by batch.
type sink struct {
	*shard.Shard
	layout *layout
	stream bool
	cols   []column
	group  *table.Group
	blocks []arrow.Block
	nodes  []arrow.Node
	bufs   [][]byte
}

func newSink(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	l, err := newLayout(spec.Schema, spec.Keyed)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	f, err := shard.Create(st, spec)
	if err != nil {
		return nil, err
	}
	s := &sink{Shard: f, layout: l, stream: spec.Options[optForm] == "stream", group: table.NewGroup(l.cols, batchRows, batchBytes)}
	for i := range l.cols {
		s.cols = append(s.cols, newColumn(&l.cols[i]))
	}
	return s, nil
}

// Write appends the samples of a batch.
func (s *sink) Write(b *shardify.Batch) error { return s.Shard.Write(b, s.write) }

func (s *sink) write(b *shardify.Batch) error {
	err := s.group.Each(b, func(lo, hi int) {
		for k := range s.cols {
			c := &s.cols[k]
			if c.Field >= 0 {
				c.put(&b.Columns[c.Field], lo, hi)
				continue
			}
			for i := lo; i < hi; i++ {
				c.key(s.Key(b, i))
			}
		}
	}, s.flush)
	for k := range s.cols {
		s.cols[k].own() // the rest of the batch, which goes
	}
	return err
}

var zeros [arrow.Align]byte

// flush writes the current batch, and what comes before the first one.
func (s *sink) flush() error {
	if s.Size == 0 {
		if err := s.Put(s.layout.begin(s.stream)); err != nil {
			return err
		}
	}
	if s.group.Rows == 0 {
		return nil
	}
	s.nodes, s.bufs = s.nodes[:0], s.bufs[:0]
	for k := range s.cols {
		s.nodes, s.bufs = s.cols[k].buffers(s.nodes, s.bufs)
	}
	h := s.layout.heads
	copy(h.Nodes, s.nodes)
	for i, b := range s.bufs {
		h.Sizes[i] = int64(len(b))
	}
	at := s.Size
	head, body := h.Next(s.group.Rows)
	if err := s.Put(head); err != nil {
		return err
	}
	for _, b := range s.bufs {
		if err := s.Put(b); err != nil {
			return err
		}
		if err := s.Put(zeros[:arrow.Padded(int64(len(b)))-int64(len(b))]); err != nil {
			return err
		}
	}
	s.blocks = append(s.blocks, arrow.Block{Off: at, Head: int64(len(head)), Body: body})
	for k := range s.cols {
		s.cols[k].reset()
	}
	s.group.Reset()
	return nil
}

// Commit completes and publishes the shard.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	return s.Shard.Commit(ctx, func() error {
		if err := s.flush(); err != nil {
			return err
		}
		return s.Put(s.layout.end(s.stream, s.blocks))
	})
}
