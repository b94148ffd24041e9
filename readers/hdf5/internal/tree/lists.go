package tree

import (
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
	if s.tree.Sparse[prefix] != nil || !s.opts.lists {
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
			s.listsBy = append(s.listsBy, prefix+"/"+l.Name)
		}
	}
}

// flat finds the lists of a tree.
func (s *scanner) flat() error {
	t := s.tree
	for i := range s.opts.ruled {
		if err := s.ruled(&s.opts.ruled[i]); err != nil {
			if s.ctx.Err() != nil {
				return s.ctx.Err()
			}
			if t.ListErr == nil {
				t.ListErr = err
			}
		}
	}
	slices.Sort(s.listsBy)
	for _, p := range s.listsBy {
		find := s.numbers
		if path.Base(naming.Group(p)) == indexGroup {
			find = s.indexed
		}
		err := find(p)
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
		if err != nil && t.ListErr == nil {
			t.ListErr = shardify.Annotate(err, "", "", p)
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
	for q, inner := range t.Lists {
		if inner.Path == of && inner.Rows == l.Stored {
			note := "where lists of lists of " + q + " begin, which are not read"
			l.Of, t.Lists[q], t.listNotes[p], t.listNotes[of] = of, l, note, note
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
	var in, other []*Object
	plain := false
	for i := range t.Objects {
		o := &t.Objects[i]
		switch scope := dims.InScope(strings.TrimPrefix(naming.Group(p), "/"), of, strings.TrimPrefix(o.Path, "/")); {
		case o.Path == p || len(o.Dims) == 0 || o.Wide:
		case scope && o.Dims[0] == l.Stored:
			in = append(in, o)
		case scope && o.Dims[0] != l.Rows && o.Dims[0] != a.Rows:
			other = append(other, o)
		default:
			plain = plain || o.Dims[0] == l.Rows
		}
	}
	switch {
	case len(other) > 0 && (len(in) == 0 && plain || of != ""):
		return format.Cure(shardify.Corrupt(-1, "offsets of %d lists that end at %d, but %s has %d rows; --lists off reads them as they are", l.Rows, l.Stored, other[0].Path, other[0].Dims[0]), sampleaxis.WholeFiles)
	case len(in) == 0:
		return nil
	case l.Stored == l.Rows && of == "":
		return format.Cure(shardify.Mismatch("offsets of %d lists with %d values in all: it is not certain whether %s has a row or a list for each sample; --lists off reads rows", l.Rows, l.Stored, in[0].Path), sampleaxis.AsRows(p, in[0].Path))
	}
	return t.haveLists(l, in)
}

// ends finds the lists of the one data set that ends where the last list does.
func (s *scanner) ends(l *column.Lists, of string) error {
	t, p := s.tree, l.Path
	k := slices.IndexFunc(t.Objects, func(o Object) bool { return o.Path == of })
	if k < 0 || len(t.Objects[k].Dims) == 0 || t.Objects[k].Wide {
		return nil
	}
	said := false // by an attribute
	if found, err := t.File.H5.Lookup(p); err == nil && !found.External {
		o, err := t.File.H5.Object(found.Addr, p)
		said = err == nil && element.TextOf(t.File.H5, o, "neurodata_type") == "VectorIndex"
	}
	o := &t.Objects[k]
	if l.Stored != o.Dims[0] {
		if said {
			return format.Cure(shardify.Corrupt(-1, "ends of %d lists of which the last one is %d, but %s has %d rows; --lists off reads them as they are", l.Rows, l.Stored, o.Path, o.Dims[0]), sampleaxis.WholeFiles)
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
	return t.haveLists(l, []*Object{o})
}

// haveLists gives data sets their lists.
func (t *Tree) haveLists(l *column.Lists, in []*Object) error {
	for _, o := range in {
		if had := t.Lists[o.Path]; had != nil && len(had.Path) < len(l.Path) {
			continue // x_offsets are of x before offsets are
		}
		t.Lists[o.Path] = l
	}
	t.listNotes[l.Path] = "where the lists of " + in[0].Path + " begin, kept with them"
	return nil
}

// indexed finds the table that an index of IceCube is about.
func (s *scanner) indexed(p string) error {
	t := s.tree
	table := path.Clean(path.Dir(naming.Group(p)) + "/" + path.Base(p))
	k := slices.IndexFunc(t.Objects, func(o Object) bool { return o.Path == table })
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
	if k < 0 || len(t.Objects[k].Dims) != 1 {
		return nil
	}
	o := &t.Objects[k]
	if l.Stored = o.Dims[0]; l.Stored == l.Rows {
		if plain, err := l.OneEach(s.ctx); plain || err != nil {
			return err
		}
	}
	return t.haveLists(l, []*Object{o})
}
