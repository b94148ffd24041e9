package mmap

import (
	"context"
	"fmt"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/verify/problem"
)

// linter checks safetensors files: the header by the rules of the format, and what they
// allow but readers stumble over. A shard of ours is checked to its last byte.
var linter = format.Linter{
	Sniff: func(head []byte) bool { return len(head) > 9 && head[8] == '{' },
	Check: lint,
}

func lint(_ context.Context, c *format.ShardCheck) (ours bool, err error) {
	st, err := index.ParseSafetensors(c.File, c.Size)
	if err != nil {
		return false, err
	}
	c.Parts = int64(len(st.Tensors))
	if st.Metadata["shardify"] != "" {
		return true, lintOurs(c)
	}
	for i := range st.Tensors {
		t := &st.Tensors[i]
		if item := itemBytes(t); item > 1 && t.Lo%item != 0 {
			p := problem.New(problem.LevelLint, problem.KindLoader, "", fmt.Sprintf("data of %s do not begin at a multiple of %d", t.Type, item))
			p.Object, p.Offset = t.Name, t.Lo
			p.Breaks = "a mapped file gives an unaligned array in NumPy; torch refuses to view the bytes as that type"
			c.Report(p)
		}
	}
	return false, nil
}

// itemBytes is the size of one value; 0 without values, and for types of less
// than a byte.
func itemBytes(t *index.Tensor) int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	if n == 0 {
		return 0
	}
	return (t.Hi - t.Lo) / n
}

func lintOurs(c *format.ShardCheck) error {
	shard, err := index.ParseShard(c.File, c.Size)
	if err != nil {
		return err
	}
	for i := range shard.Places {
		if err := shard.CheckTensor(c.File, i, c.Buf); err != nil {
			c.Fail(problem.LevelLint, err)
		}
	}
	c.Samples, c.Full = shard.Samples, true
	return nil
}
