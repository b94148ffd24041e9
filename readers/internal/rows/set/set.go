package set

import (
	"fmt"
	"iter"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows"
)

// Of is what is known of a set before any input is looked at.
type Of struct {
	Format   string // in errors: "HDF5"
	Key      string // all that the set depends on beside the inputs
	Table    *format.Table
	Oversize int64          // how many targets a unit between two borders may be long before it is cut inside
	Beside   bool           // the format may add a field to those of the files, even if they have none
	Channels *grid.Channels // fields that are made of those of the files; nil without
}

// Found is what a survey found.
type Found struct {
	Schema  []shardify.Field
	Files   Files
	Left    []format.Leftover                 // fields and inputs
	Skipped []format.Skip                     // inputs and records that are damaged
	Notes   []string                          // what was widened or filled, and how many inputs are empty
	Lines   []string                          // about the first input
	Piece   Piece                             // the largest of all inputs
	Coords  map[string]map[string]*grid.Coord // of dimensions, by field and name
}

// Piece is a part of an input that is decoded whole.
type Piece struct {
	What  string
	Bytes int64
	Input uint32
}

// Set is many files as one table of samples. It is immutable; its methods may be
// called concurrently. A format's source embeds it.
type Set struct {
	of     Of
	found  Found  // the schema is that of what is read
	stacks stacks // the fields of the set, where some are made of others; else nil
}

// New makes a set of what a survey found.
func New(of Of, found Found) (*Set, error) {
	s := &Set{of: of, found: found}
	if err := of.validate(found.Schema); err != nil {
		return nil, fmt.Errorf("%w; --columns selects some", err)
	}
	return s, s.stack()
}

// stack makes the fields that are made of others.
func (s *Set) stack() (err error) {
	if s.of.Channels == nil {
		return nil
	}
	if s.stacks, err = newStacks(s.of.Channels, &s.found); err != nil {
		return err
	}
	for _, m := range s.found.Files.mappings {
		m.fixed = rows.SatAdd(m.fixed, s.stacks.bytes())
	}
	if err := shardify.ValidateSchema(s.Schema()); err != nil {
		return fmt.Errorf("--channels: %w", err)
	}
	return nil
}

// validate is shardify.ValidateSchema; a field beside those of the files may be the only one.
func (of *Of) validate(schema []shardify.Field) error {
	if of.Beside && len(schema) == 0 {
		return nil
	}
	return shardify.ValidateSchema(schema)
}

// Schema implements shardify.Source.
func (s *Set) Schema() []shardify.Field {
	if s.stacks == nil {
		return slices.Clone(s.found.Schema)
	}
	return s.stacks.schema(s.found.Schema)
}

// Leftovers implements format.Reporter: fields and files that are left out.
func (s *Set) Leftovers() []format.Leftover { return slices.Clone(s.found.Left) }

// Skipped implements format.Skipper: inputs that are left out because they are damaged.
func (s *Set) Skipped() []format.Skip { return slices.Clone(s.found.Skipped) }

// Notes implements format.Noter: what was widened or filled, and how many inputs are
// empty.
func (s *Set) Notes() []string { return slices.Clone(s.found.Notes) }

// Describe implements format.Describer: what a survey had to say about the first
// input, then the notes.
func (s *Set) Describe() []string { return append(slices.Clone(s.found.Lines), s.found.Notes...) }

// LargestPiece implements format.Piecer.
func (s *Set) LargestPiece() (what string, bytes int64) {
	p := &s.found.Piece
	if p.Bytes == 0 {
		return "", 0
	}
	return p.What + " in " + s.of.Table.Shown(int(p.Input)), p.Bytes
}

// ReadsRanges implements format.Ranger.
func (s *Set) ReadsRanges() {}

// Samples in all inputs.
func (s *Set) Samples() int64 { return s.found.Files.samples }

// Splits implements format.Splitter: the parts of files that a survey has found. It is
// nil for a set without parts, or restored from a state.
func (s *Set) Splits() []format.SplitRange {
	var out []format.SplitRange
	fs := &s.found.Files
	for i := range fs.List {
		f := &fs.List[i]
		at := fs.place(f)
		if at.name == "" {
			return nil
		}
		out = append(out, format.SplitRange{Input: f.Input, End: at.first + f.Samples, Name: at.name})
	}
	return out
}

// Inputs yields the inputs of the set in order; those left out are not among them,
// those without samples are.
func (s *Set) Inputs() iter.Seq[Input] {
	return func(yield func(Input) bool) {
		for i := range s.found.Files.List {
			if !yield(s.input(&s.found.Files.List[i])) {
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
	// Blob is what the facts of the file had; not to be changed. It may come from a plan, which may
	// be damaged: check it.
	Blob []byte

	set  *Set
	file *File
}

func (s *Set) input(f *File) Input {
	fs := &s.found.Files
	return Input{Index: f.Input, First: fs.first(f), Samples: f.Samples, Size: f.Size, Blob: fs.blobs.list[f.blob], set: s, file: f}
}

func (in *Input) mapping() *Mapping { return in.set.found.Files.mappings[in.file.Layout] }

// Field is the index, in the fields of the facts of the file, of the field that column i of the
// schema is read from; -1 if nothing is read, since Finish makes the column. It may
// come from a plan, which may be damaged: check it against the fields of the file.
func (in *Input) Field(i int) int { return int(in.mapping().columns[i].field) }

// Bytes is about what all samples take in a batch.
func (in *Input) Bytes() int64 { return in.set.found.Files.bytes(in.file, in.Samples) }

// Name of the file in errors.
func (in *Input) Name() string { return in.set.of.Table.Shown(int(in.Index)) }

// Path is where to open the file.
func (in *Input) Path() string { return in.set.of.Table.Path(int(in.Index)) }
