package look

import (
	"slices"

	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// concerns reports whether damage at a path is in something that is wanted. The samples may
// be groups of which it is one.
func concerns(t *tree.Tree, want *columns.Wanted, c *Choice, p string) bool {
	if p == "/" {
		return true
	}
	if want.Excluded(naming.Ways(p, "")...) || want.Whole(p) {
		return false
	}
	if hit, _ := want.Match(naming.Ways(p, "")...); hit || want.Within(p) {
		return true
	}
	if c != nil {
		return c.Mode == tree.ByGroup && c.sampleGroup("/"+p) != "" || c.Mode == tree.ByItem && c.Types[naming.Group("/"+p)] != ""
	}
	return slices.ContainsFunc(groupSets(t, true), func(g *groupSet) bool { return len(g.broken) > 0 })
}

// Concerned lists the damage in what is wanted.
func Concerned(t *tree.Tree, want *columns.Wanted, c *Choice) []survey.Damage {
	return slices.DeleteFunc(t.File.Damage(), func(d survey.Damage) bool { return !concerns(t, want, c, d.Object) })
}

// Place says for damage in a file which samples cannot be read for it.
func Place(t *tree.Tree, c *Choice, list []survey.Damage) []survey.Damage {
	if c != nil && c.Mode == tree.ByItem {
		placeItems(t, c, list)
	}
	if c == nil || c.Mode != tree.ByGroup || c.each != "" {
		return list
	}
	g, err := sampleGroups(t, c)
	if g == nil || err != nil {
		return list
	}
	all := g.all()
	for i := range list {
		if k := slices.Index(all, c.sampleGroup("/"+list[i].Object)); k >= 0 {
			list[i].Lo, list[i].Hi = int64(k), int64(k)+1
		}
	}
	return list
}
