package tree

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/pandas"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// scanner walks through the groups of a file.
type scanner struct {
	ctx     context.Context
	tree    *Tree
	opts    *Settings
	want    *columns.Wanted
	samples Samples
	groups  map[int64]bool
	sets    map[int64]string

	listsBy []string          // data sets that may say where lists begin
	awkward map[string]bool   // groups that are awkward arrays
	bounded map[string]string // where bounds of a data set should be: the data set
	tables  map[int64]int64   // bytes of MATLAB's matrices, by their rows
}

const (
	maxGroupDepth = 200
	maxObjects    = 1 << 22
)

// Scan lists the data sets that --object and --columns want.
func Scan(ctx context.Context, f *column.File, opts *Settings, want *columns.Wanted, samples Samples) (*Tree, error) {
	t := &Tree{File: f, Want: want, Frames: map[string]bool{},
		Sparse: map[string]*column.Matrix{}, categories: map[string]string{},
		Lists: map[string]*column.Lists{}, listNotes: map[string]string{}, Dims: dimensions{scales: map[int64]scale{}, others: map[int64]string{}}, Coords: grid.Memo[int64]{}}
	root, err := f.H5.Object(f.H5.Root, "/")
	if err != nil {
		return nil, err
	}
	t.Kind = ConventionOf(f, root)
	s := &scanner{ctx: ctx, tree: t, opts: opts, want: want, samples: samples, groups: map[int64]bool{}, sets: map[int64]string{},
		awkward: map[string]bool{}, bounded: map[string]string{}, tables: map[int64]int64{}}
	f.Rules = RulesOf(f, opts, t.Kind)
	s.groups[root.Addr] = true
	if err := s.group(root, "", 0); err != nil {
		return nil, err
	}
	if err := s.named(); err != nil {
		return nil, err
	}
	slices.SortFunc(t.Objects, func(a, b Object) int { return strings.Compare(a.Path, b.Path) })
	s.parts()
	s.bounds()
	t.Dims.name(s.sets)
	if err := s.turns(); err != nil {
		return nil, err
	}
	if err := s.flat(); err != nil {
		return nil, err
	}
	return t, f.Failed()
}

// leave notes what is no field, unless it is excluded.
func (s *scanner) leave(p string, err error) {
	if !s.tree.File.Fault(p, err) && !s.want.Excluded(naming.Ways(p, "")...) {
		s.tree.unread(p, err)
	}
}

