package flow

import (
	"slices"

	"github.com/shardify/shardify"
)

// DropFields is a transform that leaves out the named fields, as far as they are
// there.
func DropFields(names ...string) shardify.Transform { return &dropFields{names: names} }

type dropFields struct {
	names []string
	keep  []int // columns of a batch
}

func (d *dropFields) Schema(in []shardify.Field) ([]shardify.Field, error) {
	d.keep = nil
	var out []shardify.Field
	for i := range in {
		if !slices.Contains(d.names, in[i].Name) {
			d.keep = append(d.keep, i)
			out = append(out, in[i])
		}
	}
	return out, nil
}

func (*dropFields) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{} }

func (d *dropFields) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if len(d.keep) == len(b.Columns) {
		return b, nil
	}
	out := *b
	out.Columns = make([]shardify.Column, 0, len(d.keep))
	for _, i := range d.keep {
		out.Columns = append(out.Columns, b.Columns[i])
	}
	return &out, nil
}
