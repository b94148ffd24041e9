package arrow

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/arrow"
	"github.com/shardify/shardify/verify/problem"
)

// verify checks all of a file but its values, which the digest covers.
func verify(schema []shardify.Field, keyed bool, _ map[string]string) (format.Verifier, error) {
	if _, err := newLayout(schema, keyed); err != nil {
		return format.Verifier{}, err
	}
	return format.Verifier{Shard: func(c *format.ShardCheck) {
		if !c.Full {
			c.Samples = c.Shard.Samples
			return
		}
		l, _ := newLayout(schema, keyed) // one for each goroutine
		samples := int64(0)
		err := l.walk(c.File, c.Size, func(_ arrow.Block, rows int64) error {
			samples += rows
			return nil
		})
		if err != nil {
			c.Fail(problem.LevelStructure, err)
			return
		}
		c.Count(samples, "its batches")
		c.Parts = samples
	}}, nil
}
