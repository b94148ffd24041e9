package rntuple

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/shardify/shardify"
)

func (o *out) f64(v float64) { o.b = le.AppendUint64(o.b, math.Float64bits(v)) }

// want is a column as the model says it must be read.
type want struct {
	column shardify.Column
	trail  []trail
	levels int // more than three are refused
	field  int // in top
}

// trail is a way from a field to a leaf.
type trail struct {
	f     *model
	kid   int // of record and variant
	level bool
}

// wanted lists the flats of the model with their values.
func (m *made) wanted() []*want {
	var all []*want
	for i, f := range m.top {
		m.leaves(f, f.name, nil, func(w *want) {
			w.field = i
			all = append(all, w)
		})
	}
	for _, w := range all {
		if w.levels > 3 {
			continue
		}
		for _, row := range m.entries {
			v := zero(m.top[w.field])
			if w.field < len(row) {
				v = row[w.field]
			}
			if w.column.Nullable {
				w.column.Valid = append(w.column.Valid, 1)
			}
			w.emit(v, 0, 0)
		}
	}
	return append(all, m.wantedProjections(all)...)
}

func (m *made) wantedProjections(all []*want) []*want {
	var more []*want
	for _, f := range m.fields {
		if f.kind != projection || f.name == "_0" {
			continue
		}
		for _, w := range all {
			if w.column.Name != f.source.name {
				continue
			}
			c := *w
			c.column.Name = f.name
			if f.role == rolePlain {
				o := c.column.Offsets[0]
				lengths := make([]int64, len(o)-1)
				for i := range lengths {
					lengths[i] = o[i+1] - o[i]
				}
				c.column = shardify.Column{Field: shardify.Field{Name: f.name, DType: shardify.U64}, Data: shardify.Bytes(lengths)}
			}
			more = append(more, &c)
		}
	}
	return more
}

func (m *made) leaves(f *model, name string, t []trail, yield func(*want)) {
	t = slices.Clip(t)
	switch f.kind {
	case record, variant:
		for i, k := range f.kids {
			m.leaves(k, name+"."+k.name, append(t, trail{f: f, kid: i}), yield)
		}
	case vector, option, fixed, wrapped:
		m.leaves(f.kids[0], name, append(t, trail{f: f}), yield)
	default:
		yield(newWant(f, name, append(t, trail{f: f})))
	}
}

// newWant decides which steps are levels.
func newWant(f *model, name string, t []trail) *want {
	w := &want{trail: t, column: shardify.Column{Field: shardify.Field{Name: name, DType: f.dtype}}}
	switch f.kind {
	case text:
		w.column.DType, w.column.Media = shardify.U8, "txt"
	case bitset:
		w.column.DType = shardify.Bool
	}
	end := len(t)
	for end > 0 && slices.Contains([]kind{number, record, wrapped, fixed, bitset}, t[end-1].f.kind) {
		end--
		if k := t[end].f.kind; k == fixed || k == bitset {
			w.column.Shape = slices.Insert(w.column.Shape, 0, t[end].f.n)
		}
	}
	presence := true
	for i := range t[:end] {
		switch t[i].f.kind {
		case vector, text, fixed:
			t[i].level, presence = true, false
		case option, variant:
			t[i].level = !presence
			w.column.Nullable = w.column.Nullable || presence
		}
		if t[i].level {
			w.levels++
		}
	}
	w.column.Levels = w.levels
	for range w.levels {
		w.column.Offsets = append(w.column.Offsets, []int64{0})
	}
	return w
}

func (w *want) emit(v any, i, level int) {
	c := &w.column
	if i == len(w.trail) {
		b := binary.LittleEndian.AppendUint64(nil, v.(uint64))
		c.Data = append(c.Data, b[:c.DType.Size()]...)
		return
	}
	t := w.trail[i]
	next := level
	if t.level {
		next++
	}
	present := true
	switch f := t.f; f.kind {
	case number, wrapped:
		w.emit(v, i+1, next)
	case record:
		w.emit(v.([]any)[t.kid], i+1, next)
	case vector, fixed, bitset:
		for _, x := range v.([]any) {
			w.emit(x, i+1, next)
		}
	case text:
		c.Data = append(c.Data, v.(string)...)
	case option:
		if present = v != nil; present {
			w.emit(v, i+1, next)
		}
	case variant:
		if present = v.(chosen).alt == t.kid+1; present {
			w.emit(v.(chosen).value, i+1, next)
		}
	}
	switch {
	case t.level:
		w.end(level)
	case present:
	case c.Levels > 0:
		c.Valid[len(c.Valid)-1] = 0
		w.end(0)
	default:
		c.Valid[len(c.Valid)-1] = 0
		c.Data = append(c.Data, make([]byte, c.ElemBytes())...)
	}
}

