package megatron

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/verify/problem"
)

// verify checks that a shard is whole tokens, as many as its index says. The digest of the index
// is checked with those of other files.
func verify(schema []shardify.Field, _ bool, _ map[string]string) (format.Verifier, error) {
	if err := tokens(schema); err != nil {
		return format.Verifier{}, err
	}
	field := &schema[0]
	width := int64(field.DType.Size())
	return format.Verifier{Shard: func(c *format.ShardCheck) {
		c.Samples = c.Shard.Samples
		if c.Size%width != 0 {
			c.Fail(problem.LevelStructure, shardify.Corrupt(c.Size-c.Size%width, "%d bytes are not a whole number of tokens of %d", c.Size, width))
		}
		name := megatron.Index(c.Shard.Name)
		idx, err := c.Store.Open(name)
		if err != nil {
			return // it is missed among the other files
		}
		defer idx.Close()
		h, err := checkIndex(context.Background(), idx, c.Size, c.Full)
		if err == nil && h.DType != field.DType {
			err = shardify.Corrupt(17, "tokens of type %s, the set has %s", h.DType, field.DType)
		}
		if err != nil {
			c.Report(problem.Of(problem.LevelStructure, name, err))
			return
		}
		c.Count(h.Documents, name)
	}}, nil
}

// checkIndex holds an index against the size of its data; full: all of its tables.
func checkIndex(ctx context.Context, idx storage.Blob, size int64, full bool) (h megatron.Head, err error) {
	if h, err = megatron.ReadHead(idx, idx.Size()); err != nil {
		return h, err
	}
	switch want, err := h.Bytes(idx); {
	case err != nil:
		return h, err
	case want != size:
		return h, h.Differs(want, size)
	case !full:
		return h, nil
	}
	var w megatron.Walk
	if _, err := w.Lengths(ctx, idx, &h, 0, h.Sequences, size, func(int32) {}); err != nil {
		return h, err
	}
	return h, h.CheckDocuments(ctx, idx)
}

// linter checks indexes from any tool, with the sizes of the tokens beside them.
var linter = format.Linter{
	Ext:   megatron.IndexExt,
	Sniff: megatron.IsIndex,
	Check: func(ctx context.Context, c *format.ShardCheck) (ours bool, err error) {
		data, err := c.Store.Open(megatron.Data(c.Shard.Name))
		if err != nil {
			return false, fmt.Errorf("the tokens beside it: %w", err)
		}
		defer data.Close()
		h, err := checkIndex(ctx, blob{c}, data.Size(), true)
		if c.Samples = h.Documents; err == nil {
			c.Parts, c.Full = h.Sequences, true
		}
		return false, err
	},
}

// blob is the file of a check.
type blob struct{ c *format.ShardCheck }

func (b blob) ReadAt(p []byte, at int64) (int, error) { return b.c.File.ReadAt(p, at) }
func (b blob) Size() int64                            { return b.c.Size }
func (b blob) Close() error                           { return nil }
