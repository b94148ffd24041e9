package view

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
)

// Of is the view of a set that a Spec names, cut to the rows behind the anchor that it wants.
func (s *Spec) Of(windows map[string]index.View) (*index.View, error) {
	v, ok := windows[s.View]
	if !ok {
		there := "none"
		if len(windows) > 0 {
			there = strings.Join(slices.Sorted(maps.Keys(windows)), ", ")
		}
		return nil, shardify.Misuse("no window %s in the set (%s); IN+OUT makes one of its rows, such as time=2+1", s.View, there)
	}
	if n := int64(len(v.Out)); s.Out > n {
		return nil, shardify.Misuse("window %s has %d rows behind the anchor, out=%d", s.View, n, s.Out)
	}
	if s.Out >= 0 {
		v.Out = v.Out[:s.Out]
	}
	return &v, nil
}

// SameOffsets reports whether the rows of two views are at the same distances from the anchor.
func SameOffsets(a, b *index.View) bool {
	return slices.Equal(a.In, b.In) && slices.Equal(a.Out, b.Out)
}

// Samples says how rows are copied into the windows of a view.
type Samples struct {
	Schema []shardify.Field // of windows
	sides  [2][]int64       // distances from the anchor, of x and of x.next
}

// NewSamples lays out the windows of a view, or refuses rows whose fields windows cannot hold.
func NewSamples(rows []shardify.Field, v *index.View) (*Samples, error) {
	s := &Samples{sides: [2][]int64{v.In, v.Out}}
	dim := DefaultName
	if spec, err := Parse(v.Window); err == nil && spec.Axis != "" {
		dim = spec.Axis
	}
	for i := range rows {
		f := rows[i]
		if f.Levels > 0 || f.Nullable || shardify.Companion(rows, i) {
			return nil, shardify.Unsupported("windows of field %s: only fields of one size without missing values become parts of samples; the Loader's window= takes lists, too", f.Name)
		}
		for k, suffix := range []string{"", index.NextSuffix} {
			if n := len(s.sides[k]); n > 0 {
				x := f
				x.Name, x.Shape = f.Name+suffix, append([]int{n}, f.Shape...)
				if dims, ok := f.Attrs[shardify.DimsAttr]; ok {
					x.Attrs = maps.Clone(f.Attrs)
					x.Attrs[shardify.DimsAttr] = strings.TrimSuffix(dim+shardify.LabelSeparator+dims, shardify.LabelSeparator)
				}
				s.Schema = append(s.Schema, x)
			}
		}
	}
	return s, shardify.ValidateSchema(s.Schema)
}

// Bytes of a window.
func (s *Samples) Bytes() (n int64) {
	for i := range s.Schema {
		n += int64(s.Schema[i].ElemBytes())
	}
	return n
}

// Note says what copies cost.
func (s *Samples) Note(windows, rows int64) string {
	each := int64(len(s.sides[0]) + len(s.sides[1]))
	return fmt.Sprintf("%s of %d rows each are copied from %s: %s times the bytes; as a view of mmap shards rows are stored once",
		printable.Of(windows, "window"), each, printable.Of(rows, "row"), printable.Value(float64(windows*each)/float64(max(rows, 1))))
}

// Stretch is rows [Lo, Hi), and what they hold, by field.
type Stretch struct {
	Lo, Hi int64
	Data   [][]byte
}

// sparse is how many times the rows of a window it may reach over before its rows are read one
// by one.
const sparse = 4

// Need finds the rows of the windows of some anchors, in rising order: those that are near each
// other in one stretch.
func (s *Samples) Need(list []Stretch, anchors []int64) []Stretch {
	v := index.View{In: s.sides[0], Out: s.sides[1]}
	before, behind := v.Span()
	if behind-before >= sparse*int64(len(v.In)+len(v.Out)) {
		return s.needAlone(list, anchors)
	}
	for _, a := range anchors {
		if n := len(list); n == 0 || a+before > list[n-1].Hi {
			list = append(list, Stretch{Lo: a + before})
		}
		list[len(list)-1].Hi = a + behind + 1
	}
	return list
}

// needAlone is Need for windows with wide gaps: the rows that they have alone.
func (s *Samples) needAlone(list []Stretch, anchors []int64) []Stretch {
	rows := make([]int64, 0, len(anchors)*(len(s.sides[0])+len(s.sides[1])))
	for _, a := range anchors {
		for _, side := range s.sides {
			for _, o := range side {
				rows = append(rows, a+o)
			}
		}
	}
	slices.Sort(rows)
	for _, row := range slices.Compact(rows) {
		if n := len(list); n == 0 || row != list[n-1].Hi {
			list = append(list, Stretch{Lo: row})
		}
		list[len(list)-1].Hi = row + 1
	}
	return list
}

// Copy makes a batch of the windows of anchors. rows hold what Need names, in rising order.
func (s *Samples) Copy(anchors []int64, rows []Stretch, mem *shardify.Arena) (*shardify.Batch, error) {
	b := mem.Batch(len(s.Schema))
	b.Samples = len(anchors)
	next := 0
	for k := range rows[0].Data {
		for _, side := range s.sides {
			if len(side) == 0 {
				continue
			}
			f := s.Schema[next]
			next++
			size := int64(f.ElemBytes() / len(side))
			c := shardify.Column{Field: f, Data: mem.Alloc(b.Samples * f.ElemBytes())}
			to, at := c.Data, &rows[0]
			for _, a := range anchors {
				for _, o := range side {
					row := a + o
					if row < at.Lo || row >= at.Hi {
						i, ok := slices.BinarySearchFunc(rows, row, func(r Stretch, row int64) int {
							switch {
							case r.Hi <= row:
								return -1
							case r.Lo > row:
								return 1
							}
							return 0
						})
						if !ok {
							return nil, fmt.Errorf("window of row %d: row %d was not read", a, row)
						}
						at = &rows[i]
					}
					copy(to[:size], at.Data[k][(row-at.Lo)*size:])
					to = to[size:]
				}
			}
			b.Columns = append(b.Columns, c)
		}
	}
	return b, nil
}

// Numbered finds the anchors of windows by their numbers.
type Numbered struct {
	*index.View
	before []int64 // windows in front of each run of anchors, and of all
}

// NewNumbered counts the windows of a view.
func NewNumbered(v *index.View) Numbered {
	n := Numbered{v, make([]int64, 1, len(v.Anchors)+1)}
	for i, a := range v.Anchors {
		n.before = append(n.before, n.before[i]+a.Len())
	}
	return n
}

// Below is how many windows have an anchor below a row.
func (n *Numbered) Below(row int64) int64 {
	i, _ := slices.BinarySearchFunc(n.Anchors, row, func(a index.Anchors, row int64) int {
		if a.Hi <= row {
			return -1
		}
		return 1
	})
	if i == len(n.Anchors) || row <= n.Anchors[i].Lo {
		return n.before[i]
	}
	return n.before[i] + (row-n.Anchors[i].Lo-1)/n.Anchors[i].Step + 1
}

// Rows appends the anchors of windows [lo, hi).
func (n *Numbered) Rows(list []int64, lo, hi int64) []int64 {
	i, ok := slices.BinarySearch(n.before, lo)
	if !ok {
		i--
	}
	for ; lo < hi; i++ {
		a := n.Anchors[i]
		for ; lo < min(hi, n.before[i+1]); lo++ {
			list = append(list, a.Lo+(lo-n.before[i])*a.Step)
		}
	}
	return list
}
