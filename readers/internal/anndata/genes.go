package anndata

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

const (
	intersection = "intersection"
	union        = "union"
	first        = "first"
)

// Options are those of every format that may hold AnnData.
var Options = []format.Option{
	{Name: "genes", Idle: "no input is an AnnData whose genes have names", Kind: format.KindString, Quiet: true,
		Help: "AnnData with different genes: those of all inputs (intersection), of any (union), of the first, or of a FILE, one a line; by name"},
	{Name: "gene-versions", Idle: format.Permission, Kind: format.KindEnum, Default: "keep", Values: []string{"keep", "drop"}, Quiet: true,
		Help: "drop: names of genes without the version behind the last point, ENSG00000141510 for ENSG00000141510.17"},
	{Name: "gene-duplicates", Idle: format.Permission, Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "add"}, Quiet: true,
		Help: "names that an input has twice, where genes are chosen by name. add: the values of both count for the one"},
	{Name: "categories", Idle: format.Permission, Kind: format.KindEnum, Default: "same", Values: []string{"same", "union"}, Quiet: true,
		Help: "categories of a column of obs in several inputs. union: one table of all names, in the order in which they come; same: others are an error"},
	{Name: "csc", Idle: "no matrix of cells is stored by columns", Kind: format.KindEnum, Default: "fail", Values: []string{"fail", "transpose"}, Quiet: true,
		Help: "matrices of cells that are stored by columns. transpose: bring their rows together in scratch files"},
}

// genes is what is known of the genes of all inputs.
type genes struct {
	how, name string   // the option; the first input that has names
	want      []string // in the order of the columns; nil of inputs without names
	known     bool
	drop, add bool

	once sync.Once
	at   map[string]int32
}

// byName reports whether columns are found by the names of genes.
func (g *genes) byName() bool { return g.how != "" }

// trim drops what is not wanted of a name.
func (g *genes) trim(name string) string {
	if g.drop && strings.HasPrefix(name, "ENS") {
		if i := strings.LastIndexByte(name, '.'); i > 0 && strings.Trim(name[i+1:], "0123456789") == "" {
			return name[:i]
		}
	}
	return name
}

// names reads the names of the genes.
func (m *model) names() (err error) {
	m.genes, m.known, err = m.namesOf("var")
	return err
}

// namesOf reads the names of the rows of a frame of genes; known is false without such names.
func (m *model) namesOf(path string) (names []string, known bool, err error) {
	if _, ok := m.tree.Members(m.at(path)); !ok {
		group, name := "", path
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			group, name = path[:i], path[i+1:]
		}
		if has(m.tree, m.at(group), name) {
			return nil, false, shardify.Annotate(shardify.Corrupt(-1, "what is in it cannot be read"), "", "", m.at(path))
		}
		return nil, false, nil
	}
	index, named := m.indexOf(path)
	p, a, err := m.indexAt(path, index)
	if err != nil {
		return nil, false, shardify.Annotate(err, "", "", p)
	}
	if a == nil && !named && text(m.tree, m.at(path), "encoding-type") != "dataframe" {
		return nil, false, nil
	}
	if a == nil || len(a.Shape) != 1 {
		return nil, false, shardify.Corrupt(-1, "%s: the names of the genes, %s, are not there", path, p)
	}
	if at := m.at(path) + "/" + index; at != p {
		if err := m.noneMissing(path, at+"/mask", a.Shape[0]); err != nil {
			return nil, false, err
		}
	}
	err = m.each(p, a, func(_ int64, name string) error {
		names = append(names, strings.Clone(name))
		return nil
	})
	return names, true, err
}

// noneMissing refuses names of genes of which some are missing.
func (m *model) noneMissing(frame, mask string, rows int64) error {
	a, err := m.tree.Array(mask)
	if err != nil {
		return shardify.Annotate(err, "", "", mask)
	}
	if a == nil || a.Text || len(a.Shape) != 1 || a.Shape[0] != rows || a.DType != shardify.Bool {
		return shardify.Corrupt(-1, "%s: there is no mask of %d names, %s", frame, rows, mask)
	}
	return m.each(mask, a, func(i int64, missing string) error {
		if missing == "True" {
			return shardify.Corrupt(-1, "%s: gene %d has no name", frame, i)
		}
		return nil
	})
}

