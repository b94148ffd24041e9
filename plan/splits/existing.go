package splits

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/walk"
)

// ByObject makes parts of the splits that the inputs hold, beside those that are known.
func (s *Rule) ByObject(src shardify.Source) error {
	var ranges []format.SplitRange
	if p, ok := src.(format.Splitter); ok {
		ranges = p.Splits()
	}
	if len(ranges) == 0 {
		return shardify.Mismatch("--split-from objects: the inputs hold no splits; HDF5 files with data sets such as /train/x and /test/x do")
	}
	s.Inputs = nil
	names := map[string]int{}
	for k := range s.Parts {
		names[s.Parts[k].Name] = k
	}
	for _, x := range ranges {
		k, ok := names[x.Name]
		if !ok {
			k, names[x.Name] = len(s.Parts), len(s.Parts)
			s.Parts = append(s.Parts, Part{Name: x.Name})
		}
		r := InputPart{End: x.Input, Samples: x.End, Part: k}
		n := len(s.Inputs)
		switch {
		case n > 0 && s.Inputs[n-1].Part == k:
			s.Inputs[n-1] = r
		case n == 0 || r.follows(&s.Inputs[n-1]):
			s.Inputs = append(s.Inputs, r)
		}
	}
	return s.Check()
}

// matches reports whether a glob names an input, which has a slash path below its INPUT
// argument: the whole path, a folder above it, or its last part.
func matches(glob, name string) bool {
	for at := range len(name) + 1 {
		if at == len(name) || name[at] == '/' {
			if ok, _ := path.Match(glob, name[:at]); ok {
				return true
			}
		}
	}
	if strings.Contains(glob, "/") {
		return false
	}
	ok, _ := path.Match(glob, path.Base(name))
	return ok
}

// ByInput settles a split by input names: every input has exactly one part,
// and folders become parts.
func (s *Rule) ByInput(t *format.Table) error {
	if t.Len() == 0 {
		return shardify.Mismatch("the inputs have no names to split by")
	}
	if s.Dirs {
		return s.byDir(t)
	}
	if len(s.Inputs) > 0 {
		return nil
	}
	hits := make([]int, len(s.Parts))
	var none, twice []string
	for i := range t.Len() {
		n := 0
		for k := range s.Parts {
			if matches(s.Parts[k].Glob, t.Name(i)) {
				hits[k]++
				n++
				s.assign(i, k)
			}
		}
		switch {
		case n == 0:
			none = append(none, t.Name(i))
		case n > 1:
			twice = append(twice, t.Name(i))
		}
	}
	switch {
	case len(none) > 0:
		return shardify.Mismatch("%d inputs belong to no split: %s", len(none), someOf(none))
	case len(twice) > 0:
		return shardify.Mismatch("%d inputs belong to several splits: %s", len(twice), someOf(twice))
	}
	for k, n := range hits {
		if n == 0 {
			return shardify.Mismatch("split %s: no input matches %q", s.Parts[k].Name, s.Parts[k].Glob)
		}
	}
	return nil
}

// assign gives input i, the next one, to a part.
func (s *Rule) assign(i, part int) {
	if n := len(s.Inputs); n > 0 && s.Inputs[n-1].Part == part {
		s.Inputs[n-1].End = uint32(i + 1)
		return
	}
	s.Inputs = append(s.Inputs, InputPart{End: uint32(i + 1), Part: part})
}

// Found names the folders that are splits, as their names say: all that byDir would
// take, if they are several and all named so. They are in order.
func Found(t *format.Table) []string {
	if t == nil {
		return nil
	}
	names := map[string]bool{}
	for i := range t.Len() {
		dir, ok := folder(t, i)
		if !ok || !walk.IsSplit(dir) {
			return nil
		}
		names[dir] = true
	}
	if len(names) < 2 {
		return nil
	}
	return slices.Sorted(maps.Keys(names))
}

// folder is the folder that may say which split input i is of: its INPUT if there are
// several, else the first in it. It need not exist.
func folder(t *format.Table, i int) (string, bool) {
	if len(t.Roots) > 1 && len(t.NameBytes(i)) > 0 && t.Roots[t.Root(i)] != "" {
		return filepath.Base(t.Roots[t.Root(i)]), true
	}
	dir, _, ok := strings.Cut(t.Name(i), "/")
	return dir, ok
}

// byDir makes a part of each folder: those given as INPUT if they are several, else
// those in it; beside the parts that are known.
func (s *Rule) byDir(t *format.Table) error {
	dirs := make([]string, t.Len())
	names := map[string]int{}
	for k := range s.Parts {
		names[s.Parts[k].Name] = 0
	}
	var none []string
	for i := range dirs {
		dir, ok := folder(t, i)
		if !ok {
			none = append(none, t.Name(i))
		}
		dirs[i] = dir
		if names[dir]++; len(names) > most {
			return shardify.Mismatch("more than %d folders: these are not splits", most)
		}
	}
	if len(none) > 0 {
		return shardify.Mismatch("%d inputs are in no folder that could name a split: %s", len(none), someOf(none))
	}
	s.Parts, s.Inputs = nil, nil
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		names[dir] = len(s.Parts)
		s.Parts = append(s.Parts, Part{Name: dir})
	}
	for i, dir := range dirs {
		s.assign(i, names[dir])
	}
	return s.Check()
}

// someOf lists the first three of many.
func someOf(list []string) string {
	if len(list) > 3 {
		return strings.Join(list[:3], ", ") + ", ..."
	}
	return strings.Join(list, ", ")
}
