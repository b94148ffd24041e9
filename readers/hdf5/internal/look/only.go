package look

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/columns"
)

// Only is the tree of the data sets that the globs want.
func (t *Tree) Only(globs []string) *Tree {
	sub := *t
	sub.objects, sub.some = nil, true
	want, err := columns.New(globs)
	if err != nil {
		return &sub
	}
	for _, o := range t.objects {
		for _, w := range o.wanted {
			if hit, _ := want.Match(o.ways(w.leaf.Name)...); hit {
				sub.objects = append(sub.objects, o)
				break
			}
		}
	}
	return &sub
}

// Match has all fields of the tree be wanted, as those of a scan are.
func (t *Tree) Match(want *columns.Wanted) {
	for i := range t.objects {
		for _, w := range t.objects[i].wanted {
			want.Match(t.objects[i].ways(w.leaf.Name)...)
		}
	}
}

// Empty reports whether the tree has no data sets.
func (t *Tree) Empty() bool { return len(t.objects) == 0 }

// LeavesAll reports whether the choice leaves nothing of a tree.
func (c *Choice) LeavesAll(t *Tree) bool {
	return !slices.ContainsFunc(t.objects, func(o object) bool { return c.left[o.path] == "" })
}

// Nothing says why a file has no data sets to offer; all of them were wanted, or some.
func (t *Tree) Nothing(all bool) error {
	if err := t.Kind.Refused(); err != nil {
		return err
	}
	if left := t.left.list; len(left) > 0 {
		return shardify.Unsupported("no data sets to read: %s: %s", left[0].Name, left[0].Reason)
	}
	if all {
		return shardify.Mismatch("it holds no data sets (attributes are not read)")
	}
	return shardify.Misuse("there are no data sets that --object and --columns want")
}
