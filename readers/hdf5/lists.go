package hdf5

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// Lists may stand flat, one behind the other, beside a data set that says where each begins:
//
//	offsets [N+1]      hits/x [M]: those of sample i are [offsets[i], offsets[i+1])
//	x_offsets [N+1]    x [M], or x/* and x_*
//	__I3Index__/X [N]  X [M]: start and stop of IceCube's frames
//
// Samples are the N lists then, which are jagged fields with one counter. Such a data set
// begins with 0 and ends with M, or it is none.
type flatLists struct {
	path         string // of the offsets, or of the index
	counter      string
	rows, stored int64
	from         *dataset
	start, stop  int // leaves of an index; -1 of offsets
	plain        bool
}

// offsetWords are the names of offsets, alone or behind that of their lists.
var offsetWords = []string{"offsets", "offset", "row_splits", "indptr", "ptr"}

// indexGroup is where IceCube's tables have their indexes.
const indexGroup = "__I3Index__"

// offsetsOf tells whether a data set is named as offsets, and of which lists: "" are all
// that stand with it.
func offsetsOf(name string) (of string, ok bool) {
	lower := strings.ToLower(name)
	for _, w := range offsetWords {
		switch {
		case lower == w:
			return "", true
		case strings.HasSuffix(lower, "_"+w):
			return name[:len(name)-len(w)-1], true
		}
	}
	return "", false
}

// offsets notes what may say where lists begin.
func (s *scanner) offsets(prefix string, links []h5.Link) {
	if !s.opts.lists || s.tree.sparse[prefix] != nil {
		return
	}
	index := path.Base(cmpPath(prefix)) == indexGroup
	for i := range links {
		l := &links[i]
		if _, ok := offsetsOf(l.Name); (ok || index) && l.Kind == h5.HardLink && l.Err == nil {
			s.tree.offsets = append(s.tree.offsets, prefix+"/"+l.Name)
		}
	}
}

// flat finds the lists of a tree.
func (s *scanner) flat() error {
	t := s.tree
	slices.Sort(t.offsets)
	t.lists, t.listNotes = map[string]*flatLists{}, map[string]string{}
	for _, p := range t.offsets {
		var err error
		if path.Base(groupOf(p)) == indexGroup {
			err = s.indexed(p)
		} else {
			err = s.offset(p)
		}
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil && t.listErr == nil {
			t.listErr = shardify.Annotate(err, "", "", p)
		}
	}
	return nil
}

// offset finds the lists of offsets p.
func (s *scanner) offset(p string) error {
	t := s.tree
	a, err := t.file.array(p)
	if err != nil || len(a.Dims) != 1 || a.Rows < 1 || a.Usable() != nil || !a.whole(s.rules) {
		return nil // no offsets, whatever the name says
	}
	var ends [2]int64
	for i, row := range []int64{0, a.Rows - 1} {
		if err := a.integers(s.ctx, &work{}, s.rules, ends[i:i+1], row); err != nil {
			return err
		}
	}
	if ends[0] != 0 || ends[1] < 0 {
		return nil
	}
	l := &flatLists{path: p, counter: strings.TrimPrefix(p, "/"), rows: a.Rows - 1, stored: ends[1], from: a, start: -1}
	of, _ := offsetsOf(path.Base(p))
	var in, other []*object
	rows := false
	for i := range t.objects {
		o := &t.objects[i]
		switch scope := inScope(groupOf(p), of, o.path); {
		case o.path == p || len(o.dims) == 0 || o.wide:
		case scope && o.dims[0] == l.stored:
			in = append(in, o)
		case scope && o.dims[0] != l.rows && o.dims[0] != a.Rows:
			other = append(other, o)
		default:
			rows = rows || o.dims[0] == l.rows
		}
	}
	switch {
	case len(other) > 0 && (len(in) == 0 && rows || of != ""):
		return shardify.Corrupt(-1, "offsets of %d lists that end at %d, but %s has %d rows; --lists off reads them as they are", l.rows, l.stored, other[0].path, other[0].dims[0])
	case len(in) == 0:
		return nil
	case l.stored == l.rows && of == "":
		return shardify.Mismatch("offsets of %d lists with %d values in all: it is not certain whether %s has a row or a list for each sample; --lists off reads rows", l.rows, l.stored, in[0].path)
	}
	return t.haveLists(l, in)
}

