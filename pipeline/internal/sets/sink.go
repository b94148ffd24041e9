package sets

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// Sink is a format whose shards belong to the set: rows are named by numbers of
// inputs that go on where those of the set end, and codes are the set's.
func (e *Extension) Sink(p *plan.Plan, f format.Output) (format.Output, error) {
	codes, err := e.labels(p.Sample.Schema)
	if err != nil {
		return f, err
	}
	n := e.Base.inputs()
	origin := -1
	if p.Asked.Provenance {
		origin = shardify.FieldIndex(p.Sample.Schema, plan.OriginField)
	}
	create := f.New
	f.New = func(store storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
		spec.Schema = e.Base.Manifest.Schema
		s, err := create(store, spec)
		if err != nil {
			return nil, err
		}
		x := &sinkOf{Sink: s, codes: codes, inputs: n, origin: origin, keyed: spec.Keyed}
		if fr, ok := s.(format.Framer); ok {
			return &framedSink{x, fr}, nil
		}
		return x, nil
	}
	f.Finish, f.FinishSplits = nil, nil // written for the whole set
	return f, nil
}

// sinkOf changes batches before they are written.
type sinkOf struct {
	shardify.Sink
	codes  [][]int64
	inputs int64
	origin int
	keyed  bool
}

type framedSink struct {
	*sinkOf
	framer format.Framer
}

func (s *framedSink) NextFrame() (lead int, bytes int64) { return s.framer.NextFrame() }

// Write passes on the batch with other numbers.
func (s *sinkOf) Write(b *shardify.Batch) error {
	x := *b
	if !s.keyed {
		x.Keys = nil // names that rows had in a tar may be taken
	}
	x.First.Input += uint32(s.inputs)
	if x.IDs != nil {
		x.IDs = make([]shardify.ID, len(b.IDs))
		for i, id := range b.IDs {
			id.Input += uint32(s.inputs)
			x.IDs[i] = id
		}
	}
	if s.origin >= 0 {
		c := &x.Columns[s.origin]
		for i, row := 0, c.ElemBytes(); i < len(c.Data); i += row {
			add(c.Data[i:], s.inputs)
		}
	}
	for i, codes := range s.codes {
		if codes == nil {
			continue
		}
		if err := recodeColumn(&x.Columns[i], codes); err != nil {
			return err
		}
	}
	return s.Sink.Write(&x)
}

func add(b []byte, n int64) {
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+uint64(n))
}

// recodeColumn gives codes of whole numbers of any width those of the set. What is no
// code (a mark for unknown ones) stays.
func recodeColumn(c *shardify.Column, codes []int64) error {
	size := c.DType.Size()
	for at := 0; at < len(c.Data); at += size {
		var v uint64
		for k := size - 1; k >= 0; k-- {
			v = v<<8 | uint64(c.Data[at+k])
		}
		if v >= uint64(len(codes)) {
			continue
		}
		w := uint64(codes[v])
		for k := range size {
			c.Data[at+k] = byte(w >> (8 * k))
		}
		if size < 8 && w>>(8*size) > 0 {
			return shardify.Mismatch("field %s: code %d does not fit its type", c.Name, w)
		}
	}
	return nil
}
