package rows

import (
	"encoding/binary"

	"github.com/shardify/shardify"
)

// build fills the set from what was decided.
func (m *merger) build() {
	s := m.set
	for _, c := range m.cands {
		s.schema = append(s.schema, c.field)
		if c.field.Ragged {
			s.schema = append(s.schema, shardify.Field{
				Name: c.name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{c.rank}, Nullable: c.field.Nullable,
			})
		}
	}
	s.left, s.notes = m.left, m.notes
	plans := make(map[*layout]*plan, len(m.live))
	for _, l := range m.live {
		plans[l] = m.plan(l)
	}
	m.number(plans)
}

// plan is how the files of a layout become columns of the schema.
type plan struct {
	mapping []from
	key     []byte
	// kept of all bytes of jagged fields are read; more if they are widened.
	kept, all int64
	shaped    []int // fields of the layout that are fixed, and Ragged in the schema
}

func (m *merger) plan(l *layout) *plan {
	p := &plan{}
	at := make(map[string]int, len(l.fields))
	for i := range l.fields {
		at[l.fields[i].Name] = i
		p.all = satAdd(p.all, l.bytes[i])
	}
	for _, c := range m.cands {
		i, ok := at[c.name]
		fr := from{field: -1, dtype: c.field.DType, how: missing}
		if ok {
			f := &l.fields[i]
			fr = from{field: l.at[i], dtype: f.DType, how: direct}
			if c.field.Ragged && !f.Ragged {
				fr.how = fixed
				p.shaped = append(p.shaped, i)
			}
			p.kept = satAdd(p.kept, widened(l.bytes[i], f.DType, c.field.DType))
		}
		p.mapping = append(p.mapping, fr)
		if !c.field.Ragged {
			continue
		}
		shape := from{field: -1, dtype: shardify.I64, how: missing}
		if k, has := c.shape[l]; has && fr.how == direct {
			shape = from{field: l.at[k], dtype: l.fields[k].DType, how: direct}
		} else if fr.how == fixed {
			shape.how = shapeOf
		}
		p.mapping = append(p.mapping, shape)
	}
	p.key = appendMapping(nil, p.mapping)
	return p
}

// widened is the memory that n bytes take while their type is changed: both.
func widened(n int64, from, to shardify.DType) int64 {
	if from == to || from.Size() == 0 {
		return n
	}
	return satAdd(n, satMul(n/int64(from.Size()), int64(to.Size())))
}

// number puts the files into the set, and renumbers what they share in the order of the
// files, so that the state does not depend on which survey ended first.
func (m *merger) number(plans map[*layout]*plan) {
	s := m.set
	var mappings, borders, blobs, dims interner
	s.entries = m.entries[:0] // in place: the old ones are not needed
	for _, e := range m.entries {
		if e.layout == none {
			continue
		}
		l := m.layouts[e.layout]
		p := plans[l]
		var shapes []byte
		if p == nil { // no samples: nothing is read by any mapping
			p, e.jagged = plans[m.live[0]], 0
		} else {
			var elems int64
			shapes, elems = l.shapes(p.shaped, m.dims.list[e.dims])
			e.jagged = satAdd(mulDiv(e.jagged, p.kept, max(p.all, 1)), satMul(elems, e.samples))
		}
		id := mappings.add(p.key)
		if int(id) == len(s.layouts) {
			s.layouts = append(s.layouts, s.measure(p.mapping))
		}
		e.layout, e.dims = id, dims.add(shapes)
		e.borders, e.blob = borders.add(m.borders.list[e.borders]), blobs.add(m.blobs.list[e.blob])
		s.entries = append(s.entries, e)
		s.samples += e.samples
	}
	s.borders, s.blobs, s.dims = borders.list, blobs.list, dims.list
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
			var d uint64
			rest = getUvarint(rest, &d)
			sizes[i] = satMul(sizes[i], int64(d))
		}
		all[i], dims = dims[:len(dims)-len(rest)], rest
	}
	for _, i := range want {
		some = append(some, all[i]...)
		bytes = satAdd(bytes, sizes[i])
	}
	return some, bytes
}

// appendMapping encodes a mapping:
//
//	per field of the schema: u8 how, u8 dtype; uvarint field unless it is missing or
//	the shape of another
func appendMapping(b []byte, mapping []from) []byte {
	for _, f := range mapping {
		b = append(b, byte(f.how), byte(f.dtype))
		if f.field >= 0 {
			b = binary.AppendUvarint(b, uint64(f.field))
		}
	}
	return b
}
