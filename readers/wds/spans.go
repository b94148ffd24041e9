package wds

import (
	"context"
	"iter"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index/tar"
)

// Spans cuts every shard by its offset index.
func (s *source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		buf := make([]byte, indexStep*8)
		for i := range s.Inputs {
			for j := range s.Inputs[i] {
				if !s.shardSpans(ctx, i, j, target, buf, yield) {
					return
				}
			}
		}
	}
}

// indexStep is how many entries of an offset index are read at once.
const indexStep = 8 << 10

func (s *source) shardSpans(ctx context.Context, input, j int, target int64, buf []byte, yield func(shardify.Span, error) bool) bool {
	r := &reader{src: s, input: -1}
	defer r.Close()
	if err := ctx.Err(); err != nil {
		yield(shardify.Span{}, err)
		return false
	}
	if err := r.open(ctx, input, j); err != nil {
		yield(shardify.Span{}, err)
		return false
	}
	sh := r.shard
	entries := make([]int64, indexStep)
	var lo, start, last int64 // first sample and byte of the span, entry before
	for at := int64(0); at <= sh.Samples; at += indexStep {
		part := entries[:min(indexStep, sh.Samples+1-at)]
		if err := r.idx.Entries(part, buf[:len(part)*8], at); err != nil {
			yield(shardify.Span{}, err)
			return false
		}
		if at > 0 && part[0] <= last {
			err := shardify.Corrupt(at*8, "offset index: entry %d is %d, the one before %d", at, part[0], last)
			yield(shardify.Span{}, shardify.Annotate(err, "read", r.path+tar.IndexExt, ""))
			return false
		}
		for k, end := range part {
			last = end
			hi := at + int64(k) // samples before this entry
			size := s.decoded(end-start, hi-lo)
			if hi == lo || size < target && hi < sh.Samples {
				continue
			}
			if err := ctx.Err(); err != nil {
				yield(shardify.Span{}, err)
				return false
			}
			if !yield(shardify.Span{Input: uint32(input), Lo: sh.lo + lo, Hi: sh.lo + hi, Bytes: size}, nil) {
				return false
			}
			lo, start = hi, end
		}
	}
	return true
}

// decoded is the memory of n samples that take size bytes of a tar: exact when
// all fields are fixed, else at most half a block per variable member too high.
// Lists of many short texts may take more.
func (s *source) decoded(size, n int64) int64 {
	return max(size-n*s.overhead, n)
}

// setOverhead finds what a sample in the tar takes more than in memory.
func (s *source) setOverhead() {
	want := make([]bool, len(s.survey.Schema))
	for _, i := range s.wanted {
		want[i] = true
	}
	if s.hasKeys() {
		s.overhead -= 8 + tar.RowKeyBytes
	}
	for i := range s.tar.Members {
		m := &s.tar.Members[i]
		s.overhead += memberOverhead(m, want[m.Field])
		if !want[m.Field] {
			continue
		}
		s.overhead -= int64(8 * m.Of.Levels)
		if m.Of.Nullable {
			s.overhead--
		}
		for _, c := range []int{m.Shape, m.Ext} {
			if c >= 0 {
				s.overhead -= int64(s.survey.Schema[c].ElemBytes())
			}
		}
	}
}

func memberOverhead(m *dataset.Member, want bool) int64 {
	size, head := m.Elem, int64(0)
	switch {
	case m.Kind == tar.MemberClass:
		head = tar.Block - size
	case m.Kind == tar.MemberNPY:
		head = int64(m.Header())
	}
	if m.Of.Levels > 0 {
		return tar.Block + head
	}
	head += tar.Pad(head + size)
	if !want {
		head += size
	}
	return tar.Block + head
}