// inScope tells whether a data set may hold the lists of offsets in a group.
func inScope(group, of, p string) bool {
	rest, ok := strings.CutPrefix(p, group+"/")
	if !ok || of == "" {
		return ok
	}
	rest, ok = strings.CutPrefix(rest, of)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '_')
}

// haveLists gives data sets their lists.
func (t *tree) haveLists(l *flatLists, in []*object) error {
	for _, o := range in {
		if had := t.lists[o.path]; had != nil && len(had.path) < len(l.path) {
			continue // x_offsets are of x before offsets are
		}
		t.lists[o.path] = l
	}
	t.listNotes[l.path] = "where the lists of " + in[0].path + " begin, kept with them"
	return nil
}

// indexed finds the table that an index of IceCube is about.
func (s *scanner) indexed(p string) error {
	t := s.tree
	table := path.Dir(groupOf(p)) + "/" + path.Base(p)
	table = path.Clean(table)
	k := slices.IndexFunc(t.objects, func(o object) bool { return o.path == table })
	a, err := t.file.array(p)
	if err != nil || len(a.Dims) != 1 || a.Set.Type.Class != h5.Compound || a.Usable() != nil {
		return nil
	}
	l := &flatLists{path: p, counter: strings.TrimPrefix(table, "/"), rows: a.Rows, from: a, start: a.leafNamed(s.rules, "start"), stop: a.leafNamed(s.rules, "stop")}
	if l.start < 0 || l.stop < 0 {
		return nil
	}
	t.listNotes[p] = "where the rows of " + table + " begin, kept with them"
	if k < 0 || len(t.objects[k].dims) != 1 {
		return nil
	}
	o := &t.objects[k]
	if l.stored = o.dims[0]; l.stored == l.rows {
		if l.plain, err = l.oneEach(s.ctx, s.rules); l.plain || err != nil {
			return err
		}
	}
	return t.haveLists(l, []*object{o})
}

// whole tells a data set of single integers.
func (a *dataset) whole(rules typeRules) bool {
	leaves, err := a.leavesBy(rules, nil)
	return err == nil && len(leaves) == 1 && leaves[0].err == nil && leaves[0].kind == numbers && leaves[0].at.Values() == 1 && leaves[0].num.Whole()
}

// leafNamed finds an integer of a compound type, -1 if there is none.
func (a *dataset) leafNamed(rules typeRules, name string) int {
	leaves, err := a.leavesBy(rules, nil)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(leaves, func(l leaf) bool {
		return l.name == name && l.err == nil && l.kind == numbers && l.at.Values() == 1 && l.num.Whole()
	})
}

// oneEach tells whether each sample has one row, so that there are no lists.
func (l *flatLists) oneEach(ctx context.Context, rules typeRules) (bool, error) {
	const block = 1 << 16
	var w work
	for lo := int64(0); lo < l.rows; lo += block {
		ends := make([]int64, min(block, l.rows-lo)+1)
		if err := l.read(ctx, &w, rules, ends, lo); err != nil {
			return false, err
		}
		for i, e := range ends {
			if e != lo+int64(i) {
				return false, nil
			}
		}
	}
	return true, nil
}

// read reads where lists [lo, lo+len(dst)-1) begin, and where the last one ends.
func (l *flatLists) read(ctx context.Context, w *work, rules typeRules, dst []int64, lo int64) error {
	if l.start < 0 {
		return l.from.integers(ctx, w, rules, dst, lo)
	}
	n := len(dst) - 1
	if n == 0 {
		return nil
	}
	stops := make([]int64, n)
	if err := l.from.integersOf(ctx, w, rules, l.start, dst[:n], lo); err != nil {
		return err
	}
	if err := l.from.integersOf(ctx, w, rules, l.stop, stops, lo); err != nil {
		return err
	}
	for i := range n - 1 {
		if stops[i] != dst[i+1] {
			return &array.RowError{Row: lo + int64(i), Err: shardify.Corrupt(-1, "%s: rows up to %d, the next ones from %d on", l.path, stops[i], dst[i+1])}
		}
	}
	dst[n] = stops[n-1]
	return nil
}

// describe says which data sets are lists.
func (t *tree) listWhy() string {
	by := map[string][]string{}
	var order []string
	for i := range t.objects {
		if l := t.objects[i].lists; l != nil {
			if by[l.path] == nil {
				order = append(order, l.path)
			}
			by[l.path] = append(by[l.path], t.objects[i].path)
		}
	}
	text := ""
	for _, p := range order {
		names := by[p]
		what := strings.Join(names[:min(len(names), 4)], ", ")
		if len(names) > 4 {
			what += fmt.Sprintf(" and %d more", len(names)-4)
		}
		text += fmt.Sprintf("; %s: lists by %s", what, p)
	}
	return text
}

