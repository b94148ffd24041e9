package chunks

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// Field is the name of the field that has the number of the chunk in its input.
const Field = "chunk"

// Rows is a source of rows, which a set.Set makes of inputs.
type Rows interface {
	shardify.Source
	format.Ranger
	Inputs() iter.Seq[set.Input]
}

// Size describes the chunks of an input's rows. A plan keeps it.
type Size struct {
	Rows int64  `json:"rows"`           // of a chunk
	From int64  `json:"from,omitempty"` // the place of the first row that is taken
	Dim  string `json:"dim,omitempty"`  // name of the dimension of rows
	Of   string `json:"of"`             // the array that has these chunks
}

// Array is stored in chunks of so many rows.
type Array struct {
	Name     string
	RowBytes int64
	Rows     int64
}

// Of finds the chunks of the array with the most bytes in a row; of several, the longest. taken is
// what is taken of the dimension of rows, dim its name. notes names arrays of other chunks.
func Of(arrays []Array, taken grid.Pick, dim string) (size *Size, notes []string, err error) {
	var best *Array
	for i := range arrays {
		if a := &arrays[i]; best == nil || a.RowBytes > best.RowBytes || a.RowBytes == best.RowBytes && a.Rows > best.Rows {
			best = a
		}
	}
	if best == nil {
		return nil, nil, shardify.Hint(shardify.Mismatch("--sample chunk: no array is stored in chunks of rows"), "--window N,stride=N makes samples of N rows each")
	}
	size = &Size{Rows: best.Rows, Dim: dim, Of: best.Name}
	if len(taken) > 1 || len(taken) == 1 && taken[0].Step > 1 && taken[0].N > 1 {
		return nil, nil, shardify.Misuse("--sample chunk: --sel takes samples that do not follow each other")
	}
	if len(taken) == 1 {
		size.From = taken[0].At
	}
	for i := range arrays {
		if a := &arrays[i]; a.Rows != best.Rows && a.RowBytes > coordinate {
			notes = append(notes, fmt.Sprintf("%s is stored in chunks of %d rows, those of %s make the samples", a.Name, a.Rows, best.Name))
		}
	}
	return size, notes, nil
}

// coordinate is the most bytes that a coordinate has for a row: its chunks are not reported.
const coordinate = 16

// Source implements shardify.Source.
type Source struct {
	format.Around
	number bool // the field of numbers is wanted
	inner  []shardify.Field
	schema []shardify.Field
	inputs []input
	length int64 // rows of every sample, 0 if they differ
}

// input is the rows of an input that are in chunks.
type input struct {
	Size
	index uint32
	n     int64 // rows
	bytes int64
}

// skipped is how many rows of the first chunk are not taken.
func (in *input) skipped() int64 { return in.From % in.Rows }

// chunks is how many there are.
func (in *input) chunks() int64 { return (in.skipped() + in.n + in.Rows - 1) / in.Rows }

// at is the first row of a chunk, or the end of all.
func (in *input) at(chunk int64) int64 {
	return min(max(chunk*in.Rows-in.skipped(), 0), in.n)
}

// Wanted reports whether the field Field is among some columns.
func Wanted(patterns []string) (bool, error) {
	w, err := columns.New(patterns)
	if err != nil {
		return false, err
	}
	hit, _ := w.Match(Field)
	return hit, nil
}

// New makes samples of the chunks of rows, which it takes over, with their numbers if they are
// wanted: the rows are then of a survey.Format with Field beside its fields. size returns the size of
// an input's chunks.
func New(of Rows, number bool, size func(in *set.Input) (*Size, error)) (shardify.Source, error) {
	s, err := newSource(of, number, size)
	if err != nil {
		of.Close()
		return nil, err
	}
	return s, nil
}

func newSource(of Rows, number bool, size func(in *set.Input) (*Size, error)) (*Source, error) {
	s := &Source{Around: format.Around{Rows: of}, number: number, inner: of.Schema()}
	for in := range of.Inputs() {
		if in.Samples == 0 {
			continue
		}
		z, err := size(&in)
		if err == nil && (z == nil || z.Rows < 1 || z.Rows > 1<<60 || z.From < 0 || z.From > math.MaxInt64-in.Samples-z.Rows || in.First > 0) {
			err = shardify.Corrupt(-1, "the plan has no chunks of an input")
		}
		if err != nil {
			return nil, shardify.Annotate(err, "open", in.Name(), "")
		}
		s.inputs = append(s.inputs, input{Size: *z, index: in.Index, n: in.Samples, bytes: in.Bytes()})
	}
	s.measure()
	for i := range s.inner {
		f, err := s.field(&s.inner[i])
		if err != nil {
			return nil, err
		}
		s.schema = append(s.schema, f)
	}
	if number {
		s.schema = append(s.schema, shardify.Field{Name: Field, DType: shardify.I64})
	}
	if err := shardify.ValidateSchema(s.schema); err != nil {
		return nil, fmt.Errorf("--sample chunk adds field %s; --columns '!%s' leaves it out: %w", Field, Field, err)
	}
	s.note()
	return s, nil
}