// end closes a list.
func (w *want) end(level int) {
	c := &w.column
	n := int64(len(c.Data) / c.ElemBytes())
	if level+1 < c.Levels {
		n = int64(len(c.Offsets[level+1]) - 1)
	}
	c.Offsets[level] = append(c.Offsets[level], n)
}

func (m *made) open(t testing.TB) *Ntuple {
	n, err := Open(bytes.NewReader(m.data), int64(len(m.data)), m.anchor)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestModels writes invented ntuples of all types and encodings, and compares what
// is read, in any cuts, with the values that were written.
func TestModels(t *testing.T) {
	count := 50
	if long() {
		count = 20_000
	} else if testing.Short() {
		count = 10
	}
	flats, deep, refused := 0, 0, 0
	for seed := range count {
		m := makeFile(uint64(seed), 1+seed%7, seed%53, false)
		n := m.open(t)
		checkCuts(t, "model", n)
		cols, err := readAll(n, every(n), []int64{0, n.Entries}, 1)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkCounters(t, cols)
		got := map[string]*shardify.Column{}
		for i := range cols {
			got[cols[i].Name] = &cols[i]
		}
		for _, w := range m.wanted() {
			if w.levels == 3 && got[w.column.Name] != nil {
				deep++
				main, lists := w.split()
				for _, c := range []*shardify.Column{main, lists} {
					if why := differs(got[c.Name], c); why != "" {
						t.Fatalf("seed %d: %s of three levels: %s", seed, c.Name, why)
					}
					delete(got, c.Name)
				}
				continue
			}
			if w.levels > 2 {
				refused++
				if !slices.ContainsFunc(n.Unreadable, func(u unreadable) bool { return u.Name == w.column.Name }) {
					t.Errorf("seed %d: %s of %d levels is not refused", seed, w.column.Name, w.levels)
				}
				continue
			}
			flats++
			if why := differs(got[w.column.Name], &w.column); why != "" {
				t.Fatalf("seed %d: %s: %s", seed, w.column.Name, why)
			}
			delete(got, w.column.Name)
		}
		for name := range got {
			t.Errorf("seed %d: %s is not in the model", seed, name)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d ntuples: %d flats equal, %d of three levels in two each, %d of more, or of a second level that is no list, refused by name", count, flats, deep, refused)
}

// split makes two columns of one of three levels.
func (w *want) split() (main, lists *shardify.Column) {
	m, o := w.column, w.column.Offsets
	m.Levels, m.Offsets = 2, [][]int64{nil, o[2]}
	for _, n := range o[0] {
		m.Offsets[0] = append(m.Offsets[0], o[1][n])
	}
	lengths := make([]int64, len(o[1])-1)
	for i := range lengths {
		lengths[i] = o[1][i+1] - o[1][i]
	}
	l := shardify.Column{Field: shardify.Field{Name: m.Name + ".lengths", DType: shardify.I64, Levels: 1, Nullable: m.Nullable},
		Data: shardify.Bytes(lengths), Offsets: o[:1], Valid: m.Valid}
	return &m, &l
}

func differs(g, w *shardify.Column) string {
	switch {
	case g == nil:
		return "not read"
	case g.DType != w.DType || g.Levels != w.Levels || !slices.Equal(g.Shape, w.Shape) || g.Nullable != w.Nullable || g.Media != w.Media:
		return "type " + g.DType.String() + " for " + w.DType.String()
	case len(w.Valid) == 0 && len(w.Data) == 0 && len(g.Data) == 0: // no entries: nothing to compare
		return ""
	case !bytes.Equal(g.Data, w.Data):
		return "data"
	case !bytes.Equal(g.Valid, w.Valid):
		return "valid"
	case slices.CompareFunc(g.Offsets, w.Offsets, slices.Compare[[]int64]) != 0:
		return "offsets"
	}
	return ""
}

// checkCounters: one name of a counter is one list.
func checkCounters(t *testing.T, cols []shardify.Column) {
	t.Helper()
	seen := map[string]*shardify.Column{}
	for i := range cols {
		c := &cols[i]
		if c.Levels == 0 {
			continue
		}
		if o := seen[c.CounterName()]; o != nil && !slices.Equal(o.Offsets[0], c.Offsets[0]) {
			t.Errorf("counter %s of %s and %s are two lists", c.CounterName(), o.Name, c.Name)
		}
		seen[c.CounterName()] = c
	}
}
