package look

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// groupSet is groups of one kind, each a sample. They may be those in several groups: their names
// and their stem have two parts then.
type groupSet struct {
	parent, stem string
	numbered     bool
	names        []string // of the groups
	members      []string // of the first, relative paths
	first        []int    // object of each group's first member
	current      string
	at           int
	bad          string           // what a group lacks or has too much
	broken       map[string]error // damaged groups of the set
}

// add takes the next object, in order of paths.
func (g *groupSet) add(name, member string, object int) {
	if name != g.current || len(g.names) == 0 {
		g.end()
		g.current, g.at = name, 0
		g.names, g.first = append(g.names, name), append(g.first, object)
	}
	switch {
	case len(g.names) == 1:
		g.members = append(g.members, member)
	case g.at >= len(g.members) || g.members[g.at] != member:
		if g.bad == "" {
			g.bad = fmt.Sprintf("%s and %s hold other data sets", g.names[0], name)
		}
	}
	g.at++
}

func (g *groupSet) end() {
	if len(g.names) > 1 && g.at != len(g.members) && g.bad == "" {
		g.bad = fmt.Sprintf("%s and %s hold other data sets", g.names[0], g.current)
	}
}

// all are the names of the sample groups in order, damaged ones among them.
func (g *groupSet) all() []string {
	out := slices.AppendSeq(slices.Clone(g.names), maps.Keys(g.broken))
	slices.SortFunc(out, naming.Natural)
	return out
}

// pattern is what the paths of the groups look like.
func (g *groupSet) pattern() string { return pattern(g.parent, g.stem) }

func pattern(parent, stem string) string {
	return parent + "/" + strings.ReplaceAll(stem, "/", "*/") + "*"
}

// depth is how deep the group is that has all groups of the set in it.
func (g *groupSet) depth() int { return strings.Count(g.parent, "/") }

// setKey is what the groups of a set have in common.
type setKey struct{ parent, stem string }

// maxParts is how many parts the name of a sample group has at most.
const maxParts = 2

// groupSets lists the sets of groups: those with numbers, or any.
func groupSets(t *tree.Tree, numbered bool) []*groupSet {
	sets := map[setKey]*groupSet{}
	var order []*groupSet
	broken := brokenPaths(t)
	add := func(i int, parent, name, member string) {
		key, ok := keyOf(parent, name, numbered)
		if !ok {
			return
		}
		g := sets[key]
		if g == nil {
			g = &groupSet{parent: parent, stem: key.stem, numbered: numbered}
			sets[key] = g
			order = append(order, g)
		}
		if broken[parent+"/"+name] == nil {
			g.add(name, member, i)
		}
	}
	for i := range t.Objects {
		p := t.Objects[i].Path
		for at := 1; ; {
			k := strings.IndexByte(p[at:], '/')
			if k < 0 {
				break
			}
			end := at + k
			for range maxParts {
				add(i, p[:at-1], p[at:end], p[end+1:])
				if k = strings.IndexByte(p[end+1:], '/'); k < 0 {
					break
				}
				end += 1 + k
			}
			at += strings.IndexByte(p[at:], '/') + 1
		}
	}
	brokenGroups(t, sets, numbered)
	for _, g := range order {
		g.end()
	}
	return slices.DeleteFunc(order, func(g *groupSet) bool { return len(g.names) == 0 })
}

// keyOf is the key of the set that a group is in: of those with numbers, or any.
func keyOf(parent, name string, numbered bool) (setKey, bool) {
	stem, ok := naming.Stem(name)
	if !numbered {
		stem, ok = strings.Repeat("/", strings.Count(name, "/")), true
	}
	return setKey{parent, stem}, ok
}

