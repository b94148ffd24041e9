package hdf5

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/rows"
)

// A file may hold splits: the same data sets once for training and once for testing,
//
//	/train/x, /test/x     x_train, x_test     train_set_x, test_set_x     Xtrain, Xtest
//
// With OpenArgs.Splits each split is a part of the file's samples, whose fields have the
// names without that of the split. Otherwise it is doubtful what a sample is.

// splitTree is the data sets of one split.
type splitTree struct {
	name string
	tree *tree
}

// splits finds the splits of a file: training and others that have a data set in common
// with it. Data sets of no split are in none, single values in all. nil if there are none.
func (t *tree) splits() []splitTree {
	rests := map[string]map[string]int{} // by split: index of the object by its path without
	for i := range t.objects {
		if split, rest := rows.SplitOf(t.objects[i].path); split != "" {
			if rests[split] == nil {
				rests[split] = map[string]int{}
			}
			if _, twice := rests[split][rest]; twice {
				return nil
			}
			rests[split][rest] = i
		}
	}
	train := rests["train"]
	var out []splitTree
	for _, name := range rows.SplitNames {
		in := rests[name]
		shares := func(o int) bool { _, rest := rows.SplitOf(t.objects[o].path); _, ok := train[rest]; return ok }
		if train == nil || in == nil {
			continue
		}
		sub := *t
		sub.objects, sub.left = nil, leftovers{}
		n := 0
		for i := range t.objects {
			o := t.objects[i]
			split, rest := rows.SplitOf(o.path)
			switch {
			case split == name && (name == "train" || shares(i)):
				o.as = rest
				n++
			case len(o.dims) > 0 || split != "":
				continue
			}
			sub.objects = append(sub.objects, o)
		}
		if n > 0 {
			out = append(out, splitTree{name, &sub})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// doubtfulSplits is the error about splits that nobody asked for: without them lengths
// contradict each other, or the samples of one are taken for columns of the other. nil if
// there are none, or they are columns of samples that others are of, too: masks.
func (t *tree) doubtfulSplits() error {
	all := t.splits()
	if all == nil {
		return nil
	}
	in := map[string]bool{}
	var names []string
	for _, s := range all {
		names = append(names, s.name)
		for i := range s.tree.objects {
			in[s.tree.objects[i].path] = true
		}
	}
	n, same := t.common(func(o *object) bool { return len(o.dims) > 0 && in[o.path] })
	if same && slices.ContainsFunc(t.objects, func(o object) bool { return !in[o.path] && len(o.dims) > 0 && o.dims[0] == n }) {
		return nil
	}
	return shardify.Mismatch("it holds the splits %s: %s; --split-from objects makes data sets of them, --object or --columns takes one, --sample axis makes them columns of one sample, --sample file makes the file a sample",
		strings.Join(names, ", "), t.shapes())
}

// lookSplits is the facts of a file in parts, one for each split.
func (s *survey) lookSplits(ctx context.Context, t *tree) (*rows.Facts, error) {
	all := t.splits()
	if all == nil {
		return nil, shardify.Mismatch("it holds no splits such as /train/x and /test/x: %s", t.shapes())
	}
	in := map[string]bool{}
	var out *rows.Facts
	for _, x := range all {
		for i := range x.tree.objects {
			in[x.tree.objects[i].path] = true
		}
	}
	for i := range t.objects {
		if o := &t.objects[i]; !in[o.path] {
			t.left.note(o.path, "in none of the splits")
		}
	}
	for _, x := range all {
		x.tree.left = leftovers{list: slices.Clone(t.left.list)}
		c, err := s.splitChoice(x)
		if err != nil {
			return nil, err
		}
		facts, err := x.tree.facts(ctx, c, s.opts)
		if err != nil {
			return nil, err
		}
		facts.Part = x.name
		if out == nil {
			out = facts
		} else {
			out.More = append(out.More, facts)
		}
	}
	return out, s.sameFields(out)
}

// splitChoice is what the samples of a split are, decided by the first file that has it.
func (s *survey) splitChoice(x splitTree) (*choice, error) {
	if c := s.splits[x.name]; c != nil {
		return c, nil
	}
	c, err := x.tree.choose(s.opts.sample, 1)
	if err != nil {
		return nil, err
	}
	if c.why != "" {
		c.why = fmt.Sprintf("the split %s: %s", x.name, c.why)
	}
	return c, nil
}

// sameFields refuses splits with other fields than the first one, unless the user has said
// what to do about those.
func (s *survey) sameFields(f *rows.Facts) error {
	if s.missing != string(rows.Fail) {
		return nil
	}
	names := func(f *rows.Facts) (out []string) {
		for i := range f.Fields {
			out = append(out, f.Fields[i].Name)
		}
		return out
	}
	first := names(f)
	for _, m := range f.More {
		other := names(m)
		for _, pair := range [][2][]string{{first, other}, {other, first}} {
			for _, name := range pair[0] {
				if slices.Contains(pair[1], name) {
					continue
				}
				has, lacks := f.Part, m.Part
				if slices.Contains(other, name) {
					has, lacks = lacks, has
				}
				return shardify.Mismatch("the splits differ: field %s is in %s, not in %s; --missing intersect leaves it out, --missing fill writes empty values", name, has, lacks)
			}
		}
	}
	return nil
}

// decideSplits finds what the samples of each split are from the first input that has it.
func (s *survey) decideSplits(ctx context.Context, a shardify.OpenArgs) error {
	s.splits = map[string]*choice{}
	all, err := rows.NewWanted(nil)
	if err != nil {
		return err
	}
	for i := range min(a.Table.Len(), maxLooks) {
		if err := s.decideSplitsBy(ctx, a.Table.Path(i), all); err != nil {
			return shardify.Annotate(err, "open", a.Table.Shown(i), "")
		}
	}
	return nil
}

func (s *survey) decideSplitsBy(ctx context.Context, path string, want *rows.Wanted) error {
	f, err := s.file(ctx, path)
	if err != nil {
		return nil // the survey says so
	}
	defer f.Close()
	t, err := scan(ctx, f, s.opts, want, nil)
	if err != nil {
		return err
	}
	if len(t.concerned(want, nil)) > 0 {
		return nil // the survey says so
	}
	for _, x := range t.splits() {
		if s.splits[x.name] != nil {
			continue
		}
		if s.splits[x.name], err = s.splitChoice(x); err != nil {
			return err
		}
	}
	return nil
}