// group visits what is linked in a group; prefix is its path without a final
// slash.
func (s *scanner) group(g *h5.Object, prefix string, depth int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	s.pandas(g, prefix)
	links, err := g.Children()
	if err != nil {
		if prefix == "" && len(links) == 0 {
			return err
		}
		s.leave(naming.Rooted(prefix), err)
	}
	s.tree.attributes(g, prefix)
	if err := s.sparse(g, prefix, links); err != nil {
		return err
	}
	s.categories(g, prefix, links)
	s.offsets(prefix, links)
	for i := range links {
		l := &links[i]
		p := prefix + "/" + l.Name
		if !s.opts.below(p) && !s.opts.object(p) || s.tree.Kind.hides(l.Name) {
			s.tree.Dims.met(l, p)
			continue
		}
		if err := s.link(l, p, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) link(l *h5.Link, p string, depth int) error {
	switch {
	case l.Err != nil:
		s.leave(p, l.Err)
		return nil
	case l.Kind == h5.SoftLink:
		return nil // what it leads to is found under its own name
	case l.Kind == h5.ExternalLink && !s.opts.External:
		s.tree.externalLink(l, p)
		s.leave(p, shardify.Unsupported("an external link to %s; --external follows links to files below the input's folder", l.File))
		return nil
	case l.Kind == h5.ExternalLink:
		s.tree.externalLink(l, p)
		return s.external(p)
	case l.Kind != h5.HardLink:
		s.leave(p, shardify.Unsupported("a user-defined link"))
		return nil
	}
	if s.groups[l.Addr] {
		return nil // another name of a group that was visited
	}
	o, err := s.tree.File.H5.Object(l.Addr, p)
	if err != nil {
		s.leave(p, err)
		return nil
	}
	switch o.Kind {
	case h5.KindGroup:
		s.groups[l.Addr] = true
		if depth >= maxGroupDepth {
			s.leave(p, shardify.Unsupported("groups in groups more than %d deep", maxGroupDepth))
			return nil
		}
		return s.group(o, p, depth+1)
	case h5.KindDataset:
		if s.opts.object(p) {
			return s.dataset(s.tree.File, o, p)
		}
	case h5.KindUnknown:
		s.leave(p, shardify.Corrupt(o.Addr, "neither a group nor a data set"))
	}
	return nil
}

// external adds a data set of another file; groups there are not walked.
func (s *scanner) external(p string) error {
	o, in, err := s.tree.File.Lookup(p)
	switch {
	case err != nil:
		s.leave(p, err)
	case o.Kind == h5.KindDataset && s.opts.object(p):
		return s.dataset(&column.File{File: in, Rules: s.tree.File.Rules}, o, p)
	case o.Kind == h5.KindGroup:
		s.leave(p, shardify.Unsupported("an external link to a group"))
	}
	return nil
}

// named adds the data sets that --object names exactly and that the walk did not
// meet: those behind soft links.
func (s *scanner) named() error {
	for _, p := range s.opts.Objects {
		if strings.ContainsAny(p, `*?[\`) || slices.ContainsFunc(s.tree.Objects, func(o Object) bool { return o.Path == p || strings.HasPrefix(o.Path, p+"/") }) {
			continue
		}
		found, err := s.tree.File.H5.Lookup(p)
		if err != nil || found.External {
			continue
		}
		s.opts.Used.MarkPart("object", p)
		o, err := s.tree.File.H5.Object(found.Addr, p)
		if err == nil && o.Kind == h5.KindGroup && !s.groups[o.Addr] {
			s.groups[o.Addr] = true
			err = s.group(o, p, 1)
		} else if err == nil && o.Kind == h5.KindDataset {
			err = s.dataset(s.tree.File, o, p)
		}
		if err != nil {
			return err
		}
	}
	return s.columns()
}

// columns adds the data sets that --columns names and that the walk met under another
// name or not at all: those behind soft links, and in groups that have two names.
func (s *scanner) columns() error {
	met := map[string]bool{}
	for i := range s.tree.Objects {
		o := &s.tree.Objects[i]
		for _, l := range o.Wanted {
			for _, name := range s.names(o.Path, l.Leaf.Name) {
				met[name] = true
			}
		}
	}
	for _, name := range s.want.Names() {
		if met[name] {
			continue
		}
		for p := "/" + strings.Trim(name, "/"); p != "/"; p = path.Dir(p) { // or a field of a compound type
			found, err := s.tree.File.H5.Lookup(p)
			if err != nil {
				continue
			}
			if found.External || s.sets[found.Addr] == p || !s.opts.object(p) {
				break
			}
			o, err := s.tree.File.H5.Object(found.Addr, p)
			if err == nil && o.Kind == h5.KindDataset {
				err = s.dataset(s.tree.File, o, p)
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// dataset adds a data set, or says why it is left out.
func (s *scanner) dataset(f *column.File, o *h5.Object, p string) error {
	if first, ok := s.sets[o.Addr]; ok && f == s.tree.File {
		s.tree.Omit(p, "another name of "+first)
		return nil
	}
	if f == s.tree.File {
		s.sets[o.Addr] = p
	}
	if len(s.tree.Objects) >= maxObjects {
		return shardify.Unsupported("more than %d data sets", maxObjects)
	}
	obj, err := s.examine(f, o, p)
	if err != nil {
		if errors.Is(err, errUnwanted) {
			if s.sets[o.Addr] == p {
				delete(s.sets, o.Addr) // another of its names may be wanted
				s.tree.Dims.met(&h5.Link{Kind: h5.HardLink, Addr: o.Addr}, p)
			}
			return nil
		}
		switch hit, _ := s.want.Match(s.names(p, "")...); {
		case s.tree.File.Fault(p, err), !hit:
		case errors.Is(err, shardify.ErrUnsupported):
			s.tree.unread(p, err)
		default:
			s.tree.Omit(p, format.Reason(err))
		}
		return nil
	}
	if len(obj.Wanted) > 0 {
		s.tree.Objects = append(s.tree.Objects, *obj)
	}
	return nil
}

var errUnwanted = errors.New("not wanted")

// names adds the field's own name, which in a group that is a sample is shorter.
func (s *scanner) names(p, leaf string) []string {
	list := naming.Ways(p, leaf)
	if column, ok := strings.CutSuffix(p, "/codes"); ok && s.tree.categories[p] != "" {
		if list = append(list, naming.Ways(column, leaf)...); s.tree.onlyColumn(column) {
			list = append(list, path.Base(column))
		}
	}
	if s.opts.Splits {
		if split, rest := sampleaxis.SplitOf(p); split != "" {
			list = append(list, naming.Ways(rest, leaf)...)
		}
	}
	if s.samples.Mode != ByGroup {
		return list
	}
	rest, ok := strings.CutPrefix(p, s.samples.Parent+"/")
	if _, member := naming.Cut(rest, s.samples.Stem); ok && member != "" {
		list = append(list, naming.Join(member, leaf))
		if leaf != "" {
			list = append(list, member)
		}
	}
	return list
}

// item reports whether a data set is a sample.
func (s *scanner) item(o *Object, leaves []element.Leaf) bool {
	kind, ok := s.samples.Types[naming.Group(o.Path)]
	if !ok {
		return false
	}
	all := *o
	all.Wanted = append(all.Wanted, sound(leaves)...)
	return all.ItemType() == kind
}

// examine parses the messages of a data set and finds the wanted leaves.
func (s *scanner) examine(f *column.File, o *h5.Object, p string) (*Object, error) {
	d, err := o.Dataset()
	if err != nil {
		return nil, err
	}
	attrs := s.tree.attributes(o, p)
	var axes []Axis
	if f == s.tree.File {
		axes = s.tree.Dims.look(f.H5, o, attrs, len(d.Space.Dims))
	}
	if why := s.tree.Kind.LeavesOut(f.H5, attrs); why != "" {
		return nil, shardify.Mismatch("%s", why)
	}
	if s.tree.Kind.Pytables && isCategories(p) {
		return nil, shardify.Mismatch("categories of pandas' frame, kept with their column as enum")
	}
	isScale := element.Attributes(attrs).Text(f.H5, "CLASS") == scaleClass
	s.tree.Dims.users = append(s.tree.Dims.users, user{axes, d.Type.Class == datatype.String && !isScale})
	a, err := array.New(f.File, p, d)
	if err != nil {
		return nil, err
	}
	if err := a.Usable(); err != nil {
		return nil, err
	}
	obj := &Object{Path: p, Addr: o.Addr, Dims: a.Dims, Elem: a.Elem, Bytes: a.Rows * a.RowBytes, Unit: a.Unit(), ChunkRows: chunkRows(a), Scale: isScale}
	if len(axes) == len(a.Dims) {
		obj.Axes = axes
	}
	for i := range a.Dims {
		obj.Unlimited = append(obj.Unlimited, i < len(d.Space.MaxDims) && d.Space.MaxDims[i] == datatype.Unlimited)
	}
	if a.Set.Layout.Class == dataset.Chunked && len(a.Set.Filters) > 0 {
		obj.Chunk = a.Set.Layout.ChunkBytes
	}
	leaves := f.Rules.Leaves(d.Type)
	if _, ok := s.tree.Frames[naming.Group(p)]; ok && f == s.tree.File {
		if err := pandas.Missing(f.H5, p, o.Addr, f.Rules, leaves); err != nil {
			return nil, err
		}
	}
	obj.chars = f.Rules.CF && d.Type.Class == datatype.String && d.Type.Size == 1 && (len(a.Dims) > 1 || len(s.opts.Objects) == 0)
	s.matlabArray(obj, element.Attributes(attrs).Text(f.H5, "MATLAB_class"), d.Type)
	if f.Rules.CF {
		if err := element.DecodeCF(f.H5, leaves, attrs, nil); err != nil {
			return nil, err
		}
		s.boundedBy(attrs, p)
	}
	obj.Void = d.Type.Class == datatype.Opaque && len(a.Dims) == 0 && len(leaves) == 1 && leaves[0].Attrs["void"] != ""
	item := s.item(obj, leaves)
	skip := s.blocks(f, o, p, leaves)
	leaves = s.fixed(f, o, a, obj, leaves)
	return obj, s.pick(obj, leaves, skip, item)
}

// pick finds the wanted leaves of a data set.
func (s *scanner) pick(obj *Object, leaves []element.Leaf, skip map[int]bool, item bool) (refused error) {
	p, hits := obj.Path, 0
	for i := range leaves {
		if skip[i] {
			continue
		}
		ways := s.names(p, leaves[i].Name)
		if obj.Wide {
			ways = append(ways, s.names(naming.Group(p), leaves[i].Name)...)
		}
		if item {
			ways = append(ways, naming.Ways(ItemName(naming.Group(p)), leaves[i].Name)...)
		}
		hit, exact := s.want.Match(ways...)
		if !hit {
			continue
		}
		hits++
		if err := leaves[i].Err; err != nil {
			if refused = err; len(leaves) > 1 {
				s.leave(naming.Join(p, leaves[i].Name), err)
			}
			continue
		}
		obj.Wanted = append(obj.Wanted, Wanted{i, leaves[i], exact})
	}
	switch {
	case hits == 0 && item:
		obj.Hidden, obj.Wanted = true, sound(leaves)
	case hits == 0:
		return errUnwanted
	case len(leaves) == 1:
		return refused
	}
	return nil
}

// sound are the leaves that can be read.
func sound(leaves []element.Leaf) (out []Wanted) {
	for i := range leaves {
		if leaves[i].Err == nil {
			out = append(out, Wanted{i, leaves[i], false})
		}
	}
	return out
}
