package anndata

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// Static implements format.Constant: the names of the genes, if a field has a value for each gene, and the columns of
// genes that are wanted, in the order of the genes of the set.
func (s *source) Static(ctx context.Context, wanted []string, pool *shardify.Pool) (out []shardify.Column, err error) {
	from := ""
	for in := range s.Inputs() {
		list, err := s.ofGenes(ctx, &in, wanted, pool)
		if err != nil {
			return nil, shardify.Annotate(err, "open", in.Name(), "")
		}
		if from == "" {
			out, from = list, in.Name()
		}
		if len(list) != len(out) {
			return nil, shardify.Annotate(shardify.Mismatch("other columns of genes than in %s", from), "open", in.Name(), "")
		}
		for i := range list {
			if x, y := &list[i], &out[i]; !sameValues(x, y) {
				return nil, shardify.Annotate(shardify.Mismatch("%s has other values than in %s: it is not the same for all cells", x.Name, from), "open", in.Name(), "")
			}
		}
		if len(wanted) == 0 {
			break // the survey has compared the names
		}
	}
	for i := range out {
		s.once = append(s.once, out[i].Name)
	}
	return out, nil
}

// Leftovers implements format.Reporter.
func (s *source) Leftovers() []format.Leftover {
	return slices.DeleteFunc(s.Set.Leftovers(), func(l format.Leftover) bool { return slices.Contains(s.once, l.Name) })
}

func sameValues(x, y *shardify.Column) bool {
	return x.Name == y.Name && x.DType == y.DType && slices.Equal(x.Shape, y.Shape) && x.Attrs["labels"] == y.Attrs["labels"] && bytes.Equal(x.Data, y.Data) && slices.EqualFunc(x.Offsets, y.Offsets, slices.Equal)
}

// ofGenes reads the static fields of one input.
func (s *source) ofGenes(ctx context.Context, in *set.Input, wanted []string, pool *shardify.Pool) (out []shardify.Column, err error) {
	t, err := s.tree(ctx, in.Path())
	if err != nil {
		return nil, err
	}
	defer t.Close()
	m, err := build(ctx, t, s.c, nil)
	if err != nil {
		return nil, err
	}
	by, err := s.genes.fit(m)
	if err != nil {
		return nil, err
	}
	names := m.genes
	if s.genes.byName() {
		names = s.genes.want
	}
	index := m.vars
	if m.layout == annData {
		index = m.vars + "/_index"
	}
	mem, err := pool.Grant(ctx, t.Size())
	if err != nil {
		return nil, err
	}
	defer mem.Release()
	g := m.columnsOfGenes()
	defer g.read.Close()
	r := &reader{src: s, in: &input{Tree: t, model: g}, read: g.read, ctx: ctx, mem: mem, span: shardify.Span{Hi: g.rows}}
	if err := r.read.Begin(ctx, mem); err != nil {
		return nil, err
	}
	if m.known && s.perGene(m) {
		out = append(out, static(shardify.Column{Field: shardify.Field{Name: index, DType: shardify.U8, Levels: 1, Media: s.c.Media}, Data: []byte(strings.Join(names, "")), Offsets: [][]int64{endsOf(names)}}))
	}
	for _, want := range wanted {
		hit := false
		for i := range g.fields {
			f := &g.fields[i]
			if ok, _ := path.Match(want, f.Name); !ok && want != f.Name {
				continue
			}
			hit = true
			if slices.ContainsFunc(out, func(c shardify.Column) bool { return c.Name == f.Name }) {
				continue
			}
			c, err := r.geneColumn(f, by, len(names))
			if err != nil {
				return nil, shardify.Annotate(err, "", "", cmp.Or(f.path, f.Name))
			}
			out = append(out, c)
		}
		if !hit {
			var have []string
			for i := range g.fields {
				have = append(have, g.fields[i].Name)
			}
			return nil, shardify.Misuse("--static %s: no column of genes; there are: %s", want, cmp.Or(strings.Join(have, ", "), "none"))
		}
	}
	return out, r.read.End(ctx)
}

// perGene reports whether the set has a field with a value for each gene.
func (s *source) perGene(m *model) bool {
	return slices.ContainsFunc(s.Schema(), func(x shardify.Field) bool {
		f := m.find(x.Name)
		return f != nil && (f.wide || f.matrix != nil && f.matrix.genes)
	})
}

// columnsOfGenes is a model whose rows are the genes.
func (m *model) columnsOfGenes() *model {
	c := *m.c
	c.Objects = nil
	g := &model{tree: m.tree, c: &c, ctx: m.ctx, read: m.tree.Reader(), root: m.root, layout: m.layout, rows: int64(len(m.genes)), cells: m.vars}
	if n, err := g.length("var"); m.layout == annData && err == nil {
		g.rows = n
		g.frame("var", "var")
	}
	for _, p := range m.perGene {
		g.column(path.Dir(p), path.Base(p), p)
	}
	return g
}

// geneColumn reads a column of genes and puts it in the order of the n genes of the set.
func (r *reader) geneColumn(f *field, by []int32, n int) (c shardify.Column, err error) {
	if f.kind == refused {
		return c, f.err
	}
	c = shardify.Column{Field: f.Field}
	if err := r.column(f, &c); err != nil {
		return c, err
	}
	if c.Valid != nil && f.kind != codes {
		return c, shardify.Unsupported("%s has missing values, and fields that are stored once have none", f.Name)
	}
	c.Nullable, c.Valid = false, nil
	if by == nil {
		return static(c), nil
	}
	at := make([]int, n)
	for k := range at {
		at[k] = -1
	}
	for i, k := range by {
		if k >= 0 && at[k] >= 0 {
			return c, shardify.Unsupported("%s: genes of one name have two values", f.Name)
		} else if k >= 0 {
			at[k] = i
		}
	}
	if i := slices.Index(at, -1); i >= 0 {
		return c, shardify.Mismatch("%s: gene %q of the set is not in this input, so it has no value there", f.Name, r.src.genes.want[i])
	}
	out := shardify.Column{Field: c.Field}
	if c.Levels > 0 {
		out.Offsets = [][]int64{make([]int64, 1, n+1)}
	}
	for _, i := range at {
		lo, hi := c.Range(i, i+1)
		out.Data = append(out.Data, c.Data[lo:hi]...)
		if c.Levels > 0 {
			out.Offsets[0] = append(out.Offsets[0], int64(len(out.Data)))
		}
	}
	return static(out), nil
}

// static makes a column of genes a column of one sample, in memory of its own.
func static(c shardify.Column) shardify.Column {
	n := int64(0)
	if c.Data = bytes.Clone(c.Data); c.Levels > 0 {
		n = int64(len(c.Offsets[0]) - 1)
		c.Levels, c.Offsets = 2, [][]int64{{0, n}, slices.Clone(c.Offsets[0])}
		return c
	}
	n = int64(len(c.Data) / max(c.ElemBytes(), 1))
	c.Shape = append([]int{int(n)}, c.Shape...)
	return c
}

// endsOf is where each of some texts ends, behind 0.
func endsOf(texts []string) []int64 {
	out := make([]int64, 1, len(texts)+1)
	for _, s := range texts {
		out = append(out, out[len(out)-1]+int64(len(s)))
	}
	return out
}
