package rows

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/shardify/shardify"
)

// decode is the inverse of State. It checks all that Spans, Begin and Finish rely
// on, so that a damaged plan cannot make them leave their memory or run on for ever.
func (s *Set) decode(b []byte) error {
	b = bytes.Clone(b) // what stays is part of it
	r := &stateReader{b: b}
	version := r.byte()
	if version != stateVersion && version != partsVersion {
		return s.badState("unknown version")
	}
	var head stateHead
	if err := json.Unmarshal(r.bytes(), &head); err != nil {
		return s.badState(err.Error())
	}
	if head.Format != s.name || head.Key != s.key {
		return s.badState("it was made with other options")
	}
	if err := s.validate(head.Schema); err != nil {
		return s.badState(err.Error())
	}
	s.schema, s.left, s.notes = head.Schema, head.Left, head.Notes
	s.layouts = make([]mapped, 0, r.count(max(2*len(s.schema), 1))) // a field beside those of the files may be the only one
	for range cap(s.layouts) {
		mapping, ok := s.decodeMapping(r)
		if !ok {
			return s.badState("columns that do not fit the schema")
		}
		s.layouts = append(s.layouts, s.measure(mapping))
	}
	s.borders, s.blobs, s.dims = decodeList(r), decodeList(r), decodeList(r)
	if slices.ContainsFunc(s.borders, func(b []byte) bool { return !checkBorders(b) }) {
		return s.badState("bad borders")
	}
	if err := s.decodeEntries(r, version == partsVersion); err != nil {
		return err
	}
	if r.bad || len(r.b) > 0 {
		return s.badState("cut short or too long")
	}
	return nil
}

// validate is shardify.ValidateSchema; a field beside those of the files may be the only one.
func (s *Set) validate(schema []shardify.Field) error {
	if s.beside && len(schema) == 0 {
		return nil
	}
	return shardify.ValidateSchema(schema)
}

func (s *Set) decodeMapping(r *stateReader) ([]from, bool) {
	all := make([]from, len(s.schema))
	for i := range all {
		f, want := &all[i], &s.schema[i]
		*f = from{field: -1, how: how(r.byte()), dtype: shardify.DType(r.byte())}
		if f.how == direct || f.how == fixed {
			n := r.int()
			if n > maxFields {
				return nil, false
			}
			f.field = int32(n)
		}
		if f.dtype.Size() == 0 || !lossless(want.DType, f.dtype) {
			return nil, false
		}
		shape := want.DType == shardify.I64 && f.dtype == shardify.I64 && len(want.Shape) == 1 && want.Levels == 0
		after := i > 0 && all[i-1].how == fixed
		switch {
		case f.how > shapeOf, after != (f.how == shapeOf), f.how == shapeOf && !shape:
			return nil, false
		case f.how == fixed && (!want.Ragged || i+1 == len(all)):
			return nil, false
		case f.how == missing && (!want.Nullable || f.dtype != want.DType):
			return nil, false
		}
	}
	return all, !r.bad
}

func decodeList(r *stateReader) [][]byte {
	list := make([][]byte, r.count(1))
	for i := range list {
		list[i] = r.bytes()
	}
	return list
}

func (s *Set) decodeEntries(r *stateReader, parts bool) error {
	s.entries = make([]entry, r.count(8))
	shapes := s.checkedDims()
	var prev int64 = -1
	var refs [4]reference
	for i := range s.entries {
		e := &s.entries[i]
		input := max(prev, 0) + r.int()
		if r.bad || input < prev || input == prev && !parts || input >= int64(s.table.Len()) {
			return s.badState("files that are not inputs")
		}
		if parts {
			e.part = s.parts.add("", r.int())
		}
		e.input, e.samples, e.size, e.jagged = uint32(input), r.int(), r.int(), r.int()
		if first := s.parts.first(e); first > maxSamples || input == prev && first < s.parts.first(&s.entries[i-1])+s.entries[i-1].samples {
			return s.badState("parts of a file that overlap")
		}
		prev = input
		e.layout = refs[0].read(r, len(s.layouts))
		e.borders = refs[1].read(r, len(s.borders))
		e.blob = refs[2].read(r, len(s.blobs))
		e.dims = refs[3].read(r, len(s.dims))
		if r.bad || e.samples > maxSamples || s.samples > maxSamples {
			return s.badState("cut short")
		}
		if e.samples > 0 && !shapes(e.layout, e.dims) {
			return s.badState("bad shapes")
		}
		s.samples += e.samples
	}
	return nil
}

// checkedDims makes a test whether dimensions are those that a mapping needs.
func (s *Set) checkedDims() func(layout, dims uint32) bool {
	type pair struct{ layout, dims uint32 }
	known := map[pair]bool{}
	return func(layout, dims uint32) bool {
		ok, seen := known[pair{layout, dims}]
		if !seen {
			ok = s.checkDims(s.layouts[layout].mapping, s.dims[dims])
			known[pair{layout, dims}] = ok
		}
		return ok
	}
}

func (s *Set) checkDims(mapping []from, dims []byte) bool {
	r := stateReader{b: dims}
	for i := range mapping {
		if mapping[i].how != fixed {
			continue
		}
		bytes := int64(mapping[i].dtype.Size())
		for range s.schema[i+1].Shape[0] {
			d := r.int()
			if bytes = satMul(bytes, d); r.bad || bytes > maxDecoded || d > maxDecoded {
				return false
			}
		}
	}
	return !r.bad && len(r.b) == 0
}
