package hdf5

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/anndata"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// cells is a file as AnnData sees it.
type cells struct {
	*column.File
	damage *error // of attributes; nil: it does not matter
}

// errCells is the error of code that looks for samples in an input which is an AnnData.
var errCells = errors.New("an AnnData")

// isCells reports whether a file is an AnnData. Some settings leave that out: they read data sets as
// those of any file.
func (s *chooser) isCells(f *column.File) bool {
	o := s.opts
	if o.Sample != "auto" && o.Sample != string(tree.ByAxis) || o.Chunked || o.Splits || o.Sel != nil || o.Channels != nil {
		return false
	}
	_, ok := anndata.Root(cells{File: &column.File{File: f.File, Rules: o.Plain(f)}}, o.Objects)
	return ok
}

// openCells opens files of AnnData.
func openCells(ctx context.Context, a format.OpenArgs, opts *tree.Settings, o format.Options) (shardify.Source, error) {
	c := &anndata.Container{Name: "HDF5", Key: opts.Key(), Objects: opts.Objects, Media: opts.Plain(nil).Media, Filled: true}
	c.Open = func(_ context.Context, name string, at storage.File) (anndata.Tree, error) {
		f, err := column.Open(storages.Of(a.Table), at, name, opts.External)
		if err != nil {
			return nil, err
		}
		f.Rules = opts.Plain(f)
		return cells{f, new(error)}, nil
	}
	return anndata.Open(ctx, a, c, o)
}

// Size implements anndata.Tree.
func (c cells) Size() int64 { return c.File.File.Size }

// Members implements anndata.Tree.
func (c cells) Members(group string) (names []string, ok bool) {
	o, _, err := c.Lookup(naming.Rooted(group))
	if err != nil {
		return nil, false
	}
	if o.Kind == h5.KindDataset {
		a, leaves := c.compound(group)
		if a == nil {
			return nil, false
		}
		for i := range leaves {
			names = append(names, leaves[i].Name)
		}
		slices.Sort(names)
		return names, true
	}
	links, err := o.Children()
	for i := range links {
		names = append(names, links[i].Name)
	}
	return names, err == nil
}

// compound is a data set of compound type.
func (c cells) compound(p string) (*column.Dataset, []element.Leaf) {
	a, err := c.Dataset(naming.Rooted(p))
	if err != nil {
		return nil, nil
	}
	leaves, err := a.Leaves(nil)
	if err != nil || len(leaves) == 0 || leaves[0].Name == "" {
		return nil, nil
	}
	return a, leaves
}

// Attr implements anndata.Tree.
func (c cells) Attr(p, name string) (any, bool) {
	o, f, err := c.Lookup(naming.Rooted(p))
	if err != nil {
		return nil, false
	}
	a, ok, err := o.Attribute(name)
	if err = cmp.Or(err, a.Err); ok && err == nil && a.Type != nil {
		list, ok := element.AttributeTexts(f.H5, &a, c.Rules)
		if ok {
			return list, true
		}
		err = shardify.Corrupt(-1, "a text that is not there")
	}
	if c.damage != nil && *c.damage == nil && errors.Is(err, shardify.ErrCorrupt) { // what it says of the file is not known
		*c.damage = shardify.Annotate(err, "", "", "/"+p+" attribute "+name)
	}
	return nil, false
}

// Damage implements anndata.Tree.
func (c cells) Damage() error { return *c.damage }

// leaf finds a data set, or the member of a compound one; nil without one.
func (c cells) leaf(p string) (*column.Dataset, *element.Leaf, error) {
	o, _, err := c.Lookup(naming.Rooted(p))
	if err == nil && o.Kind != h5.KindDataset {
		return nil, nil, nil
	}
	if err == nil {
		a, err := c.Dataset(naming.Rooted(p))
		if err != nil {
			return nil, nil, err
		}
		leaves, err := a.Leaves(nil)
		if err != nil || len(leaves) != 1 || leaves[0].Name != "" {
			return nil, nil, err
		}
		return a, &leaves[0], leaves[0].Err
	}
	if a, leaves := c.compound(strings.TrimPrefix(path.Dir("/"+p), "/")); a != nil {
		for i := range leaves {
			if leaves[i].Name == path.Base(p) {
				return a, &leaves[i], leaves[i].Err
			}
		}
		return nil, nil, nil
	}
	if errors.Is(err, shardify.ErrSchema) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return nil, nil, err
}

// Array implements anndata.Tree.
func (c cells) Array(p string) (*anndata.Array, error) {
	a, l, err := c.leaf(p)
	if a == nil || err != nil {
		return nil, err
	}
	if err := a.Usable(); err != nil {
		return nil, err
	}
	if l.Kind == element.VarList {
		return nil, shardify.Unsupported("lists")
	}
	f, err := l.Field("x", a.Inner())
	if err != nil {
		return nil, err
	}
	out := &anndata.Array{Unit: a.Unit(), Shape: slices.Clone(a.Dims), DType: f.DType, Text: l.Kind != element.Numbers}
	if !out.Text {
		out.Shape = out.Shape[:min(len(out.Shape), 1)]
		for _, d := range f.Shape {
			out.Shape = append(out.Shape, int64(d))
		}
	}
	return out, nil
}

// Turn implements anndata.Turner.
func (c cells) Turn(p string) { c.SetOrder(naming.Rooted(p), &array.Order{Perm: []int{1, 0}}) }

// Missing implements anndata.Tree: chunks that were never written are the fill value.
func (c cells) Missing(context.Context, string) (string, error) { return "", nil }

// Reader implements anndata.Tree.
func (c cells) Reader() anndata.Reader {
	return &cellReader{cells: c, work: column.Work{Vary: make([]column.Varying, 1)}}
}

// cellReader implements anndata.Reader.
type cellReader struct {
	cells
	work column.Work
}

func (r *cellReader) Begin(ctx context.Context, mem *shardify.Arena) error {
	return r.work.Begin(ctx, mem, &r.work)
}

func (r *cellReader) End(ctx context.Context) error { return r.work.End(ctx) }

func (r *cellReader) Close() { r.work.Close() }

func (r *cellReader) read(ctx context.Context, p string, lo, hi int64, dst []byte) error {
	a, l, err := r.leaf(p)
	if err != nil {
		return err
	}
	if a == nil || hi > a.Rows {
		return errChanged("no rows [%d, %d) of %s", lo, hi, p)
	}
	if err = a.Backed(hi - lo); err != nil {
		return err
	}
	s := column.Stretch{A: a, Lo: lo, Hi: hi, Per: 1, Parts: []column.Part{{Leaf: l}}}
	return s.Read(ctx, &r.work, [][]byte{dst})
}

// Numbers implements anndata.Reader.
func (r *cellReader) Numbers(ctx context.Context, p string, lo, hi int64, dst []byte) error {
	if lo == hi {
		return nil
	}
	return r.read(ctx, p, lo, hi, dst)
}

// Texts implements anndata.Reader.
func (r *cellReader) Texts(ctx context.Context, p string, lo, hi int64) ([]byte, []int64, error) {
	v := &r.work.Vary[0]
	if v.Reset(); lo == hi {
		return nil, nil, nil
	}
	err := r.read(ctx, p, lo, hi, nil)
	return v.Data, v.Outer, err
}
