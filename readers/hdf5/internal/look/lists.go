package look

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/internal/dims"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// indexGroup is where IceCube's tables have their indexes.
const indexGroup = "__I3Index__"

// offsets notes what may say where lists begin.
func (s *scanner) offsets(prefix string, links []h5.Link) {
	if s.tree.sparse[prefix] != nil || !s.opts.lists {
		return
	}
	index := path.Base(naming.Rooted(prefix)) == indexGroup
	for i := range links {
		l := &links[i]
		_, ok := dims.OffsetsOf(l.Name)
		if of, ends := column.EndsOf(l.Name); ends {
			ok = hasLink(links, of)
		}
		if (ok || index) && l.Kind == h5.HardLink && l.Err == nil {
			s.tree.offsets = append(s.tree.offsets, prefix+"/"+l.Name)
		}
	}
}

// flat finds the lists of a tree.
func (s *scanner) flat() error {
	t := s.tree
	slices.Sort(t.offsets)
	for _, p := range t.offsets {
		find := s.numbers
		if path.Base(naming.Group(p)) == indexGroup {
			find = s.indexed
		}
		err := find(p)
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil && t.listErr == nil {
			t.listErr = shardify.Annotate(err, "", "", p)
		}
	}
	return nil
}

// numbers finds the lists that whole numbers describe. Lists of an index are lists of lists.
func (s *scanner) numbers(p string) error {
	t := s.tree
	a, err := t.File.Dataset(p)
	if err != nil || len(a.Dims) != 1 || a.Rows < 1 || a.Usable() != nil || !a.WholeNumbers() {
		return nil // no offsets, whatever the name says
	}
	var ends [2]int64
	for i, row := range []int64{0, a.Rows - 1} {
		if err := a.Integers(s.ctx, &column.Work{}, ends[i:i+1], row); err != nil {
			return err
		}
	}
	l := column.NewLists(p, a)
	l.Counter, l.Stored = strings.TrimPrefix(p, "/"), ends[1]
	of, last := column.EndsOf(p)
	name, _ := dims.OffsetsOf(path.Base(p))
	if !last {
		of = naming.Group(p) + "/" + name
	}
	for q, inner := range t.lists {
		if inner.Path == of && inner.Rows == l.Stored {
			note := "where lists of lists of " + q + " begin, which are not read"
			l.Of, t.lists[q], t.listNotes[p], t.listNotes[of] = of, l, note, note
		}
	}
	if l.Of != "" || !last && (ends[0] != 0 || ends[1] < 0) {
		return nil
	} else if last {
		return s.ends(l, of)
	}
	return s.offset(l, name)
}

// offset finds the lists of offsets, by what those are named.
func (s *scanner) offset(l *column.Lists, of string) error {
	t, p, a := s.tree, l.Path, l.From
	var in, other []*object
	plain := false
	for i := range t.objects {
		o := &t.objects[i]
		switch scope := dims.InScope(strings.TrimPrefix(naming.Group(p), "/"), of, strings.TrimPrefix(o.path, "/")); {
		case o.path == p || len(o.dims) == 0 || o.wide:
		case scope && o.dims[0] == l.Stored:
			in = append(in, o)
		case scope && o.dims[0] != l.Rows && o.dims[0] != a.Rows:
			other = append(other, o)
		default:
			plain = plain || o.dims[0] == l.Rows
		}
	}
	switch {
	case len(other) > 0 && (len(in) == 0 && plain || of != ""):
		return format.Cure(shardify.Corrupt(-1, "offsets of %d lists that end at %d, but %s has %d rows; --lists off reads them as they are", l.Rows, l.Stored, other[0].path, other[0].dims[0]), sampleaxis.WholeFiles)
	case len(in) == 0:
		return nil
	case l.Stored == l.Rows && of == "":
		return format.Cure(shardify.Mismatch("offsets of %d lists with %d values in all: it is not certain whether %s has a row or a list for each sample; --lists off reads rows", l.Rows, l.Stored, in[0].path), sampleaxis.AsRows(p, in[0].path))
	}
	return t.haveLists(l, in)
}

