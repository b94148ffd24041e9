package load

import (
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// View is windows over the rows of tables: which rows, and which tensors of a batch they become.
type View struct {
	Layout *index.Layout // of what is delivered
	Sides  []Side
	// Lo and Hi are the least and the greatest distance of a row from its anchor, Distances all
	// of them in rising order.
	Lo, Hi    int64
	Distances []int64
	// Slack is by how many rows more a window may be moved behind its anchor.
	Slack int64
}

// Side is one of the two parts of a window. Its rows are runs of Each rows, which begin at Starts
// from the anchor.
type Side struct {
	Starts []int64
	Each   int64
	rows   *index.Layout
	place  []int  // by tensor of rows: that of the batch, or -1
	absent []bool // by tensor of rows: the batch does not have it
}

// Rows is the rows of a window.
func (s *Side) Rows() int64 { return int64(len(s.Starts)) * s.Each }

// Find appends where the windows of anchors have their rows, one window after the other.
func (s *Side) Find(rows, anchors []int64) []int64 {
	for _, a := range anchors {
		for _, o := range s.Starts {
			rows = append(rows, a+o)
		}
	}
	return rows
}

// NewView is the windows of a view over rows of a layout. Fields whose delivered names are wanted
// become [rows, ...]; next makes the name of the second side.
func NewView(rows *index.Layout, v *index.View, next func(name string) string, wanted func(name string) bool) (*View, error) {
	name := [2]func(string) string{func(name string) string { return name }, next}
	w := &View{Distances: slices.Clone(v.In)}
	w.Lo, w.Hi = v.Span()
	w.Distances = append(w.Distances, v.Out...)
	slices.Sort(w.Distances)
	w.Distances = slices.Compact(w.Distances)
	var schema []shardify.Field
	sides := [][]int64{v.In, v.Out}
	for i := range rows.Schema {
		for k := range sides {
			f := rows.Schema[i]
			if f.Name = name[k](f.Name); len(sides[k]) == 0 || !wanted(f.Name) {
				continue
			}
			if err := windowed(&f, len(sides[k])); err != nil {
				return nil, shardify.Annotate(err, "", "", "window of field "+rows.Schema[i].Name)
			}
			schema = append(schema, f)
		}
	}
	if len(schema) == 0 {
		return nil, shardify.Mismatch("window: no field is selected")
	}
	var err error
	if w.Layout, err = index.NewLayout(schema, false); err != nil {
		return nil, err
	}
	for k := range sides {
		if len(sides[k]) > 0 {
			w.Sides = append(w.Sides, w.side(rows, sides[k], name[k]))
		}
	}
	return w, nil
}

// windowed makes a field one of a window of n rows.
func windowed(f *shardify.Field, n int) error {
	switch {
	case f.Ragged || strings.HasSuffix(f.Name, shardify.ShapeSuffix):
		return shardify.Unsupported("arrays whose shape varies")
	case f.Media == "image":
		return shardify.Unsupported("images of several types")
	case f.Nullable && f.Levels > 0:
		return shardify.Unsupported("lists that may be missing")
	case f.Levels > 1:
		return shardify.Unsupported("lists in lists")
	case f.Levels == 1:
		f.Levels, f.Counter = 2, "" // x and x.next have lists of their own
	default:
		f.Shape = append([]int{n}, f.Shape...)
	}
	return nil
}

// side finds the runs of a window's rows and the places of its tensors.
func (w *View) side(rows *index.Layout, at []int64, name func(string) string) Side {
	s := Side{Each: 1, Starts: at, rows: rows, place: make([]int, len(rows.Tensors)), absent: make([]bool, len(rows.Tensors))}
	if starts, each := runsOf(at); each > 1 {
		s.Starts, s.Each = starts, each
	}
	for i := range s.place {
		s.place[i], s.absent[i] = -1, rows.Tensors[i].Lead != index.LeadOffsets
	}
	tie := func(row, batch int) {
		if row >= 0 && batch >= 0 {
			s.place[row], s.absent[row] = batch, false
		}
	}
	for i := range rows.Schema {
		k := shardify.FieldIndex(w.Layout.Schema, name(rows.Schema[i].Name))
		if k < 0 {
			continue
		}
		from, to := &rows.Columns[i], &w.Layout.Columns[k]
		tie(from.Values, to.Values)
		if tie(from.Valid, to.Valid); to.Valid >= 0 {
			t := &w.Layout.Tensors[to.Valid]
			t.Inner, t.Row = []int{len(at)}, int64(len(at))
		}
	}
	return s
}

// runsOf splits rows into runs of equal length of consecutive rows; each is 1 if there are no
// such runs.
func runsOf(at []int64) (starts []int64, each int64) {
	each = 1
	for each < int64(len(at)) && at[each] == at[each-1]+1 {
		each++
	}
	if int64(len(at))%each != 0 {
		return nil, 1
	}
	for k, o := range at {
		if r := int64(k) % each; r == 0 {
			starts = append(starts, o)
		} else if o != starts[len(starts)-1]+r {
			return nil, 1
		}
	}
	return starts, each
}

// Table is the rows of a side's windows: the same memory as the batch's.
func (s *Side) Table(batch *Table, casts []*Caster) *Table {
	t := NewTable(s.rows, batch.mem, batch.Used)
	t.Casts, t.Absent = casts, s.absent
	return t
}

// Gather makes a batch of windows, rows of them with padding. t is Table of it; from says where
// the rows of the windows are, which follow each other.
func (s *Side) Gather(c *Crew, t, batch *Table, windows int64, from []Segment) error {
	s.lend(t, batch)
	err := LayOutBatch(t, windows*s.Rows(), from)
	if err == nil {
		err = CopyBatch(c, t, from, s.absent, batch.Size())
	}
	if s.take(t, batch); err != nil {
		return err
	}
	return s.lists(t, batch)
}

// longRow is from how many bytes of a row, a tensor, the windows of a batch are read where they
// are to be: shorter rows take less time when those of a window are read at once, and copied.
const longRow = 16 << 10

// Straight reports whether Read can read windows of these rows, and is the better choice.
func (s *Side) Straight(casts []*Caster) bool {
	size, n := int64(0), int64(0)
	for i := range s.rows.Tensors {
		if s.rows.Tensors[i].Lead != index.LeadSamples || casts != nil && casts[i] != nil {
			return false
		}
		if s.place[i] >= 0 {
			size, n = size+s.rows.Tensors[i].Row, n+1
		}
	}
	return size >= n*longRow
}

// Read is Gather for windows whose rows are in shards; runs say where.
func (s *Side) Read(ctx context.Context, l *Reader, t, batch *Table, windows int64, runs []Run) error {
	s.lend(t, batch)
	err := l.Load(ctx, t, windows*s.Rows(), runs)
	if err == nil {
		n := int64(0)
		for i := range runs {
			n += runs[i].Hi - runs[i].Lo
		}
		t.Zero(n)
	}
	s.take(t, batch)
	return err
}

// lend gives a side's table the memory of the batch, take gives it back: lists may have got other
// memory.
func (s *Side) lend(t, batch *Table) {
	for i, k := range s.place {
		if k >= 0 {
			t.Data[i] = batch.Data[k]
		}
	}
}

func (s *Side) take(t, batch *Table) {
	for i, k := range s.place {
		if k < 0 {
			continue
		}
		if batch.Data[k], t.Data[i] = t.Data[i], nil; t.Layout.Tensors[i].Lead == index.LeadElements {
			batch.Counts[k] = t.Counts[i]
		}
	}
}

// lists makes the lists of rows lists of windows.
func (s *Side) lists(t, batch *Table) error {
	for i := range t.Layout.Tensors {
		if t.Layout.Tensors[i].Lead != index.LeadElements || s.place[i] < 0 {
			continue
		}
		to := batch.Layout.ColumnOf(s.place[i])
		rows := t.Int64s(t.Layout.ColumnOf(i).Offsets)
		if err := batch.setCount(to.Offsets1, int64(len(rows))); err != nil {
			return err
		}
		copy(batch.Int64s(to.Offsets1), rows)
		for j, o := 0, batch.Int64s(to.Offsets); j < len(o); j++ {
			o[j] = int64(j) * s.Rows()
		}
	}
	return nil
}