// brokenGroups marks the sample groups that are damaged, so that they are samples all the
// same, and are not compared with others.
func brokenGroups(t *tree.Tree, sets map[setKey]*groupSet, numbered bool) {
	for p, err := range brokenPaths(t) {
		for at, parts := strings.LastIndexByte(p, '/'), 0; at >= 0 && parts < maxParts; at, parts = strings.LastIndexByte(p[:at], '/'), parts+1 {
			parent, name := p[:at], p[at+1:]
			key, ok := keyOf(parent, name, numbered)
			if g := sets[key]; ok && g != nil && len(g.names) > 0 && !t.Want.Excluded(naming.Ways(p, "")...) {
				if g.broken == nil {
					g.broken = map[string]error{}
				}
				g.broken[name] = err
			}
		}
	}
}

// brokenPaths is everything that is damaged, and the groups it is in.
func brokenPaths(t *tree.Tree) map[string]error {
	out := map[string]error{}
	for _, d := range t.File.Damage() {
		for p := "/" + d.Object; len(p) > 1; p = p[:strings.LastIndexByte(p, '/')] {
			if out[p] == nil {
				out[p] = d.Err
			}
		}
	}
	return out
}

// equal are the sets whose groups have equal content, and of the others why not. Groups in several
// groups count where those are not samples by themselves; and their siblings in one group do not.
func equal(t *tree.Tree, numbered bool) (found []*groupSet, why string) {
	good := map[setKey]bool{}
	for _, g := range groupSets(t, numbered) {
		switch {
		case g.bad != "" && !strings.Contains(g.stem, "/"):
			why = fmt.Sprintf("in %s/ %s", g.parent, g.bad)
		case g.bad == "" && len(g.names)+len(g.broken) > 1:
			found, good[setKey{g.parent, g.stem}] = append(found, g), true
		}
	}
	inner := func(g, o *groupSet) bool { // those of o are in one of the groups that those of g are in
		outer, last, two := strings.Cut(g.stem, "/")
		key, ok := keyOf(g.parent, strings.TrimPrefix(o.parent, g.parent+"/"), numbered)
		return two && ok && o.stem == last && key == setKey{g.parent, outer}
	}
	return slices.DeleteFunc(slices.Clone(found), func(g *groupSet) bool {
		outer, _, two := strings.Cut(g.stem, "/")
		if two {
			return good[setKey{g.parent, outer}] && g.stem != batches
		}
		return good[setKey{g.parent, batches}] && g.stem == batchesOf || slices.ContainsFunc(found, func(o *groupSet) bool {
			return inner(o, g) && (o.stem == batches || !good[setKey{o.parent, strings.SplitN(o.stem, "/", 2)[0]}])
		})
	}), why
}

// MACE keeps configurations in batches, config_batch_0/config_3: those are no parts of a sample.
const batchesOf, batches = "config_batch_", "config_batch_/config_"

// chooseGroups finds groups that are samples: numbered ones of equal content,
// and if asked for any of equal content.
func chooseGroups(t *tree.Tree, asked bool) (*Choice, error) {
	found, why := equal(t, true)
	if asked && len(found) == 0 {
		var other string
		found, other = equal(t, false)
		why = cmp.Or(other, why)
	}
	if asked && len(found) == 0 {
		for _, g := range groupSets(t, true) {
			if g.bad == "" {
				found = append(found, g)
			}
		}
	}
	if len(found) == 0 && asked {
		return nil, shardify.Mismatch("no groups of equal content that could be samples: %s; --object selects", cmp.Or(why, "the inputs have no such groups"))
	}
	if len(found) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(found, func(a, b *groupSet) int { return a.depth() - b.depth() })
	g := found[0]
	if len(found) > 1 && found[1].depth() == g.depth() {
		var ways []format.Way
		for _, o := range found {
			if glob := o.pattern(); o.depth() == g.depth() && !strings.Contains(glob, ",") {
				ways = append(ways, format.Way{Options: format.Options{"object": glob}, Makes: printable.Of(int64(len(o.names)+len(o.broken)), "sample")})
			}
		}
		return nil, format.NewAmbiguous("groups of several kinds could be the samples", ways)
	}
	c := &Choice{Samples: tree.Samples{Mode: tree.ByGroup, Parent: g.parent, Stem: g.stem}, numbered: g.numbered,
		Why: fmt.Sprintf("samples are the groups %s", g.pattern())}
	return c, nil
}

