package mmap

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Keyed is what the manifests say.
func (s *source) Keyed() bool { return s.survey.Keyed }

// CheckKeys reads the names of all samples: a mmap shard may hold names that the
// output cannot.
func (s *source) CheckKeys(memberMax int, check func(key []byte) error) error {
	keys := *s
	keys.schema, keys.wanted = nil, nil
	r, err := keys.Reader(0)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := context.Background()
	pool := shardify.NewPool(64 << 20)
	var bad int64
	var first error
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
			key := b.Key(i)
			err := check(key)
			if err == nil && memberMax > 0 && len(key)+1+memberMax > index.MaxTarName {
				err = shardify.Mismatch("key %q is %d bytes long, with a member's name of %d it exceeds %d", key, len(key), memberMax, index.MaxTarName)
			}
			if err != nil {
				if bad++; first == nil {
					first = err
				}
			}
		}
		mem.Release()
	}
	if bad > 1 {
		return shardify.Mismatch("%d samples have names that do not fit, the first: %v", bad, first)
	}
	return first
}
