package annotations

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// arrays makes numbers of the bytes of files: there are as many elements as the file has room for.
func (p *parse) arrays(b *shardify.Batch, mem *shardify.Arena) (*shardify.Batch, error) {
	out := op.Fork(b)
	c := &out.Columns[p.col]
	bytes := c.Offsets[0]
	c.Field = p.out[p.col]
	size := int64(c.ElemBytes())
	offsets := mem.Int64s(len(bytes))
	for i, at := range bytes {
		if at%size != 0 {
			sample := max(i-1, 0)
			return nil, p.located(shardify.Corrupt(-1, "%d bytes, which are no whole number of %s, %d bytes each", at-bytes[sample], p.spec.form, size), b, sample)
		}
		offsets[i] = at / size
	}
	c.Offsets = [][]int64{offsets}
	return out, nil
}