// groupWay is the way of groups of any names that have equal content, if there are such.
func groupWay(t *tree.Tree) []format.Way {
	c, err := chooseGroups(t, true)
	if err != nil || c == nil {
		return nil
	}
	g, err := sampleGroups(t, c)
	if err != nil || g == nil || len(g.names) < 2 {
		return nil
	}
	w := sampleWay(tree.ByGroup, fmt.Sprintf("a sample of each of the %d groups %s", len(g.all()), g.pattern()))
	w.Bytes, _ = share(t, c)
	return []format.Way{w}
}

// sampleGroup is the name of the sample group that a path leads to or into, "" if it is
// none.
func (c *Choice) sampleGroup(p string) string {
	rest, ok := strings.CutPrefix(p, c.Parent+"/")
	name, _ := naming.Cut(rest, c.Stem)
	if stem, numbered := naming.Stem(name); !ok || strings.Count(name, "/") != strings.Count(c.Stem, "/") || c.numbered && (!numbered || stem != c.Stem) {
		return ""
	}
	return name
}

// sampleGroups finds the sample groups of this file; nil if it has none.
func sampleGroups(t *tree.Tree, c *Choice) (*groupSet, error) {
	for _, g := range groupSets(t, c.numbered) {
		if g.parent != c.Parent || g.stem != c.Stem {
			continue
		}
		if g.bad != "" {
			return nil, shardify.Mismatch("in %s/ %s", g.parent, g.bad)
		}
		return g, nil
	}
	return nil, nil
}

// byGroup makes fields of the members that all sample groups have.
func (f *factory) byGroup(ctx context.Context) error {
	g, err := sampleGroups(f.tree, f.choice)
	if err != nil {
		return err
	}
	if g == nil {
		return f.noGroups()
	}
	rows, err := rowsOf(f, g)
	if err != nil {
		return err
	}
	if rows == nil {
		f.report.Samples = int64(len(g.all()))
	}
	in := make(map[int]bool, len(g.names)*len(g.members))
	for _, first := range g.first {
		for m := range g.members {
			in[first+m] = true
		}
	}
	for i := range f.tree.Objects {
		if !in[i] && g.broken[f.choice.sampleGroup(f.tree.Objects[i].Path)] == nil {
			f.tree.Omit(f.tree.Objects[i].Path, fmt.Sprintf("not in one of the groups %s", pattern(f.choice.Parent, f.choice.Stem)))
		}
	}
	if err := f.strays(g, in); err != nil {
		return err
	}
	for m, name := range g.members {
		if err := f.member(g, m, name, rows); err != nil {
			return err
		}
	}
	return nil
}

// noGroups is the error about a file without sample groups: its samples would be missing
// without a word.
func (f *factory) noGroups() error {
	what := "no data sets"
	if len(f.tree.Objects) > 0 {
		what = shapes(f.tree)
	}
	return shardify.Mismatch("there are no groups %s, which are the samples elsewhere; it has %s", pattern(f.choice.Parent, f.choice.Stem), what)
}

// strays refuses groups beside the sample groups that hold the same data sets, under
// another name: they may be samples, too.
func (f *factory) strays(g *groupSet, in map[int]bool) error {
	for i := range f.tree.Objects {
		p := f.tree.Objects[i].Path
		rest, ok := strings.CutPrefix(p, g.parent+"/")
		name, member := naming.Cut(rest, g.stem)
		if in[i] || !ok || member == "" || len(g.members) == 0 || member != g.members[0] {
			continue
		}
		same := true
		for k, m := range g.members {
			same = same && i+k < len(f.tree.Objects) && f.tree.Objects[i+k].Path == g.parent+"/"+name+"/"+m
		}
		if same && f.choice.sampleGroup(p) == "" {
			return shardify.Mismatch("%s/%s holds the same data sets as the samples %s: --columns '!%s' leaves it out, or --object selects", g.parent, name, g.pattern(), strings.TrimPrefix(g.parent+"/"+name, "/"))
		}
	}
	return nil
}