// listField makes a field of flat values one of lists.
func (o *object) listField(f *shardify.Field) error {
	if f.Levels != 0 {
		return shardify.Unsupported("texts, or lists, in lists by %s", o.lists.path)
	}
	f.Levels, f.Counter = 1, o.lists.counter
	return nil
}

// listsOf finds the lists of a data set again, once for all readers of the file.
func (i *input) listsOf(p string) (*flatLists, error) {
	i.mu.Lock()
	l := i.flat[p]
	i.mu.Unlock()
	if l != nil {
		return l, nil
	}
	a, err := i.array(p)
	if err != nil {
		return nil, err
	}
	if len(a.Dims) != 1 {
		return nil, errChanged("no offsets")
	}
	l = &flatLists{path: p, rows: a.Rows, from: a}
	if a.Set.Type.Class == h5.Compound {
		l.start, l.stop = a.leafNamed(i.rules, "start"), a.leafNamed(i.rules, "stop")
	} else {
		l.start, l.rows = -1, a.Rows-1
	}
	if l.rows != i.samples || a.Set.Type.Class == h5.Compound && (l.start < 0 || l.stop < 0) {
		return nil, errChanged("%d lists, had %d", l.rows, i.samples)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.flat == nil {
		i.flat = map[string]*flatLists{}
	}
	i.flat[p] = l
	return l, nil
}

// listEnds are the offsets of the span's lists, which its columns share.
func (j *spanRead) listEnds(ctx context.Context, l *flatLists, stored int64) (*rowEnds, error) {
	if e := j.flat[l.path]; e != nil && e.stored == stored {
		return e, nil
	}
	if err := l.from.Backed(j.span.Samples() + 1); err != nil {
		return nil, err
	}
	e := &rowEnds{stored: stored, offsets: j.mem.Int64s(int(j.span.Samples()) + 1)}
	if err := l.read(ctx, &j.work, j.in.rules, e.offsets, j.span.Lo); err != nil {
		return nil, err
	}
	err := e.relative(j.span.Lo, l.rows, stored, func(_, from, to int64) error {
		return shardify.Corrupt(-1, "%s: a list from %d to %d of %d values", l.path, from, to, stored)
	})
	if err != nil {
		return nil, err
	}
	if j.flat == nil {
		j.flat = map[string]*rowEnds{}
	}
	j.flat[l.path] = e
	return e, nil
}

// list reads columns of flat values.
func (j *spanRead) list(ctx context.Context, o *blobObject, cols []colPlace) error {
	l, err := j.in.listsOf(o.Lists)
	if err != nil {
		return err
	}
	a, err := j.in.array(o.Path)
	if err != nil {
		return err
	}
	e, err := j.listEnds(ctx, l, a.Rows)
	if err != nil {
		return err
	}
	s, err := e.values(a)
	if err != nil {
		return err
	}
	leaves, err := a.leavesBy(j.in.rules, o)
	if err != nil {
		return err
	}
	for _, c := range cols {
		if c.leaf < 0 || c.leaf >= len(leaves) || leaves[c.leaf].err != nil || leaves[c.leaf].kind != numbers {
			return errChanged("another type")
		}
		col := &j.batch.Columns[c.column]
		f, err := leaves[c.leaf].field("x", a.Inner())
		if err != nil || f.DType != col.DType || col.Levels != 1 || !slices.Equal(f.Shape, col.Shape) {
			return errChanged("%s %v", f.DType, f.Shape)
		}
		j.jagged(&s, c.column, &leaves[c.leaf], e)
	}
	if s.hi == s.lo {
		return nil
	}
	return s.read(ctx, &j.work, j.data)
}

// foldLists gives an object of a folded tree its lists.
func (t *tree) foldLists(o *object) {
	if note := t.listNotes[o.path]; note != "" {
		o.note = note
		return
	}
	if l := t.lists[o.path]; l != nil {
		o.lists, o.dims = l, append([]int64{l.rows}, o.dims[1:]...)
		o.unlimited, o.unit, o.axes = make([]bool, len(o.dims)), 1, nil
	}
}
