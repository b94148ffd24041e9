package look

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// byGroup makes fields of the members that all sample groups have.
func (f *factory) byGroup(ctx context.Context) error {
	g, err := f.groups()
	if err != nil {
		return err
	}
	if g == nil {
		return f.noGroups()
	}
	f.report.Samples = int64(len(g.all()))
	in := make(map[int]bool, len(g.names)*len(g.members))
	for _, first := range g.first {
		for m := range g.members {
			in[first+m] = true
		}
	}
	for i := range f.tree.objects {
		if !in[i] && g.broken[f.choice.sampleGroup(f.tree.objects[i].path)] == nil {
			f.tree.left.note(f.tree.objects[i].path, fmt.Sprintf("not in one of the groups %s/%s*", f.choice.parent, f.choice.stem))
		}
	}
	if err := f.strays(g, in); err != nil {
		return err
	}
	for m, name := range g.members {
		if err := f.member(g, m, name); err != nil {
			return err
		}
	}
	return nil
}

// noGroups is the error about a file without sample groups: its samples would be missing
// without a word.
func (f *factory) noGroups() error {
	what := "no data sets"
	if len(f.tree.objects) > 0 {
		what = f.tree.shapes()
	}
	return shardify.Mismatch("there are no groups %s/%s*, which are the samples elsewhere; it has %s", f.choice.parent, f.choice.stem, what)
}

// strays refuses groups beside the sample groups that hold the same data sets, under
// another name: they may be samples, too.
func (f *factory) strays(g *groupSet, in map[int]bool) error {
	for i := range f.tree.objects {
		p := f.tree.objects[i].path
		rest, ok := strings.CutPrefix(p, g.parent+"/")
		name, member, below := strings.Cut(rest, "/")
		if in[i] || !ok || !below || len(g.members) == 0 || member != g.members[0] {
			continue
		}
		same := true
		for k, m := range g.members {
			same = same && i+k < len(f.tree.objects) && f.tree.objects[i+k].path == g.parent+"/"+name+"/"+m
		}
		if same && f.choice.sampleGroup(p) == "" {
			return shardify.Mismatch("%s/%s holds the same data sets as the samples %s/%s*: --columns '!%s' leaves it out, or --object selects", g.parent, name, g.parent, f.choice.stem, strings.TrimPrefix(g.parent+"/"+name, "/"))
		}
	}
	return nil
}

// groups finds the sample groups of this file; nil if it has none.
func (f *factory) groups() (*groupSet, error) {
	for _, g := range f.tree.groupSets(f.choice.numbered) {
		if g.parent != f.choice.parent || g.stem != f.choice.stem {
			continue
		}
		if g.bad != "" {
			return nil, shardify.Mismatch("in %s/ %s", g.parent, g.bad)
		}
		return g, nil
	}
	return nil, nil
}

// member makes fields of member m of every group.
func (f *factory) member(g *groupSet, m int, name string) error {
	head := &f.tree.objects[g.first[0]+m]
	ragged, packed, total := false, false, int64(0)
	for i, first := range g.first {
		o := &f.tree.objects[first+m]
		err := f.backed(o, math.MaxInt64, new(int64))
		if why := head.differs(o); why != "" {
			return shardify.Annotate(shardify.Mismatch("%s in %s; --columns '!%s' leaves it out", why, g.names[i], name), "", "", o.path)
		}
		if err != nil {
			if head.exact() {
				return shardify.Annotate(err, "", "", o.path)
			}
			f.tree.leave(name, err)
			return nil
		}
		packed = packed || slices.ContainsFunc(o.wanted, func(w wantedLeaf) bool { return w.leaf.CF != nil })
		ragged = ragged || !slices.Equal(head.dims, o.dims)
		total += o.bytes
	}
	before := len(f.report.Fields)
	if err := f.add(head, name, head.dims, false); err != nil {
		return err
	}
	added := f.report.Fields[before:]
	if len(added) > 0 && packed { // each group by its own attributes, also where the first has none
		f.blob.Objects[len(f.blob.Objects)-1].CF = true
	}
	if !ragged || len(added) == 0 {
		for i := range added {
			added[i].Bytes *= int64(len(g.names))
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
func (o *object) differs(p *object) string {
	if len(o.dims) != len(p.dims) {
		return fmt.Sprintf("rank %d, elsewhere %d", len(p.dims), len(o.dims))
	}
	if len(o.wanted) != len(p.wanted) {
		return "another type"
	}
	for i := range o.wanted {
		a, errA := o.wanted[i].leaf.Field("x", nil)
		b, errB := p.wanted[i].leaf.Field("x", nil)
		if o.wanted[i].index != p.wanted[i].index || o.wanted[i].leaf.Name != p.wanted[i].leaf.Name || (errA == nil) != (errB == nil) ||
			a.DType != b.DType || a.Levels != b.Levels || !slices.Equal(a.Shape, b.Shape) {
			return "another type"
		}
	}
	return ""
}
