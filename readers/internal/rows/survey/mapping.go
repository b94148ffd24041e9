package survey

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// schema is the fields that were decided.
func (cs *candidates) schema() []shardify.Field {
	var schema []shardify.Field
	for _, c := range cs.list {
		schema = append(schema, c.field)
		if c.field.Ragged {
			schema = append(schema, shardify.Field{
				Name: c.name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{c.rank}, Nullable: c.field.Nullable,
			})
		}
	}
	return schema
}

// settle says of each file where it has the fields of the schema.
func (m *merger) settle(schema []shardify.Field) {
	plans := make(map[*layout]*plan, len(m.live))
	for _, l := range m.live {
		plans[l] = m.cands.plan(l, schema)
	}
	m.files.Settle(func(f *set.File, shapes []byte) (*set.Mapping, []byte) {
		l := m.layouts.list[f.Layout]
		if l.dropped && f.Samples > 0 {
			return nil, nil
		}
		p := plans[l]
		if p == nil { // no samples: nothing is read by any mapping
			f.Jagged = 0
			return plans[m.live[0]].mapping, nil
		}
		shapes, elems := l.shapes(p.shaped, shapes)
		f.Jagged = rows.SatAdd(rows.MulDiv(f.Jagged, p.kept, max(p.all, 1)), rows.SatMul(elems, f.Samples))
		return p.mapping, shapes
	})
}

// plan is how the files of a layout become columns of the schema.
type plan struct {
	mapping *set.Mapping
	// kept of all bytes of jagged fields are read; more if they are widened.
	kept, all int64
	shaped    []int // fields of the layout that are fixed, and Ragged in the schema
}

func (cs *candidates) plan(l *layout, schema []shardify.Field) *plan {
	p := &plan{}
	at := make(map[string]int, len(l.fields))
	for i := range l.fields {
		at[l.fields[i].Name] = i
		p.all = rows.SatAdd(p.all, l.bytes[i])
	}
	var all []set.From
	for _, c := range cs.list {
		i, ok := at[c.name]
		from := set.From{Field: -1, DType: c.field.DType}
		if ok {
			f := &l.fields[i]
			from = set.From{Field: l.at[i], DType: f.DType, Fixed: c.field.Ragged && !f.Ragged}
			if from.Fixed {
				p.shaped = append(p.shaped, i)
			}
			p.kept = rows.SatAdd(p.kept, widened(l.bytes[i], f.DType, c.field.DType))
		}
		all = append(all, from)
		if !c.field.Ragged {
			continue
		}
		shape := set.From{Field: -1, DType: shardify.I64}
		if k, has := c.shape[l]; has && ok {
			shape = set.From{Field: l.at[k], DType: l.fields[k].DType}
		}
		all = append(all, shape)
	}
	p.mapping = set.NewMapping(schema, all)
	return p
}

// widened is the memory that n bytes take while their type is changed: both.
func widened(n int64, from, to shardify.DType) int64 {
	if from == to || from.Size() == 0 {
		return n
	}
	return rows.SatAdd(n, rows.SatMul(n/int64(from.Size()), int64(to.Size())))
}

// shapes takes the dimensions of some fields out of those of all that may vary, and
// counts the bytes of one sample in them.
func (l *layout) shapes(want []int, dims []byte) (some []byte, bytes int64) {
	if len(want) == 0 {
		return nil, 0
	}
	all := make([][]byte, len(l.fields))
	sizes := make([]int64, len(l.fields))
	for i := range l.fields {
		f := &l.fields[i]
		if !mayVary(f) {
			continue
		}
		rest := dims
		sizes[i] = int64(f.DType.Size())
		for range f.Shape {
			d, n := binary.Uvarint(rest)
			rest = rest[n:]
			sizes[i] = rows.SatMul(sizes[i], int64(d))
		}
		all[i], dims = dims[:len(dims)-len(rest)], rest
	}
	for _, i := range want {
		some = append(some, all[i]...)
		bytes = rows.SatAdd(bytes, sizes[i])
	}
	return some, bytes
}
