package store

import (
	"path"
	"slices"
)

// Names are the names in each group, sorted.
func (t *Tree) Names() map[string][]string {
	kids := map[string][]string{}
	add := func(p string) {
		for p != "" {
			group, name := path.Split(p)
			group = path.Clean("/" + group)[1:]
			_, known := kids[group]
			kids[group] = append(kids[group], name)
			if p = group; known {
				break // it is in the groups above it
			}
		}
	}
	for i := range t.Arrays {
		add(t.Arrays[i].Path)
	}
	for p := range t.Groups {
		if kids[p] == nil {
			add(p)
			kids[p] = []string{}
		}
	}
	for p, names := range kids {
		slices.Sort(names)
		kids[p] = slices.Compact(names)
	}
	return kids
}
