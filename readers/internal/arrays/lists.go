package arrays

import (
	"context"
	"path"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/attrs"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/dims"
	"github.com/shardify/shardify/readers/internal/lists"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// listing is where the lists begin that rows of arrays are: as an array of offsets says, or a rule of
// the option.
type listing struct {
	name string // of the offsets, or of the rule
	n    int64  // lists
	from *grid
	by   *lists.Index
	sets []*grid // that the rule names
}

// rule is the one of --lists, if these are of one.
func (l *listing) rule() *lists.Rule {
	if l.by == nil {
		return nil
	}
	return &l.by.Rule
}

func (l *listing) text() string {
	if l.by == nil {
		return l.name
	}
	return l.by.Text()
}

// n is how many samples an array would have as rows, or as lists of rows.
func (o *object) n() int64 {
	if o.lists != nil {
		return o.lists.n
	}
	return o.rows
}

// flat finds arrays whose rows are lists: an array beside them, named as offsets, says where each
// begins, and where the last one ends. These are no columns then.
func (t *tree) flat(ctx context.Context, opts *settings) error {
	if opts.lists == "off" || opts.sample == byFile || opts.chunked || opts.sel != nil || opts.channels != nil {
		return nil
	}
	used := map[string]bool{}
	for i := range opts.ruled {
		if err := t.ruled(ctx, &opts.ruled[i], used); err != nil {
			return err
		}
	}
	for i := range t.objects {
		if opts.ruled != nil {
			break
		}
		if err := t.listsOf(ctx, &t.objects[i], used); ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			return shardify.Annotate(err, "", "", t.objects[i].Path)
		}
	}
	t.objects = slices.DeleteFunc(t.objects, func(o object) bool { return used[o.Path] })
	return nil
}

// scope returns the arrays whose lists may begin where this one says; nil if it is named otherwise. of
// is "" if that is all arrays beside it.
func (p *object) scope() (of string, scopes func(o *object) bool) {
	of, ok := dims.OffsetsOf(path.Base(p.Path))
	if !ok || len(p.Array.Shape) != 1 || p.rows < 1 || len(p.leaves) != 1 || p.Type.Kind != node.Number || !p.Type.DType.IsInt() || p.leaves[0].cf != nil {
		return "", nil
	}
	group := ""
	if dir := path.Dir(p.Path); dir != "." {
		group = dir
	}
	return of, func(o *object) bool { return o.Path != p.Path && !o.single() && dims.InScope(group, of, o.Path) }
}

// listsOf gives arrays the lists that an array of offsets is about.
func (t *tree) listsOf(ctx context.Context, p *object, used map[string]bool) error {
	of, scopes := p.scope()
	if scopes == nil || !slices.ContainsFunc(t.objects, func(o object) bool { return scopes(&o) }) {
		return nil
	}
	var in, other []*object
	n, plain := p.rows-1, false
	first, err := t.integers(ctx, p, 0)
	if err != nil {
		return err
	}
	last, err := t.integers(ctx, p, n)
	if err != nil || first != 0 || last < 0 {
		return err
	}
	for i := range t.objects {
		o := &t.objects[i]
		switch {
		case o.Path == p.Path || o.single():
		case scopes(o) && o.rows == last:
			in = append(in, o)
		case scopes(o) && o.rows != n && o.rows != p.rows:
			other = append(other, o)
		default:
			plain = plain || o.rows == n
		}
	}
	switch {
	case len(other) > 0 && (len(in) == 0 && plain || of != ""):
		return format.Cure(shardify.Corrupt(-1, "offsets of %d lists that end at %d, but %s has %d rows; --lists off reads them as they are", n, last, other[0].Path, other[0].rows), sampleaxis.WholeFiles)
	case len(in) == 0:
		return nil
	case last == n && of == "":
		return format.Cure(shardify.Mismatch("offsets of %d lists with %d values in all: it is not certain whether %s has a row or a list for each sample; --lists off reads rows", n, last, in[0].Path), sampleaxis.AsRows(p.Path, in[0].Path))
	}
	l := &listing{name: p.Path, n: n, from: p.grid, sets: []*grid{p.grid}}
	for _, o := range in {
		if inner, _ := o.scope(); inner != "" {
			return format.Cure(shardify.Unsupported("lists of lists, by %s and %s; --lists off reads the arrays as they are", o.Path, p.Path), sampleaxis.WholeFiles)
		}
		if o.lists == nil || of != "" {
			o.lists, o.leaves[0].chars = l, false
		}
	}
	used[p.Path] = true
	t.left = append(t.left, format.Leftover{Name: p.Path, Reason: "where the lists of " + in[0].Path + " begin, kept with them"})
	return nil
}

