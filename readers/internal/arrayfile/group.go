package arrayfile

import (
	"context"
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Group is several files that are one sample. Its input is the first of them in the table.
type Group struct {
	Inputs []uint32 // in the order that they have in the sample
	Facts  []byte   // what Look is to know of all of them
	Err    error    // why they are no sample

	table *format.Table
}

// first is the input that the group counts as.
func (g *Group) first() uint32 {
	first := g.Inputs[0]
	for _, i := range g.Inputs {
		first = min(first, i)
	}
	return first
}

// isGroup begins the blob of a group: the number of inputs, each of them, and the facts.
const isGroup = 'g'

func (g *Group) blob() []byte {
	b := binary.AppendUvarint([]byte{isGroup}, uint64(len(g.Inputs)))
	for _, i := range g.Inputs {
		b = binary.AppendUvarint(b, uint64(i))
	}
	return append(b, g.Facts...)
}

// group is the inverse of blob, which may come from a plan; nil for files that are a sample each.
func group(blob []byte, t *format.Table) (*Group, error) {
	if len(blob) == 0 || blob[0] != isGroup {
		return nil, nil
	}
	r := varint.Reader{B: blob[1:]}
	g := &Group{Inputs: make([]uint32, r.Count(1)), table: t}
	for i := range g.Inputs {
		n := r.U()
		r.Bad = r.Bad || n >= uint64(t.Len())
		g.Inputs[i] = uint32(n)
	}
	if r.Bad || len(g.Inputs) == 0 {
		return nil, shardify.Corrupt(-1, "the files of a sample, in the plan")
	}
	g.Facts = r.B
	return g, nil
}

// groups are the groups that files are in, by their paths.
func (k *Kind) groups(ctx context.Context, a *format.OpenArgs, fs storage.FS) (map[string]*Group, error) {
	if k.Groups == nil {
		return nil, nil
	}
	list, err := k.Groups(ctx, a, func(see func(i uint32, f *File)) error {
		return survey.EachInput(ctx, a, func(ctx context.Context, i, _ int) error {
			in, err := rows.OpenFile(ctx, fs, a.Table.Path(i), -1)
			if err != nil {
				return nil // the survey says so
			}
			defer in.Close()
			if f, err := newFile(ctx, fs, a.Table.Path(i), in); err == nil {
				see(uint32(i), f)
			}
			return context.Cause(ctx)
		})
	})
	if err != nil || list == nil {
		return nil, err
	}
	of := map[string]*Group{}
	for i := range list {
		g := &list[i]
		g.table = a.Table
		for _, in := range g.Inputs {
			of[a.Table.Path(int(in))] = g
		}
	}
	return of, nil
}

// Member opens file i of the group that the file is the first of. The caller closes it.
func (f *File) Member(i int) (*File, error) {
	t, input := f.Group.table, int(f.Group.Inputs[i])
	in, err := rows.OpenFile(f.ctx, storages.Of(t), t.Path(input), t.Size(input))
	if err != nil {
		return nil, err
	}
	m, err := newFile(f.ctx, f.fs, t.Path(input), in)
	if err != nil {
		in.Close()
		return nil, err
	}
	return m, nil
}
