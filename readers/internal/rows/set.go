package rows

import (
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Set is many files as one table of samples. It is immutable; its methods may be
// called concurrently. A format's source embeds it.
type Set struct {
	name     string
	key      string
	table    *format.Table
	oversize int64
	beside   bool // there is a field beside those of the files

	schema  []shardify.Field // of what is read
	outer   []outer          // the fields, where some are made of others; else nil
	layouts []mapped
	entries []entry
	borders [][]byte
	blobs   [][]byte
	dims    [][]byte
	samples int64
	left    []format.Leftover
	skipped []format.Skip // by the survey
	notes   []string
	lines   []string // about the first input
	piece   piece    // the largest of all inputs, after a survey
	parts   parts
	coords  map[string][]dimension // by field, after a survey
}

// piece is a part of an input that is decoded whole.
type piece struct {
	what  string
	bytes int64
	input uint32
}

// mapped is what some files have in common: where their columns come from.
type mapped struct {
	mapping []from
	fixed   int64 // bytes of a sample in a batch, without the values of jagged fields
}

// from says where a column comes from.
type from struct {
	field int32 // index in Facts.Fields; -1: none is read
	dtype shardify.DType
	how   how
}

type how uint8

const (
	direct  how = iota
	missing     // filled
	fixed       // of one shape in this file, Ragged in the schema
	shapeOf     // the shape of the fixed field before it
)

// measure adds the bytes of a sample to a mapping: fixed values, an offset for each
// counter, and what widening needs beside the result.
func (s *Set) measure(mapping []from) mapped {
	m := mapped{mapping: mapping}
	counters := map[string]bool{}
	for i := range s.schema {
		f, from := &s.schema[i], &mapping[i]
		if from.how == missing {
			m.fixed = satAdd(m.fixed, 1)
		}
		switch {
		case f.Levels == 0:
			m.fixed = satAdd(m.fixed, int64(f.ElemBytes()))
			if from.dtype != f.DType {
				m.fixed = satAdd(m.fixed, int64(f.Elem()*from.dtype.Size()))
			}
		case !counters[f.CounterName()]:
			counters[f.CounterName()] = true
			m.fixed = satAdd(m.fixed, 8)
		}
	}
	return m
}

// Schema implements shardify.Source.
func (s *Set) Schema() []shardify.Field {
	if s.outer == nil {
		return slices.Clone(s.schema)
	}
	out := make([]shardify.Field, len(s.outer))
	for i, o := range s.outer {
		if o.stack != nil {
			out[i] = o.stack.field
		} else {
			out[i] = s.schema[o.column]
		}
	}
	return out
}

// Leftovers implements format.Reporter: fields and files that are left out.
func (s *Set) Leftovers() []format.Leftover { return slices.Clone(s.left) }

// Skipped implements format.Skipper: inputs that are left out because they are damaged.
func (s *Set) Skipped() []format.Skip { return slices.Clone(s.skipped) }

// Notes implements format.Noter: what was widened or filled, and how many inputs are
// empty.
func (s *Set) Notes() []string { return slices.Clone(s.notes) }

// Describe implements format.Describer: what a survey had to say about the first
// input, then the notes.
func (s *Set) Describe() []string { return append(slices.Clone(s.lines), s.notes...) }

// LargestPiece implements format.Piecer.
func (s *Set) LargestPiece() (what string, bytes int64) {
	if s.piece.bytes == 0 {
		return "", 0
	}
	return s.piece.what + " in " + s.table.Shown(int(s.piece.input)), s.piece.bytes
}

// Samples in all inputs.
func (s *Set) Samples() int64 { return s.samples }

// Inputs yields the inputs of the set in order; those left out are not among them,
// those without samples are.
func (s *Set) Inputs() iter.Seq[Input] {
	return func(yield func(Input) bool) {
		for i := range s.entries {
			if !yield(s.input(&s.entries[i])) {
				return
			}
		}
	}
}

// Input is one file of a Set.
type Input struct {
	Index   uint32 // in the table of inputs
	First   int64  // its first sample's number in the file: not 0 for a further part of it
	Samples int64
	Size    int64 // bytes of the file
	// Blob is what Facts had; not to be changed. It may come from a plan, which may
	// be damaged: check it.
	Blob []byte

	set   *Set
	entry *entry
}

func (s *Set) input(e *entry) Input {
	return Input{Index: e.input, First: s.parts.first(e), Samples: e.samples, Size: e.size, Blob: s.blobs[e.blob], set: s, entry: e}
}

// Field is the index, in the file's Facts.Fields, of the field that column i of the
// schema is read from; -1 if nothing is read, since Finish makes the column. It may
// come from a plan, which may be damaged: check it against the fields of the file.
func (in *Input) Field(i int) int { return int(in.set.layouts[in.entry.layout].mapping[i].field) }

// Bytes is about what all samples take in a batch.
func (in *Input) Bytes() int64 { return in.set.bytes(in.entry, in.Samples) }

// Name of the file in errors.
func (in *Input) Name() string { return in.set.table.Shown(int(in.Index)) }

// Path is where to open the file.
func (in *Input) Path() string { return in.set.table.Path(int(in.Index)) }

// ReadsRanges implements format.Ranger.
func (s *Set) ReadsRanges() {}

// find returns the entry of the input that contains the span.
func (s *Set) find(sp shardify.Span) (*entry, error) {
	wrong := func(what string, args ...any) error {
		return fmt.Errorf("%s: span [%d, %d) of input %d, run %d: %s", s.name, sp.Lo, sp.Hi, sp.Input, sp.Run, fmt.Sprintf(what, args...))
	}
	k := sort.Search(len(s.entries), func(k int) bool {
		e := &s.entries[k]
		return e.input > sp.Input || e.input == sp.Input && (s.parts.first(e)+e.samples > sp.Lo || k+1 == len(s.entries) || s.entries[k+1].input != e.input)
	})
	switch {
	case k == len(s.entries) || s.entries[k].input != sp.Input:
		return nil, wrong("no such input")
	case sp.Lo < s.parts.first(&s.entries[k]) || sp.Hi <= sp.Lo || sp.Hi > s.parts.first(&s.entries[k])+s.entries[k].samples:
		return nil, wrong("the input has %d samples from %d on", s.entries[k].samples, s.parts.first(&s.entries[k]))
	case sp.Run != 0:
		return nil, wrong("there is no such run")
	}
	return &s.entries[k], nil
}
