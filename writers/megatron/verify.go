package megatron

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/verify/problem"
)

// verify checks that a shard is whole tokens; its index is a file of its own.
func verify(schema []shardify.Field, _ bool, _ map[string]string) (format.Verifier, error) {
	if err := tokens(schema); err != nil {
		return format.Verifier{}, err
	}
	width := int64(schema[0].DType.Size())
	return format.Verifier{Shard: func(c *format.ShardCheck) {
		c.Samples = c.Shard.Samples
		if c.Size%width != 0 {
			c.Fail(problem.LevelStructure, shardify.Corrupt(c.Size-c.Size%width, "%d bytes are not a whole number of tokens of %d", c.Size, width))
		}
	}}, nil
}
