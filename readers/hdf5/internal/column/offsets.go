package column

import (
	"context"
	"path"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/internal/lists"
)

// Lists are values that are stored flat, one list behind the other, beside a data set that
// says where each list begins:
//
//	offsets [N+1]      hits/x [M]: those of sample i are [offsets[i], offsets[i+1])
//	x_offsets [N+1]    x [M], or x/* and x_*
//	__I3Index__/X [N]  X [M]: start and stop of IceCube's frames
//	indptr [N+1]       data [M], indices [M]: the rows of a sparse matrix
//	x_index [N]        x [M]: where each list ends, as NWB has it
//
// The samples are the N lists then: jagged fields with one counter. Offsets begin with 0
// and end with M; ends have no 0 at the beginning. Other data sets are not offsets.
type Lists struct {
	Path, Of     string // of the offsets, or of the index; Of is the index that these are lists of
	Counter      string
	Rows, Stored int64 // lists, and values in all
	From         *Dataset
	start, stop  int // leaves of an index; -1 of offsets
	matrix       bool
	ends         bool         // From has the ends alone
	By           *lists.Index // what a rule of --lists says; nil of others
	file         *File
}

// endWords end the names of data sets that say where the lists of another one end.
var endWords = []string{"_index", "_ends"}

// EndsOf is the name of the data set whose lists end where one of this name says.
func EndsOf(name string) (of string, ok bool) {
	for _, w := range endWords {
		if n := len(name) - len(w); n > 0 && strings.EqualFold(name[n:], w) {
			return name[:n], true
		}
	}
	return "", false
}

// NewLists are the lists that a data set of offsets, or an index, describes; nil if it is
// neither.
func NewLists(p string, a *Dataset) *Lists {
	l := &Lists{Path: p, Rows: a.Rows - 1, From: a, start: -1}
	if len(a.Dims) != 1 {
		return nil
	}
	if _, l.ends = EndsOf(path.Base(p)); l.ends && a.Set.Type.Class != datatype.Compound {
		l.Rows = a.Rows
		return l
	}
	if a.Set.Type.Class == datatype.Compound {
		l.Rows, l.start, l.stop = a.Rows, a.integerNamed("start"), a.integerNamed("stop")
		if l.start < 0 || l.stop < 0 {
			return nil
		}
	}
	return l
}

// OneEach reports whether each sample has one row, so that there are no lists.
func (l *Lists) OneEach(ctx context.Context) (bool, error) {
	return l.all(ctx, func(_, end, list int64) bool { return end == list+1 })
}

// Rising reports whether no list ends before it begins.
func (l *Lists) Rising(ctx context.Context) (bool, error) {
	return l.all(ctx, func(begin, end, _ int64) bool { return begin <= end })
}

func (l *Lists) all(ctx context.Context, is func(begin, end, list int64) bool) (bool, error) {
	const block = 1 << 16
	var w Work
	ends := make([]int64, min(block, l.Rows)+1)
	for lo := int64(0); lo < l.Rows; lo += block {
		ends = ends[:min(block, l.Rows-lo)+1]
		if err := l.read(ctx, &w, ends, lo); err != nil {
			return false, err
		}
		if lo == 0 && ends[0] != 0 {
			return false, nil
		}
		for i := range ends[1:] {
			if !is(ends[i], ends[i+1], lo+int64(i)) {
				return false, nil
			}
		}
	}
	return true, nil
}

// read reads where lists [lo, lo+len(dst)-1) begin, and where the last one ends.
func (l *Lists) read(ctx context.Context, w *Work, dst []int64, lo int64) error {
	switch {
	case l.By != nil:
		return l.By.At(ctx, l.file.numbers(w), dst, lo)
	case l.ends && lo > 0:
		return l.From.Integers(ctx, w, dst, lo-1)
	case l.ends:
		dst[0] = 0
		return l.From.Integers(ctx, w, dst[1:], 0)
	case l.start < 0:
		return l.From.Integers(ctx, w, dst, lo)
	}
	n := len(dst) - 1
	if n == 0 {
		return nil
	}
	stops := make([]int64, n)
	if err := l.From.integersOf(ctx, w, l.start, dst[:n], lo); err != nil {
		return err
	}
	if err := l.From.integersOf(ctx, w, l.stop, stops, lo); err != nil {
		return err
	}
	for i := range n - 1 {
		if stops[i] != dst[i+1] {
			return &array.RowError{Row: lo + int64(i), Err: shardify.Corrupt(-1, "%s: rows up to %d, the next ones from %d on", l.Path, stops[i], dst[i+1])}
		}
	}
	dst[n] = stops[n-1]
	return nil
}

// RowEnds are the offsets of a range of lists, which all their columns share, and where
// the first of them begins.
type RowEnds struct {
	Stored  int64 // values of all lists
	first   int64
	Offsets []int64
}

// Ends reads and checks the offsets of lists [lo, hi) of data sets with `stored` values,
// and makes them begin with 0.
func (l *Lists) Ends(ctx context.Context, w *Work, mem *shardify.Arena, lo, hi, stored int64) (*RowEnds, error) {
	n := hi - lo + 1
	if l.By != nil && l.By.Stored != stored {
		return nil, shardify.Mismatch("changed since the plan, or damaged: %d values, had %d", stored, l.By.Stored)
	}
	if err := l.From.Backed(min(n, l.From.Rows)); err != nil {
		return nil, err
	}
	e := &RowEnds{Stored: stored, Offsets: mem.Int64s(int(n))}
	if err := l.read(ctx, w, e.Offsets, lo); err != nil {
		return nil, err
	}
	e.first = e.Offsets[0]
	last := e.first
	for i, end := range e.Offsets {
		if end < last || end > stored || end < 0 || lo == 0 && e.first != 0 || lo+int64(i) == l.Rows && end != stored {
			row := max(lo+int64(i)-1, 0)
			err := shardify.Corrupt(-1, "%s: a list from %d to %d of %d values", l.Path, last, end, stored)
			if l.matrix {
				err = shardify.Corrupt(-1, "a sparse matrix of %d values whose row %d goes from %d to %d", stored, row, last, end)
			}
			return nil, &array.RowError{Row: row, Err: err}
		}
		last = end
	}
	for i := range e.Offsets {
		e.Offsets[i] -= e.first
	}
	return e, nil
}

// Values is the stretch of a data set that the lists take, without its parts.
func (e *RowEnds) Values(a *Dataset) (Stretch, error) {
	n := e.Offsets[len(e.Offsets)-1]
	return Stretch{A: a, Lo: e.first, Hi: e.first + n, Per: 1}, a.Backed(n)
}