// integers reads an integer of an array.
func (t *tree) integers(ctx context.Context, o *object, row int64) (int64, error) {
	x := []target{{leaf: &o.leaves[0], size: int64(o.Type.Size), data: make([]byte, o.Type.Size)}}
	w := work{ctx: ctx}
	err := w.read(t.in, o.grid, row, row+1, x)
	return attrs.Stored(x[0].data, o.Type.DType).Int, err
}

// badList is the error about the list of a sample.
func badList(sample, at, of int64) error {
	err := shardify.Corrupt(-1, "its list begins or ends at %d, of %d values", at, of)
	err.Sample = sample
	return err
}

// asLists makes a field of rows one of lists of rows.
func asLists(f *shardify.Field) error {
	if f.Levels > 1 {
		return shardify.Unsupported("lists of lists of texts")
	}
	f.Levels++
	return f.Validate()
}

// mostAbsent bounds the bytes of lists of an array some of whose chunks are not there: what is
// claimed of them costs nothing.
const mostAbsent = 64 << 20

// offsets are where the lists of a span begin, and where the last one ends.
func (r *reader) offsets(in *input, l *listing, g *grid, sp shardify.Span, mem *shardify.Arena) ([]int64, error) {
	n := sp.Samples()
	if sp.Hi > l.n {
		return nil, shardify.Corrupt(-1, "%s has %d lists", l.name, l.n)
	}
	ends := mem.Int64s(int(n + 1))
	if l.by != nil {
		if g.rows != l.by.Stored {
			return nil, shardify.Annotate(shardify.ErrChanged, "", "", g.Path)
		}
		return ends, l.by.At(r.work.ctx, func(ctx context.Context, name string, dst []int64, row int64) error {
			return in.numbers(&r.work, l, name, dst, row)
		}, ends, sp.Lo)
	}
	if err := in.numbers(&r.work, l, l.name, ends, sp.Lo); err != nil {
		return nil, err
	}
	for i := range ends {
		if i > 0 && ends[i] < ends[i-1] || ends[i] < 0 || ends[i] > g.rows {
			return nil, shardify.Annotate(badList(sp.Lo+int64(max(i-1, 0)), ends[i], g.rows), "", "", l.name)
		}
	}
	return ends, nil
}

// list reads the columns of an array whose rows are lists, which begin where from says.
func (r *reader) list(in *input, k int, cols []int, fields []place, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	g, from := in.grids[k], in.lists[k]
	n := sp.Samples()
	ends, err := r.offsets(in, from, g, sp, mem)
	if err != nil {
		return err
	}
	lo, hi := ends[0], ends[n]
	for i := range ends {
		ends[i] -= lo
	}
	targets := make([]target, len(cols))
	for i, c := range cols {
		col, t := &b.Columns[c], &targets[i]
		t.leaf = &in.leaves[k][fields[i].leaf]
		f, err := t.leaf.field("x", r.src.opts.media, g.inner())
		if err == nil {
			err = asLists(&f)
		}
		if err != nil || f.DType != col.DType || f.Levels != col.Levels || !slices.Equal(f.Shape, col.Shape) {
			return shardify.Annotate(shardify.ErrChanged, "", "", g.Path)
		}
		if !t.leaf.text() {
			t.size = t.leaf.values() * int64(t.leaf.width(f.DType))
		}
		if bytes := rows.SatMul(rows.SatMul(hi-lo, g.elems), max(t.size, 16)); !g.all && bytes > mostAbsent || bytes > node.MaxChunk {
			return shardify.Unsupported("lists of %s in one piece", shardify.FormatSize(bytes))
		}
		if err := t.room(g, hi-lo, func(n int64) ([]byte, error) { return mem.Alloc(int(n) + slack)[:n], nil }); err != nil {
			return err
		}
	}
	if hi > lo {
		if err := r.work.read(in, g, lo, hi, targets); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { // of the list that the row is in
				if at, _ := slices.BinarySearch(ends, e.Sample-lo+1); e.Sample >= 0 {
					e.Sample = sp.Lo + int64(max(at-1, 0))
				}
			})
		}
	}
	for i, c := range cols {
		if err := targets[i].column(&b.Columns[c], b.Samples, 1, sp.Lo, mem); err != nil {
			return err
		}
		if c := &b.Columns[c]; c.Levels == 1 {
			c.Offsets = [][]int64{ends}
		} else {
			c.Offsets[0] = ends
		}
	}
	return nil
}
