package mmap

import (
	"context"
	"errors"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// sink writes one shard.
type sink struct {
	store   storage.Store
	spec    format.ShardSpec
	layout  *index.Layout
	file    storage.Pending
	tensors []tensor // as layout.Tensors
	samples int64
	scratch []int64
	// spill holds what has no place in the file yet, of all tensors: a file for each
	// would be thousands in a wide set.
	spill    *local.Spill
	gathered []byte
	err      error // of the first call that failed; the shard is lost then
	done     bool
}

// errDone: the caller went on after Commit or Abort.
var errDone = errors.New("shard is already ended")

// New starts a shard.
func New(st storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
	layout, err := index.NewLayout(spec.Schema, spec.Keyed)
	if err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	s := &sink{store: st, spec: spec, layout: layout, tensors: make([]tensor, len(layout.Tensors))}
	if err := s.place(); err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	if s.file, err = st.Create(spec.Name); err != nil {
		return nil, shardify.Annotate(err, "write", spec.Name, "")
	}
	return s, nil
}

// place gives every tensor whose place is known already that place.
func (s *sink) place() error {
	size := bufferSize(len(s.tensors))
	lo, known := s.layout.HeaderBytes, true
	var err error
	for i := range s.tensors {
		t := &s.tensors[i]
		*t = tensor{sink: s, size: size, at: -1, lo: -1}
		if known {
			t.at, t.lo = lo, lo
		}
		count, ok := s.planned(i)
		if known = known && ok; known {
			if lo, err = s.layout.End(i, lo, count); err != nil {
				return err
			}
		}
	}
	for i := range s.tensors {
		if l := s.layout.Tensors[i].Lead; l == index.LeadOffsets || l == index.LeadLists {
			if err := s.tensors[i].write(make([]byte, 8), 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// planned is how many steps tensor i will have, where that is known.
func (s *sink) planned(i int) (count int64, ok bool) {
	if s.layout.Known(i) {
		return s.layout.Count(i, s.spec.Samples), s.spec.Exact
	}
	t := &s.layout.Tensors[i]
	if t.Column < 0 { // the keys
		return 0, false
	}
	f := &s.spec.Schema[t.Column]
	items, ok := s.spec.Items[f.Counter]
	switch {
	case t.Lead == index.LeadLists:
		return items + 1, ok
	case f.Levels == 1:
		return items, ok
	}
	return 0, false
}

// placeAll gives the other tensors their places too, when the first batch is the
// whole shard: nothing is spilled then. Nothing was flushed so far.
func (s *sink) placeAll(b *shardify.Batch) (err error) {
	lo := s.layout.HeaderBytes
	for i := range s.tensors {
		if s.tensors[i].at < 0 {
			s.tensors[i].at = lo
		}
		c := b.Keys
		if k := s.layout.Tensors[i].Column; k >= 0 {
			c = &b.Columns[k]
		}
		count := s.layout.Count(i, s.spec.Samples)
		switch s.layout.Tensors[i].Lead {
		case index.LeadLists:
			count = c.Offsets[0][b.Samples] + 1
		case index.LeadElements:
			last := c.Offsets[len(c.Offsets)-1]
			count = last[len(last)-1]
		}
		if lo, err = s.layout.End(i, lo, count); err != nil {
			return err
		}
	}
	return nil
}

// Write appends the batch's samples.
func (s *sink) Write(b *shardify.Batch) error {
	if s.done {
		return errDone
	}
	if s.err == nil {
		s.err = shardify.Annotate(s.write(b), "write", s.spec.Name, "")
	}
	return s.err
}

func (s *sink) write(b *shardify.Batch) error {
	if err := s.match(b); err != nil {
		return err
	}
	if s.samples == 0 && s.spec.Exact && int64(b.Samples) == s.spec.Samples {
		if err := s.placeAll(b); err != nil {
			return err
		}
	}
	for i := range b.Columns {
		if err := s.column(i, &s.layout.Columns[i], &b.Columns[i], b.Samples); err != nil {
			return err
		}
	}
	if s.spec.Keyed {
		if err := s.column(-1, &s.layout.Key, b.Keys, b.Samples); err != nil {
			return err
		}
	}
	s.samples += int64(b.Samples)
	return nil
}

// column appends the column of field i (-1: the keys).
func (s *sink) column(i int, at *index.ColumnTensors, c *shardify.Column, samples int) error {
	rows := int64(samples)
	if at.Offsets >= 0 {
		o := c.Offsets[0]
		rows = o[samples]
		if s.layout.Tensors[at.Offsets].Column == i {
			if err := s.offsets(&s.tensors[at.Offsets], o); err != nil {
				return err
			}
		}
	}
	if at.Offsets1 >= 0 {
		o := c.Offsets[1]
		rows = o[rows]
		if err := s.offsets(&s.tensors[at.Offsets1], o); err != nil {
			return err
		}
	}
	if err := s.values(&s.tensors[at.Values], c, rows); err != nil || at.Valid < 0 {
		return err
	}
	return s.valid(&s.tensors[at.Valid], c.Valid, samples)
}

// values appends the column's data, which may come in pieces.
func (s *sink) values(t *tensor, c *shardify.Column, rows int64) error {
	if c.Stream == nil {
		return t.write(c.Data, rows)
	}
	var got int64
	err := c.Stream(func(p []byte) error {
		got += int64(len(p))
		return t.write(p, 0)
	})
	if err == nil && got != c.StreamBytes {
		err = shardify.Mismatch("field %s: %d bytes came of %d", c.Name, got, c.StreamBytes)
	}
	t.rows += rows
	return err
}

// offsets appends the ends of the lists, counted from the shard's beginning.
func (s *sink) offsets(t *tensor, o []int64) error {
	base := t.base
	t.base += o[len(o)-1]
	o = o[1:]
	if base == 0 {
		return t.write(shardify.Bytes(o), int64(len(o)))
	}
	if s.scratch == nil {
		s.scratch = make([]int64, 4096)
	}
	for len(o) > 0 {
		n := min(len(o), len(s.scratch))
		for i, v := range o[:n] {
			s.scratch[i] = base + v
		}
		if err := t.write(shardify.Bytes(s.scratch[:n]), int64(n)); err != nil {
			return err
		}
		o = o[n:]
	}
	return nil
}

var allValid = slices.Repeat([]byte{1}, 4096)

func (s *sink) valid(t *tensor, marks []byte, samples int) error {
	if marks != nil {
		return t.write(marks, int64(samples))
	}
	for samples > 0 {
		n := min(samples, len(allValid))
		if err := t.write(allValid[:n], int64(n)); err != nil {
			return err
		}
		samples -= n
	}
	return nil
}

// Commit completes and publishes the shard.
func (s *sink) Commit(ctx context.Context) (shardify.Shard, error) {
	if s.done {
		return shardify.Shard{}, errDone
	}
	if s.err != nil {
		return shardify.Shard{}, s.err
	}
	sh, err := s.commit(ctx)
	if err != nil {
		s.err = shardify.Annotate(err, "write", s.spec.Name, "")
		return shardify.Shard{}, s.err
	}
	s.done = true
	s.close()
	return sh, nil
}

func (s *sink) commit(ctx context.Context) (sh shardify.Shard, err error) {
	if s.spec.Exact && s.samples != s.spec.Samples {
		return sh, shardify.Mismatch("samples: %d planned, %d written", s.spec.Samples, s.samples)
	}
	counts, crcs := make([]int64, len(s.tensors)), make([]uint32, len(s.tensors))
	end := s.layout.HeaderBytes
	for i := range s.tensors {
		if err := ctx.Err(); err != nil {
			return sh, err
		}
		t := &s.tensors[i]
		if t.lo >= 0 && t.lo != end {
			return sh, shardify.Mismatch("lists have not as many items as planned: %s begins at byte %d, planned was %d", s.layout.Tensors[i].Name, end, t.lo)
		}
		if err := t.finish(end); err != nil {
			return sh, err
		}
		counts[i], crcs[i] = t.rows, t.crc
		if end, err = s.layout.End(i, end, t.rows); err != nil {
			return sh, err
		}
	}
	head, err := s.layout.Header(s.samples, counts, crcs)
	if err != nil {
		return sh, err
	}
	if _, err := s.file.WriteAt(head, 0); err != nil {
		return sh, err
	}
	if err := s.file.Commit(ctx); err != nil {
		return sh, err
	}
	return shardify.Shard{Name: s.spec.Name, Samples: s.samples, Bytes: end, Digest: index.DigestOf(head)}, nil
}

// Abort drops the shard.
func (s *sink) Abort() error {
	if s.done {
		return nil
	}
	s.done = true
	s.close()
	return s.file.Abort()
}

// scratchFile is the shard's scratch file, made when first asked for.
func (s *sink) scratchFile() (_ *local.Spill, err error) {
	if s.spill == nil {
		s.spill, err = local.NewSpill(s.store)
	}
	return s.spill, err
}

// close frees what only a shard that is being written needs.
func (s *sink) close() {
	if s.spill != nil {
		s.spill.Close()
		s.spill = nil
	}
	s.tensors, s.gathered = nil, nil
}