// member makes fields of member m of every group. rows are those of the groups whose rows are samples, else nil.
func (f *factory) member(g *groupSet, m int, name string, rows []int64) error {
	head := &f.tree.Objects[g.first[0]+m]
	ragged, packed, total := false, false, int64(0)
	inner, row, err := perRow(f, g, m, rows)
	if err != nil {
		return err
	}
	for i, first := range g.first {
		o := &f.tree.Objects[first+m]
		err := f.backed(o, math.MaxInt64, new(int64))
		if why := differs(head, o); why != "" {
			return shardify.Annotate(shardify.Mismatch("%s in %s; --columns '!%s' leaves it out", why, g.names[i], name), "", "", o.Path)
		}
		if err != nil {
			if exact(head) {
				return shardify.Annotate(err, "", "", o.Path)
			}
			f.tree.Leave(name, err)
			return nil
		}
		packed = packed || slices.ContainsFunc(o.Wanted, func(w tree.Wanted) bool { return w.Leaf.CF != nil })
		ragged = ragged || !slices.Equal(inner, o.Dims[len(o.Dims)-len(inner):])
		times := int64(1)
		if rows != nil && !row {
			times = max(rows[i], 1)
		}
		if o.Bytes > (math.MaxInt64-total)/times {
			return shardify.Annotate(shardify.Corrupt(-1, "%d bytes for each of %d samples", o.Bytes, times), "", "", o.Path)
		}
		total += o.Bytes * times
	}
	before := len(f.report.Fields)
	if err := f.add(head, name, inner, rows != nil && !row); err != nil {
		return err
	}
	added := f.report.Fields[before:]
	if len(added) > 0 && packed { // each group by its own attributes, also where the first has none
		f.blob.Objects[len(f.blob.Objects)-1].CF = true
	}
	if !ragged || len(added) == 0 {
		for i := range added {
			if added[i].Bytes *= int64(len(g.names)); rows != nil {
				added[i].Bytes = total
			}
		}
		return nil
	}
	f.makeRagged(before, total)
	return nil
}

// makeRagged makes the fields from number before on, which are of the last object, such
// as have another shape in every sample.
func (f *factory) makeRagged(before int, total int64) {
	added := f.report.Fields[before:]
	b := &f.blob.Objects[len(f.blob.Objects)-1]
	b.Ragged = true
	fields, leaves := slices.Clone(added), slices.Clone(b.Leaves)
	f.report.Fields, b.Leaves = f.report.Fields[:before], nil
	for i, x := range fields {
		x.Bytes = total
		b.Leaves = append(b.Leaves, leaves[i])
		if x.Levels > 0 {
			f.report.Fields = append(f.report.Fields, x)
			continue
		}
		shape := shardify.Field{Name: x.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{len(x.Shape)}}
		x.Shape, x.Levels, x.Ragged = nil, 1, true
		b.Leaves = append(b.Leaves, shapeLeaf)
		f.report.Fields = append(f.report.Fields, x, survey.Field{Field: shape})
	}
}

// differs says why two data sets cannot be one field, "" if they can.
func differs(o *tree.Object, p *tree.Object) string {
	if len(o.Dims) != len(p.Dims) {
		return fmt.Sprintf("rank %d, elsewhere %d", len(p.Dims), len(o.Dims))
	}
	if len(o.Wanted) != len(p.Wanted) {
		return "another type"
	}
	for i := range o.Wanted {
		a, errA := o.Wanted[i].Leaf.Field("x", nil)
		b, errB := p.Wanted[i].Leaf.Field("x", nil)
		if o.Wanted[i].Index != p.Wanted[i].Index || o.Wanted[i].Leaf.Name != p.Wanted[i].Leaf.Name || (errA == nil) != (errB == nil) ||
			a.DType != b.DType || a.Levels != b.Levels || !slices.Equal(a.Shape, b.Shape) {
			return "another type"
		}
	}
	return ""
}

// groupAxis is the value of --sample for rows of the arrays in groups, as conformations of molecules are.
const groupAxis = "group-axis"