// measure finds out whether all samples have as many rows.
func (s *Source) measure() {
	for i := range s.inputs {
		in := &s.inputs[i]
		n := in.chunks()
		for _, k := range []int64{0, 1, n - 1} {
			if k < 0 || k >= n {
				continue
			}
			length := in.at(k+1) - in.at(k)
			if s.length == 0 {
				s.length = length
			}
			if length != s.length {
				s.length = 0
				return
			}
		}
	}
}

// note says what the samples are.
func (s *Source) note() {
	if len(s.inputs) == 0 {
		return
	}
	in, n := &s.inputs[0], int64(0)
	for i := range s.inputs {
		n += s.inputs[i].chunks()
	}
	text := fmt.Sprintf("--sample chunk: the rows of each chunk of %s are a sample: %d chunks of %d rows", in.Of, n, in.Rows)
	if s.length == 0 {
		text += ", fewer where an input ends or --sel cuts one: fields are lists of rows"
	}
	s.Says = append(s.Says, text)
}

// field is what a field of rows becomes.
func (s *Source) field(f *shardify.Field) (shardify.Field, error) {
	out := *f
	dims := f.Dims()
	switch {
	case f.Ragged || shardify.Companion(s.inner, shardify.FieldIndex(s.inner, f.Name)):
		return out, shardify.Mismatch("--sample chunk: the rows of %s differ in shape; --columns '!%s' leaves it out", f.Name, f.Name)
	case f.Levels > 1:
		return out, shardify.Unsupported("--sample chunk: %s has lists of lists in a row; --columns '!%s' leaves it out", f.Name, f.Name)
	case f.Levels == 1:
		out.Levels = 2
	case s.length == 0:
		out.Levels, out.Counter = 1, Field
	default:
		out.Shape = append([]int{int(s.length)}, f.Shape...)
		if dims != nil || len(f.Shape) == 0 {
			out.Attrs = maps.Clone(f.Attrs)
			if delete(out.Attrs, shardify.DimsAttr); len(out.Attrs) == 0 {
				out.Attrs = nil
			}
			out.NameDims(append([]string{s.inputs[0].Dim}, dims...))
		}
	}
	return out, out.Validate()
}

// Schema implements shardify.Source.
func (s *Source) Schema() []shardify.Field { return slices.Clone(s.schema) }

// State implements format.Stater: the rows know their chunks.
func (s *Source) State() ([]byte, error) { return s.InnerState() }

// ReadsRanges implements format.Ranger.
func (s *Source) ReadsRanges() {}

// Close implements shardify.Source.
func (s *Source) Close() error { return s.Rows.Close() }

// Describe implements format.Describer.
func (s *Source) Describe() []string {
	d, ok := s.Rows.(format.Describer)
	if !ok {
		return s.Notes()
	}
	return append(d.Describe(), s.Says...)
}

// size is about what samples [lo, hi) take.
func (in *input) size(lo, hi int64) int64 {
	return (in.bytes+in.n-1)/in.n*(in.at(hi)-in.at(lo)) + 8*(hi-lo)
}

// Spans implements shardify.Source: as many chunks as come near to target.
func (s *Source) Spans(ctx context.Context, target int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		for i := range s.inputs {
			in := &s.inputs[i]
			n := in.chunks()
			step := max(target/max(in.size(0, n)/n, 1), 1)
			for lo := int64(0); lo < n; lo += step {
				if err := context.Cause(ctx); err != nil {
					yield(shardify.Span{}, err)
					return
				}
				hi := min(lo+step, n)
				if !yield(shardify.Span{Input: in.index, Lo: lo, Hi: hi, Bytes: in.size(lo, hi)}, nil) {
					return
				}
			}
		}
	}
}

// input is the one of a span.
func (s *Source) input(sp shardify.Span) (*input, error) {
	i := sort.Search(len(s.inputs), func(i int) bool { return s.inputs[i].index >= sp.Input })
	if i == len(s.inputs) || s.inputs[i].index != sp.Input || sp.Run != 0 || sp.Lo < 0 || sp.Hi <= sp.Lo || sp.Hi > s.inputs[i].chunks() {
		return nil, fmt.Errorf("chunks: no span [%d, %d) of input %d, run %d", sp.Lo, sp.Hi, sp.Input, sp.Run)
	}
	return &s.inputs[i], nil
}
