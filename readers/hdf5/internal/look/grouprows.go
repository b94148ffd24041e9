package look

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
)

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
func (f *factory) rowsOf(g *groupSet) (rows []int64, err error) {
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
func (f *factory) perRow(g *groupSet, m int, rows []int64) (inner []int64, row bool, err error) {
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
