package arrays

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/anndata"
	"github.com/shardify/shardify/readers/internal/arrays/shelf"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// cells is a store as AnnData sees it.
type cells struct {
	*store.Tree
	in   *input
	opts *settings
	at   map[string]int      // arrays, by path
	kids map[string][]string // names in groups
}

// errCells is the error of code that looks for samples in an input which is an AnnData.
var errCells = errors.New("an AnnData")

// isCells reports whether a store is an AnnData. Some settings leave that out: they read arrays as
// those of any store.
func (s *chooser) isCells(t *store.Tree) bool {
	o := s.opts
	if !o.kind.Cells || o.sample == byFile || o.chunked || o.sel != nil || o.channels != nil || o.axis != sampleaxis.AutoAxis {
		return false
	}
	_, ok := anndata.Root(cellsOf(t, nil, o), o.objects)
	return ok
}

// cells opens stores of AnnData.
func (s *settings) cells(ctx context.Context, a format.OpenArgs, o format.Options) (shardify.Source, error) {
	c := &anndata.Container{Name: s.kind.Title, Key: s.key(), Objects: s.objects, Filled: s.chunks == "fill", Media: s.media}
	c.Open = func(ctx context.Context, name string, f storage.File) (anndata.Tree, error) {
		files, err := s.kind.Open(ctx, storages.Of(a.Table), name, f)
		if err != nil {
			return nil, err
		}
		t, err := s.kind.Scan(ctx, files, &store.Choice{Known: s.known})
		if err != nil {
			return nil, err
		}
		if n := len(t.Foreign); n > 0 && s.chunks != "fill" {
			return nil, foreign(t)
		}
		return cellsOf(t, newInput(f, files), s), nil
	}
	return anndata.Open(ctx, a, c, o)
}

// foreign is the error about files of an archive that belong to nothing.
func foreign(t *store.Tree) error {
	return format.Cure(shardify.Corrupt(-1, "files of the archive belong to no array and no group of the store, %d in all, the first is %q: its directory may be damaged; --missing-chunks fill leaves them out", len(t.Foreign), t.Foreign[0]), filled)
}

func cellsOf(t *store.Tree, in *input, opts *settings) *cells {
	c := &cells{Tree: t, in: in, opts: opts, at: map[string]int{}, kids: t.Names()}
	for i := range t.Arrays {
		c.at[t.Arrays[i].Path] = i
	}
	if in == nil {
		return c
	}
	for i := range t.Arrays {
		a := &t.Arrays[i]
		if a.Err != nil {
			in.grids, in.leaves = append(in.grids, nil), append(in.leaves, nil)
			continue
		}
		g := gridOf(a, 0, 0)
		g.must = opts.chunks == "fail"
		in.grids, in.leaves = append(in.grids, g), append(in.leaves, leavesOf(&a.Type))
	}
	return c
}

// Size implements anndata.Tree.
func (c *cells) Size() int64 { return c.in.file.Size() }

// Close implements anndata.Tree.
func (c *cells) Close() error { return c.in.Close() }

// Members implements anndata.Tree.
func (c *cells) Members(group string) ([]string, bool) {
	if i, ok := c.at[group]; ok {
		if c.Arrays[i].Err != nil {
			return nil, false
		}
		var names []string
		for _, l := range leavesOf(&c.Arrays[i].Type) {
			names = append(names, l.name)
		}
		slices.Sort(names)
		return names, len(names) > 0 && names[0] != ""
	}
	names, ok := c.kids[group]
	return names, ok
}

// Attr implements anndata.Tree.
func (c *cells) Attr(p, name string) (v any, ok bool) {
	attrs := c.Groups[p]
	if i, ok := c.at[p]; ok {
		attrs = c.Arrays[i].Attributes
	}
	v, ok = attrs[name]
	return v, ok
}

// Damage implements anndata.Tree: what is damaged is no JSON.
func (c *cells) Damage() error { return nil }

// leaf finds an array, or the member of a compound one; false without one.
func (c *cells) leaf(p string) (i, k int, ok bool, err error) {
	member := ""
	if i, ok = c.at[p]; !ok {
		if i, ok = c.at[path.Clean("/" + path.Dir(p))[1:]]; !ok {
			return 0, 0, false, nil
		}
		member = path.Base(p)
	}
	if err := c.Arrays[i].Err; err != nil {
		return 0, 0, false, err
	}
	k = slices.IndexFunc(leavesOf(&c.Arrays[i].Type), func(l leaf) bool { return l.name == member })
	return i, k, k >= 0, nil
}

