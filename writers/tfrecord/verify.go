package tfrecord

import (
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/arrayrecord"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/verify/problem"
)

// verify checks the records of a shard: both checksums, and that each is an Example of the features of
// the set.
func (k container) verify(schema []shardify.Field, keyed bool, _ map[string]string) (format.Verifier, error) {
	all, err := plan(schema, keyed)
	if err != nil {
		return format.Verifier{}, err
	}
	return format.Verifier{Shard: func(c *format.ShardCheck) {
		if !c.Full {
			c.Samples = c.Shard.Samples
			return
		}
		if k == arrays {
			x, n := checker{plan: all}, int64(0)
			err := arrayrecord.Check(c.File, c.Size, func(b []byte) error {
				n++
				return x.record(schema, b)
			})
			if err != nil {
				c.Fail(problem.LevelStructure, err)
				return
			}
			c.Count(n, "the file")
			c.Parts = n
			return
		}
		s := tfrecord.NewScanner(io.NewSectionReader(c.File, 0, c.Size), 0, c.Size)
		x := checker{plan: all}
		for n := int64(0); ; n++ {
			b, err := s.Next()
			if err == io.EOF {
				c.Count(n, "the file")
				c.Parts = n
				return
			}
			if err == nil {
				err = x.record(schema, b)
			}
			if err != nil {
				p := problem.Of(problem.LevelStructure, "", shardify.Amend(err, func(e *shardify.Error) {
					if e.Offset < 0 {
						e.Offset = s.At()
					}
				}))
				p.Sample = n
				c.Report(p)
				return
			}
		}
	}}, nil
}

type checker struct {
	plan  []feature
	x     tfrecord.Example
	value tfrecord.Value
}

// record checks one record: its features are those of the plan, in order, without those that are missing.
func (k *checker) record(schema []shardify.Field, b []byte) error {
	if err := k.x.Parse(b); err != nil {
		return shardify.Amend(err, func(e *shardify.Error) { e.Offset = -1 })
	}
	at := 0
	for _, f := range k.plan {
		if at >= len(k.x.Features) || string(k.x.Features[at].Key) != f.name {
			if f.field < 0 || !schema[f.field].Nullable {
				return shardify.Corrupt(-1, "the feature %s is missing", f.name)
			}
			continue
		}
		err := k.value.Parse(k.x.Features[at].Value)
		if err == nil && k.value.Kind != f.kind {
			err = shardify.Corrupt(-1, "the feature %s is %s, not %s", f.name, k.value.Kind, f.kind)
		}
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Offset = -1 })
		}
		at++
	}
	if at < len(k.x.Features) {
		return shardify.Corrupt(-1, "the feature %.100q is not of the set", k.x.Features[at].Key)
	}
	return nil
}
