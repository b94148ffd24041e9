package schema

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tfrecord"
)

// steps are what a record has many of, each of which becomes a sample: the values of a group of features.json, or
// the lists of a SequenceExample.
type steps struct {
	group string
	// values are those of one step, by key; 0 of a key that cannot be cut into steps. Without any, steps are in lists.
	values map[string]int
}

// theSteps are the steps of records that features.json describes, if it does.
func (n *Named) theSteps() (*steps, error) {
	s := &steps{values: map[string]int{}}
	if n == nil || n.Fields != nil {
		return s, nil
	}
	var groups []string
	for _, spec := range n.Specs {
		if spec.Sequence && !slices.Contains(groups, spec.Group) {
			groups = append(groups, spec.Group)
		}
	}
	slices.Sort(groups)
	switch {
	case slices.Contains(groups, "steps"): // the name that RLDS has for them
		s.group = "steps"
	case len(groups) == 1:
		s.group = groups[0]
	case groups != nil:
		return nil, shardify.Unsupported("the sequences %s: which are steps? RLDS calls them steps", strings.Join(groups, ", "))
	}
	for key, spec := range n.Specs {
		if !spec.Sequence || spec.Group != s.group {
			continue
		}
		s.values[key] = 1
		if spec.DType == shardify.Invalid && len(spec.Shape) > 0 {
			s.values[key] = 0
		}
		if spec.DType != shardify.Invalid && spec.Packed == "" {
			s.values[key] = product(spec.Shape)
		}
	}
	return s, nil
}

// product is the number of values of a shape; 0 where that differs, or is too large.
func product(shape []int) int {
	n := 1
	for _, d := range shape {
		if d <= 0 || n > 1<<31/d {
			return 0
		}
		n *= d
	}
	return n
}

// of reports whether a key is one of steps, and how many values one step has.
func (s *steps) of(k key) (values int, ok bool) {
	switch {
	case s == nil:
	case k.list:
		return 0, len(s.values) == 0
	case s.group != "" && (k.name == s.group || strings.HasPrefix(k.name, s.group+"/")):
		return s.values[k.name], true
	}
	return 0, false
}

// CountSteps parses a record, and says how many steps it has, all keys as many. values are those of a step by key;
// without any, steps are in lists.
func CountSteps(values map[string]int, x *tfrecord.Example, v *tfrecord.Value, record []byte) (int, error) {
	if err := parse(x, record); err != nil {
		return 0, err
	}
	n, first := -1, ""
	see := func(k int, key []byte) error {
		if n >= 0 && k != n {
			return shardify.Corrupt(-1, "%d steps of %s, and %d of %.100s", n, first, k, key)
		}
		n, first = k, string(key)
		return nil
	}
	if len(values) == 0 {
		for _, e := range x.Lists {
			k := 0
			err := tfrecord.Steps(e.Value, func([]byte) error { k++; return nil })
			if err == nil {
				err = see(k, e.Key)
			}
			if err != nil {
				return 0, err
			}
		}
		return max(n, 0), nil
	}
	for _, e := range x.Features {
		one := values[string(e.Key)]
		if one == 0 {
			continue
		}
		err := v.Parse(e.Value)
		if err == nil && v.Count%one != 0 {
			err = shardify.Corrupt(-1, "%d values of %s, %d a step", v.Count, e.Key, one)
		}
		if err == nil && v.Kind != tfrecord.None { // as if it was not there
			err = see(v.Count/one, e.Key)
		}
		if err != nil {
			return 0, err
		}
	}
	return max(n, 0), nil
}

// ofStep makes the field that of one step. spec is what features.json says of all.
func (l *Leaf) ofStep(f *File, spec *tfrecord.Spec, known bool) (why string) {
	if l.Step = true; l.List {
		return ""
	}
	if f.steps.values[l.Key] == 0 || !known {
		return tfrecord.FeaturesName + " does not say how many values a step has"
	}
	spec.Sequence, spec.Length = false, -1
	return ""
}
