package sampleaxis

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
)

// Part is an array of an input, for the ways to choose samples where arrays have different
// lengths.
type Part struct {
	Path        string // with or without a / at its beginning
	Dim         string // the name of its first dimension, "" without
	Rows, Bytes int64
	// Beside: no column, but part of the others of its group, such as offsets of lists.
	Beside bool
}

// partKey is what the columns of one table have in common; group is "" for those of all groups.
type partKey struct {
	group, dim string
	rows       int64
}

// Lengths lists the ways to take rows of arrays as samples: those of one group that have one
// length, and those of one length wherever they are. Single rows are not among them. choose
// makes the settings that read some arrays, or all of a group.
func Lengths(parts []Part, choose func(paths []string) format.Way) []format.Way {
	in := map[partKey][]*Part{}
	below := map[string]int{} // columns, by the groups above them
	beside := map[string][]string{}
	var order []partKey
	add := func(k partKey, p *Part) {
		if in[k] == nil {
			order = append(order, k)
		}
		in[k] = append(in[k], p)
	}
	for i := range parts {
		p := &parts[i]
		if p.Beside {
			beside[path.Dir(p.Path)] = append(beside[path.Dir(p.Path)], p.Path)
			continue
		}
		for g := path.Dir(p.Path); ; g = path.Dir(g) {
			below[g]++
			if g == "/" || g == "." {
				break
			}
		}
		if p.Rows < 2 {
			continue
		}
		k := partKey{dim: p.Dim, rows: p.Rows}
		add(partKey{path.Dir(p.Path), k.dim, k.rows}, p)
		add(k, p)
	}
	var out []format.Way
	for _, k := range order {
		if k.group == "" && len(groupsOf(in[k])) < 2 {
			continue
		}
		if k.group != "" && k.group != "/" && k.group != "." && below[k.group] == len(in[k]) {
			out = append(out, wayOf(choose([]string{k.group}), in[k]))
			continue
		}
		var paths []string
		for _, p := range in[k] {
			paths = append(paths, p.Path)
		}
		for g := range groupsOf(in[k]) {
			paths = append(paths, beside[g]...)
		}
		slices.Sort(paths)
		if len(paths) <= mostPaths && !slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, ",") }) {
			out = append(out, wayOf(choose(paths), in[k]))
		}
	}
	slices.SortStableFunc(out, func(a, b format.Way) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// mostPaths is how many arrays a command names.
const mostPaths = 64

func groupsOf(parts []*Part) map[string]bool {
	out := map[string]bool{}
	for _, p := range parts {
		out[path.Dir(p.Path)] = true
	}
	return out
}

// wayOf says what a way to read arrays makes.
func wayOf(w format.Way, parts []*Part) format.Way {
	var names []string
	for _, p := range parts {
		names, w.Bytes = append(names, p.Path), w.Bytes+p.Bytes
	}
	w.Makes = fmt.Sprintf("%d samples of %s", parts[0].Rows, firstOf(names))
	return w
}

// firstOf lists the first names of many.
func firstOf(names []string) string {
	const most = 4
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}
