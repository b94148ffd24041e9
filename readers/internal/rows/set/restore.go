package set

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// Restore is the inverse of State. It checks all that Spans, Begin and Finish rely
// on, so that a damaged plan cannot make them leave their memory or run on for ever.
func Restore(of Of, state []byte) (*Set, error) {
	s := &Set{of: of}
	r := &stateReader{b: bytes.Clone(state)} // what stays is part of it
	if err := of.restore(r, &s.found); err != nil {
		err = shardify.Corrupt(-1, "state of %s inputs: %s", of.Format, err)
		return nil, shardify.Annotate(err, "open", "", "survey of the plan")
	}
	return s, s.stack()
}

func (of *Of) restore(r *stateReader, found *Found) error {
	version := r.byte()
	if version != stateVersion && version != partsVersion {
		return errors.New("unknown version")
	}
	var head stateHead
	if err := json.Unmarshal(r.bytes(), &head); err != nil {
		return err
	}
	if head.Format != of.Format || head.Key != of.Key {
		return errors.New("it was made with other options")
	}
	if err := of.validate(head.Schema); err != nil {
		return err
	}
	found.Schema, found.Left, found.Notes = head.Schema, head.Left, head.Notes
	d := decoder{stateReader: r, schema: head.Schema, Files: &found.Files}
	if err := d.decode(int64(of.Table.Len()), version == partsVersion); err != nil {
		return err
	}
	if r.bad || len(r.b) > 0 {
		return errors.New("cut short or too long")
	}
	return nil
}

// decoder reads the files of a state.
type decoder struct {
	*stateReader
	*Files
	schema []shardify.Field
}

func (d *decoder) decode(inputs int64, parts bool) error {
	n := d.count(max(2*len(d.schema), 1)) // a field beside those of the files may be the only one
	d.mappings = make([]*Mapping, n)
	for i := range d.mappings {
		columns, ok := d.columns()
		if !ok {
			return errors.New("columns that do not fit the schema")
		}
		d.mappings[i] = measure(d.schema, columns)
	}
	d.borders.list, d.blobs.list, d.shapes.list = d.lists(), d.lists(), d.lists()
	if slices.ContainsFunc(d.borders.list, func(b []byte) bool { return !checkBorders(b) }) {
		return errors.New("bad borders")
	}
	return d.files(inputs, parts)
}

// columns reads a mapping.
func (d *decoder) columns() ([]column, bool) {
	all := make([]column, len(d.schema))
	for i := range all {
		c := column{field: -1, how: how(d.byte()), dtype: shardify.DType(d.byte())}
		if c.how == direct || c.how == fixed {
			n := d.int()
			if n > rows.MaxFields {
				return nil, false
			}
			c.field = int32(n)
		}
		if all[i] = c; !fits(d.schema, all[:i+1]) {
			return nil, false
		}
	}
	return all, !d.bad
}

// fits reports whether the last of some columns can become the field of its place.
func fits(schema []shardify.Field, columns []column) bool {
	i := len(columns) - 1
	c, want := &columns[i], &schema[i]
	if c.dtype.Size() == 0 || !coltype.Becomes(want.DType, c.dtype) {
		return false
	}
	shape := want.DType == shardify.I64 && c.dtype == shardify.I64 && len(want.Shape) == 1 && want.Levels == 0
	after := i > 0 && columns[i-1].how == fixed
	switch {
	case c.how > shapeOf, after != (c.how == shapeOf), c.how == shapeOf && !shape:
		return false
	case c.how == fixed && (!want.Ragged || i+1 == len(schema)):
		return false
	case c.how == missing && (!want.Nullable || c.dtype != want.DType):
		return false
	}
	return true
}

func (d *decoder) lists() [][]byte {
	list := make([][]byte, d.count(1))
	for i := range list {
		list[i] = d.stateReader.bytes()
	}
	return list
}

func (d *decoder) files(inputs int64, parts bool) error {
	d.List = make([]File, d.count(8))
	shapes := d.checkedShapes()
	var prev int64 = -1
	var refs [4]reference
	for i := range d.List {
		f := &d.List[i]
		input := max(prev, 0) + d.int()
		if d.bad || input < prev || input == prev && !parts || input >= inputs {
			return errors.New("files that are not inputs")
		}
		if parts {
			f.part = d.parts.add("", d.int())
		}
		f.Input, f.Samples, f.Size, f.Jagged = uint32(input), d.int(), d.int(), d.int()
		if first := d.first(f); first > rows.MaxSamples || input == prev && first < d.first(&d.List[i-1])+d.List[i-1].Samples {
			return errors.New("parts of a file that overlap")
		}
		prev = input
		f.Layout = refs[0].read(d.stateReader, len(d.mappings))
		f.borders = refs[1].read(d.stateReader, len(d.borders.list))
		f.blob = refs[2].read(d.stateReader, len(d.blobs.list))
		f.shape = refs[3].read(d.stateReader, len(d.shapes.list))
		if d.bad || f.Samples > rows.MaxSamples || d.samples > rows.MaxSamples {
			return errors.New("cut short")
		}
		if f.Samples > 0 && !shapes(f.Layout, f.shape) {
			return errors.New("bad shapes")
		}
		d.samples += f.Samples
	}
	return nil
}

// checkedShapes makes a test whether shapes are those that a mapping needs.
func (d *decoder) checkedShapes() func(layout, shape uint32) bool {
	type pair struct{ layout, shape uint32 }
	known := map[pair]bool{}
	return func(layout, shape uint32) bool {
		ok, seen := known[pair{layout, shape}]
		if !seen {
			ok = checkShapes(d.schema, d.mappings[layout].columns, d.shapes.list[shape])
			known[pair{layout, shape}] = ok
		}
		return ok
	}
}

func checkShapes(schema []shardify.Field, columns []column, shapes []byte) bool {
	r := stateReader{b: shapes}
	for i := range columns {
		if columns[i].how != fixed {
			continue
		}
		bytes := int64(columns[i].dtype.Size())
		for range schema[i+1].Shape[0] {
			n := r.int()
			if bytes = rows.SatMul(bytes, n); r.bad || bytes > rows.MaxDecoded || n > rows.MaxDecoded {
				return false
			}
		}
	}
	return !r.bad && len(r.b) == 0
}
