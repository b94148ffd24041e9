package mmap

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
)

// Keyed is what the manifests say.
func (s *source) Keyed() bool { return s.survey.Keyed }

// CheckKeys reads the names of all samples: a mmap shard may hold names that the
// output cannot.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	if !s.survey.Keyed {
		return nil
	}
	keys := *s
	keys.schema, keys.wanted = nil, nil
	r, err := keys.Reader(0)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := context.Background()
	pool := shardify.NewPool(64 << 20)
	names := dataset.KeyCheck{MemberMax: memberMax, Rule: check}
	for span, err := range keys.Spans(ctx, 1<<20) {
		if err != nil {
			return err
		}
		mem, err := pool.Grant(ctx, span.Bytes)
		if err != nil {
			return err
		}
		b, err := r.Read(ctx, span, mem)
		if err != nil {
			mem.Release()
			return err
		}
		for i := range b.Samples {
			names.Add(b.Key(i))
		}
		mem.Release()
	}
	return names.Err()
}