// chooseRows finds groups whose rows are samples. The arrays of the most axes, three or more, say how many there are.
func chooseRows(t *tree.Tree) (*Choice, error) {
	c, err := chooseGroups(t, true)
	if err != nil {
		return nil, err
	}
	g, err := sampleGroups(t, c)
	if err != nil || g == nil {
		return nil, err
	}
	leader := -1
	for m, name := range g.members {
		dims := t.Objects[g.first[0]+m].Dims
		switch {
		case len(dims) < 3 || leader >= 0 && len(dims) < len(t.Objects[g.first[0]+leader].Dims):
			continue
		case leader < 0 || len(dims) > len(t.Objects[g.first[0]+leader].Dims):
			leader = m
			continue
		}
		for i, first := range g.first {
			if a, b := &t.Objects[first+leader], &t.Objects[first+m]; a.Dims[0] != b.Dims[0] {
				return nil, shardify.Mismatch("%s/%s: %d rows of %s, %d of %s: --columns '!%s' leaves one out", g.parent, g.names[i], a.Dims[0], g.members[leader], b.Dims[0], name, name)
			}
		}
	}
	if leader < 0 {
		return nil, shardify.Mismatch("no array of three axes (rows, atoms, 3) in the groups %s says how many rows they have", g.pattern())
	}
	c.each = g.members[leader]
	c.Why = fmt.Sprintf("samples are the rows of %s in the groups %s", c.each, g.pattern())
	return c, nil
}

// mostRows is how many samples the groups of a file have at most.
const mostRows = 1 << 40

// rowsOf are the numbers of rows of the groups whose rows are samples; nil where groups are samples.
func rowsOf(f *factory, g *groupSet) (rows []int64, err error) {
	if f.choice.each == "" {
		return nil, nil
	}
	for name, err := range g.broken {
		return nil, shardify.Annotate(err, "", "", g.parent+"/"+name)
	}
	for _, name := range g.names {
		p := naming.Join(g.parent+"/"+name, f.choice.each)
		a, err := f.tree.File.Dataset(p)
		if err != nil {
			return nil, shardify.Annotate(err, "", "", p)
		}
		if len(a.Dims) < 2 {
			return nil, shardify.Annotate(shardify.Mismatch("it has no rows"), "", "", p)
		}
		if rows = append(rows, a.Rows); a.Rows > mostRows-f.report.Samples {
			return nil, shardify.Annotate(shardify.Corrupt(-1, "more than %d rows", int64(mostRows)), "", "", p)
		}
		f.report.Samples += a.Rows
	}
	return rows, nil
}

// perRow reports whether a member has a row for each sample of its group, and the shape that a sample has of it. Else
// all of it belongs to each sample, as the numbers of the atoms do.
func perRow(f *factory, g *groupSet, m int, rows []int64) (inner []int64, row bool, err error) {
	head := f.tree.Objects[g.first[0]+m].Dims
	if rows == nil {
		return head, false, nil
	}
	like, other, same, atoms := 0, -1, true, true
	for i, first := range g.first {
		dims := f.tree.Objects[first+m].Dims
		if len(dims) > 0 && dims[0] == rows[i] {
			like++
		} else {
			other = i
		}
		same = same && slices.Equal(dims, head)
		a, err := f.tree.File.Dataset(naming.Join(g.parent+"/"+g.names[i], f.choice.each))
		if err != nil {
			return nil, false, err
		}
		atoms = atoms && len(dims) > 0 && dims[0] == a.Dims[1]
	}
	name := g.members[m]
	switch {
	case like == len(rows) && atoms && len(head) < 3:
		return nil, false, shardify.Mismatch("%s has as many values as there are rows, and as there are atoms: the file does not say which it means; --columns '!%s' leaves it out", name, name)
	case like == len(rows):
		return head[1:], true, nil
	case like > 0 && !atoms && !same:
		return nil, false, shardify.Annotate(shardify.Mismatch("its first axis is not that of the %d rows of %s, as in other groups", rows[other], f.choice.each), "", "", naming.Join(g.parent+"/"+g.names[other], name))
	}
	return head, false, nil
}