// Array implements anndata.Tree.
func (c *cells) Array(p string) (*anndata.Array, error) {
	i, k, ok, err := c.leaf(p)
	if !ok {
		return nil, err
	}
	a := &c.Arrays[i]
	g, l := gridOf(a, 0, 0), leavesOf(&a.Type)[k]
	f, err := l.field("x", c.opts.media, g.inner())
	if err != nil {
		return nil, err
	}
	out := &anndata.Array{DType: f.DType, Text: l.text(), Unit: g.part[0]}
	if len(a.Shape) > 0 {
		out.Shape = append(out.Shape, a.Shape[0])
	}
	if out.Text && len(a.Shape) > 1 {
		out.Shape = append(out.Shape, a.Shape[1:]...)
	}
	for _, d := range f.Shape {
		out.Shape = append(out.Shape, int64(d))
	}
	return out, nil
}

// Missing implements anndata.Tree.
func (c *cells) Missing(ctx context.Context, p string) (string, error) {
	i, ok := c.at[p]
	if !ok || c.Arrays[i].Err != nil {
		return "", nil
	}
	o, x, opts := object{grid: gotten(c.in.grids[i], &c.Arrays[i])}, blobObject{}, *c.opts
	opts.chunks = "fill"
	t := &tree{Tree: c.Tree, in: c.in}
	if _, err := t.chunks(ctx, &o, &opts, &x); err != nil || x.Missing == 0 || x.Missing == x.Chunks && x.Chunks == 1 {
		return "", err
	}
	return fmt.Sprintf("%d of %d chunks are missing", x.Missing, x.Chunks), nil
}

// gotten is the grid of an array, also of a tree that is not open for reading.
func gotten(g *grid, a *store.Array) *grid {
	if g == nil {
		return gridOf(a, 0, 0)
	}
	return g
}

// Reader implements anndata.Tree.
func (c *cells) Reader() anndata.Reader {
	return &cellReader{cells: c, work: work{shelf: &shelf.Shelf{}}}
}

// cellReader implements anndata.Reader.
type cellReader struct {
	*cells
	work work
	text target
}

func (r *cellReader) Begin(ctx context.Context, mem *shardify.Arena) error {
	if r.work.shelf != &r.in.shelf {
		r.work.shelf = &r.in.shelf
		r.in.shelf.Join()
	}
	return r.work.begin(ctx, mem)
}

func (r *cellReader) End(context.Context) error { return r.work.end() }

func (r *cellReader) Close() {
	if r.work.shelf == &r.in.shelf {
		r.in.shelf.Leave()
	}
	r.work.scratch.Close()
	r.work = work{shelf: &shelf.Shelf{}}
}

// target is where rows of an array go.
func (r *cellReader) target(ctx context.Context, p string, lo, hi int64) (*grid, target, error) {
	i, k, ok, err := r.leaf(p)
	if err == nil && (!ok || r.in.grids[i] == nil || lo < 0 || hi > r.in.grids[i].rows) {
		err = fmt.Errorf("%w: array %s", shardify.ErrChanged, p)
	}
	if err != nil {
		return nil, target{}, err
	}
	r.work.ctx = ctx
	g, l := r.in.grids[i], &r.in.leaves[i][k]
	return g, target{leaf: l, size: l.values() * int64(l.typ.Size)}, nil
}

// Numbers implements anndata.Reader.
func (r *cellReader) Numbers(ctx context.Context, p string, lo, hi int64, dst []byte) error {
	g, t, err := r.target(ctx, p, lo, hi)
	if err != nil || lo == hi {
		return err
	}
	if t.leaf.text() || int64(len(dst)) != (hi-lo)*g.elems*t.size {
		return errors.New("arrays: Numbers of an array of other elements")
	}
	t.data = dst
	return r.work.read(r.in, g, lo, hi, []target{t})
}

// Texts implements anndata.Reader.
func (r *cellReader) Texts(ctx context.Context, p string, lo, hi int64) ([]byte, []int64, error) {
	g, t, err := r.target(ctx, p, lo, hi)
	if err != nil || lo == hi {
		return nil, nil, err
	}
	t.text = r.text.text[:0]
	if err := t.room(g, hi-lo, nil); err != nil {
		return nil, nil, err
	}
	all := []target{t}
	if err := r.work.read(r.in, g, lo, hi, all); err != nil {
		return nil, nil, err
	}
	var data []byte
	ends := make([]int64, 0, len(all[0].vals))
	for _, v := range all[0].vals {
		data = append(data, all[0].text[v.lo:v.hi]...)
		ends = append(ends, int64(len(data)))
	}
	r.text.text = all[0].text
	return data, ends, nil
}