// ends finds the lists of the one data set that ends where the last list does.
func (s *scanner) ends(l *column.Lists, of string) error {
	t, p := s.tree, l.Path
	k := slices.IndexFunc(t.objects, func(o object) bool { return o.path == of })
	if k < 0 || len(t.objects[k].dims) == 0 || t.objects[k].wide {
		return nil
	}
	said := false // by an attribute
	if found, err := t.File.H5.Lookup(p); err == nil && !found.External {
		o, err := t.File.H5.Object(found.Addr, p)
		said = err == nil && element.TextOf(t.File.H5, o, "neurodata_type") == "VectorIndex"
	}
	o := &t.objects[k]
	if l.Stored != o.dims[0] {
		if said {
			return format.Cure(shardify.Corrupt(-1, "ends of %d lists of which the last one is %d, but %s has %d rows; --lists off reads them as they are", l.Rows, l.Stored, o.path, o.dims[0]), sampleaxis.WholeFiles)
		}
		return nil // numbers of another meaning
	}
	if !said {
		if rising, err := l.Rising(s.ctx); !rising || err != nil {
			return err
		}
		if plain, err := l.OneEach(s.ctx); plain || err != nil {
			return err
		}
	}
	return t.haveLists(l, []*object{o})
}

// haveLists gives data sets their lists.
func (t *Tree) haveLists(l *column.Lists, in []*object) error {
	for _, o := range in {
		if had := t.lists[o.path]; had != nil && len(had.Path) < len(l.Path) {
			continue // x_offsets are of x before offsets are
		}
		t.lists[o.path] = l
	}
	t.listNotes[l.Path] = "where the lists of " + in[0].path + " begin, kept with them"
	return nil
}

// indexed finds the table that an index of IceCube is about.
func (s *scanner) indexed(p string) error {
	t := s.tree
	table := path.Clean(path.Dir(naming.Group(p)) + "/" + path.Base(p))
	k := slices.IndexFunc(t.objects, func(o object) bool { return o.path == table })
	a, err := t.File.Dataset(p)
	if err != nil || a.Set.Type.Class != datatype.Compound || a.Usable() != nil {
		return nil
	}
	l := column.NewLists(p, a)
	if l == nil {
		return nil
	}
	l.Counter = strings.TrimPrefix(table, "/")
	t.listNotes[p] = "where the rows of " + table + " begin, kept with them"
	if k < 0 || len(t.objects[k].dims) != 1 {
		return nil
	}
	o := &t.objects[k]
	if l.Stored = o.dims[0]; l.Stored == l.Rows {
		if plain, err := l.OneEach(s.ctx); plain || err != nil {
			return err
		}
	}
	return t.haveLists(l, []*object{o})
}

// listWhy says which data sets are lists.
func (t *Tree) listWhy() string {
	by := map[string][]string{}
	var order []string
	for i := range t.objects {
		if l := t.objects[i].lists; l != nil && l.Of == "" {
			if by[l.Path] == nil {
				order = append(order, l.Path)
			}
			by[l.Path] = append(by[l.Path], t.objects[i].path)
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
	if o.lists.Of != "" {
		return shardify.Unsupported("lists of lists, by %s and %s; --lists off --sample file reads the arrays as they are", o.lists.Of, o.lists.Path)
	}
	if f.Levels != 0 {
		return shardify.Unsupported("texts, or lists, in lists by %s", o.lists.Path)
	}
	f.Levels, f.Counter = 1, o.lists.Counter
	return nil
}

// foldLists gives an object of a folded tree its lists.
func (t *Tree) foldLists(o *object) {
	if note := t.listNotes[o.path]; note != "" {
		o.note = note
		return
	}
	if l := t.lists[o.path]; l != nil {
		o.lists, o.dims = l, append([]int64{l.Rows}, o.dims[1:]...)
		o.unlimited, o.unit, o.chunkRows, o.axes = make([]bool, len(o.dims)), 1, 0, nil
	}
}