// decide finds the genes of the set.
func (s *source) decide(ctx context.Context, a *format.OpenArgs) error {
	g := &s.genes
	if s.c.union && a.Table.Len() > 1 {
		if err := s.unite(ctx, a); err != nil {
			return err
		}
	}
	if a.Table.Len() == 1 && !g.byName() {
		return nil
	}
	all := make([][]string, a.Table.Len())
	known := make([]bool, len(all))
	var mu sync.Mutex
	read := func(ctx context.Context, i, _ int) error {
		m, err := s.namesIn(ctx, a.Table.Path(i))
		if err != nil {
			return nil // the survey says what is wrong
		}
		mu.Lock()
		defer mu.Unlock()
		all[i], known[i] = m.genes, m.known
		return nil
	}
	if g.how == intersection || g.how == union {
		if err := survey.EachInput(ctx, a, read); err != nil {
			return err
		}
	} else {
		for i := range all {
			if read(ctx, i, 1); known[i] || ctx.Err() != nil {
				break
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	k := slices.Index(known, true)
	if k >= 0 {
		g.known, g.name, g.want = true, a.Table.Shown(k), all[k]
	}
	if !g.byName() {
		return nil
	}
	switch {
	case k < 0 && g.how != "":
		return shardify.Misuse("--genes %s: no input has names of genes", g.how)
	case g.how == intersection || g.how == union:
		g.want = g.combine(all, known)
	case g.how != first:
		list, err := s.fromFile(ctx, g.how)
		if err != nil {
			return err
		}
		g.want = list
	}
	return g.settle()
}

// combine is the intersection of lists, in the order of the first, or their union: in the order of
// all, where they are the same, else sorted by code point.
func (g *genes) combine(all [][]string, known []bool) (out []string) {
	count, lists, same := map[string]int{}, 0, true
	var head []string
	for i, list := range all {
		if !known[i] {
			continue
		}
		if lists++; lists == 1 {
			head = list
		}
		same = same && slices.Equal(head, list)
		in := map[string]bool{}
		for _, name := range list {
			if name = g.trim(name); !in[name] {
				in[name] = true
				count[name]++
			}
		}
	}
	if g.how == union && !same {
		for name := range count {
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	for _, name := range head {
		if g.how == union || count[g.trim(name)] == lists {
			out = append(out, name)
		}
	}
	return out
}

// settle makes the list one of distinct names.
func (g *genes) settle() error {
	seen, out := map[string]bool{}, make([]string, 0, len(g.want))
	for _, name := range g.want {
		name = g.trim(name)
		if seen[name] && !g.add {
			return g.twice(name)
		}
		if !seen[name] {
			out = append(out, name)
		}
		seen[name] = true
	}
	if g.want = out; len(out) == 0 {
		return shardify.Misuse("--genes %s: no gene is left", g.how)
	}
	return nil
}

func (g *genes) twice(name string) error {
	return shardify.Mismatch("gene %q twice, so that --genes %s has two columns of one name; --gene-duplicates add adds them up", name, g.how)
}

// fromFile reads a list of names, one a line.
func (s *source) fromFile(ctx context.Context, name string) ([]string, error) {
	const most = 64 << 20
	f, err := rows.OpenFile(ctx, s.fs, name, -1)
	if err != nil {
		return nil, fmt.Errorf("--genes %s (it is intersection, union, first or a file with a name a line): %w", name, err)
	}
	defer f.Close()
	if f.Size() > most {
		return nil, shardify.Misuse("--genes %s: a list of %s", name, shardify.FormatSize(f.Size()))
	}
	b := make([]byte, f.Size())
	if n, err := f.ReadAt(b, 0); n < len(b) || err != nil && err != io.EOF {
		return nil, fmt.Errorf("--genes %s: %w", name, err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out, nil
}

// fit makes the genes of an input those of the set: by is where each of its columns goes, -1 where it
// is left out; nil where all stay as they are.
func (g *genes) fit(m *model) (by []int32, err error) {
	switch {
	case !g.byName() && (!g.known || !m.known || slices.Equal(m.genes, g.want)):
		return nil, nil
	case !g.byName():
		return nil, g.differ(m.genes)
	case !m.known:
		return nil, shardify.Mismatch("--genes %s: its genes have no names", g.how)
	}
	g.once.Do(func() {
		g.at = make(map[string]int32, len(g.want))
		for i, name := range g.want {
			g.at[name] = int32(i)
		}
	})
	by, taken := make([]int32, len(m.genes)), make([]bool, len(g.want))
	for i, name := range m.genes {
		name = g.trim(name)
		k, ok := g.at[name]
		if by[i] = -1; !ok {
			continue
		}
		if taken[k] && !g.add {
			return nil, g.twice(name)
		}
		by[i], taken[k] = k, true
	}
	return by, nil
}

// differ is the error about other genes than those of the first input.
func (g *genes) differ(names []string) error {
	const cure = "--genes intersection, union, first or FILE matches them by name"
	if len(names) != len(g.want) {
		here, there := map[string]bool{}, map[string]bool{}
		for _, s := range names {
			here[s] = true
		}
		for _, s := range g.want {
			there[s] = true
		}
		for _, s := range names {
			if !there[s] {
				return shardify.Mismatch("%d genes, but %d in %s, which has no %q; %s", len(names), len(g.want), g.name, s, cure)
			}
		}
		for _, s := range g.want {
			if !here[s] {
				return shardify.Mismatch("%d genes, but %d in %s, which has %q; %s", len(names), len(g.want), g.name, s, cure)
			}
		}
		return shardify.Mismatch("%d genes, but %d in %s; %s", len(names), len(g.want), g.name, cure)
	}
	for i := range names {
		if names[i] != g.want[i] {
			return shardify.Mismatch("other genes, or in another order: gene %d is %q, but %q in %s; %s", i, names[i], g.want[i], g.name, cure)
		}
	}
	return nil
}

// namesIn reads the names of the genes of an input alone.
func (s *source) namesIn(ctx context.Context, path string) (*model, error) {
	t, err := s.tree(ctx, path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	root, _ := Root(t, s.c.Objects)
	if layoutOf(t, root) != none {
		return build(ctx, t, s.c, nil)
	}
	m := &model{tree: t, c: s.c, ctx: ctx, read: t.Reader(), root: root}
	defer m.read.Close()
	return m, m.names()
}

func (s *source) tree(ctx context.Context, path string) (Tree, error) {
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	return s.open(ctx, path, f)
}

// open takes over an open file.
func (s *source) open(ctx context.Context, path string, f storage.File) (Tree, error) {
	t, err := s.c.Open(ctx, path, f)
	if err != nil {
		f.Close()
	}
	return t, err
}

// apply makes the columns of a model those of the set.
func (g *genes) apply(m *model, by []int32) error {
	if by == nil {
		return nil
	}
	n, twice, taken := int64(len(g.want)), false, make([]bool, len(g.want))
	for _, k := range by {
		if k >= 0 {
			twice, taken[k] = twice || taken[k], true
		}
	}
	for i := range m.fields {
		f := &m.fields[i]
		switch {
		case f.matrix != nil && f.matrix.genes:
			if size := f.matrix.index.Size(); size < 8 && n > 1<<(8*size-1) {
				return shardify.Unsupported("%s: %d genes do not fit in indices of %s", f.Name, n, f.matrix.index)
			}
			old := f.Attrs["columns"] != ""
			f.Attrs = map[string]string{"sparse_columns": fmt.Sprint(n)}
			if old {
				f.Attrs = withColumns(f.Attrs, g.want)
			}
		case f.wide && f.kind == plain:
			if twice {
				f.kind, f.err = refused, shardify.Unsupported("%s: --gene-duplicates add is for sparse matrices", f.Name)
				continue
			}
			f.Shape = []int{int(n)}
			if f.Attrs["columns"] != "" {
				f.Attrs = withColumns(nil, g.want)
			}
		}
	}
	return nil
}
