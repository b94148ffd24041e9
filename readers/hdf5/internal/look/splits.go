package look

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// A file may hold splits: the same data sets once for training and once for testing,
//
//	/train/x, /test/x     x_train, x_test     train_set_x, test_set_x     Xtrain, Xtest
//
// With OpenArgs.Splits each split is a part of the file's samples, whose fields have the
// names without that of the split. Otherwise it is doubtful what a sample is.

// SplitTree is the data sets of one split.
type SplitTree struct {
	Name string
	Tree *Tree
}

// Splits finds the splits of a file, training and others that have a data set in common
// with it, or nil. Data sets of no split are in none, single values in all.
func (t *Tree) Splits() []SplitTree {
	rests := map[string]map[string]int{} // by split: index of the object by its path without
	for i := range t.objects {
		if split, rest := sampleaxis.SplitOf(t.objects[i].path); split != "" {
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
	var out []SplitTree
	for _, name := range sampleaxis.SplitNames {
		in := rests[name]
		shares := func(o int) bool { _, rest := sampleaxis.SplitOf(t.objects[o].path); _, ok := train[rest]; return ok }
		if train == nil || in == nil {
			continue
		}
		sub := *t
		sub.objects, sub.left = nil, leftovers{}
		n := 0
		for i := range t.objects {
			o := t.objects[i]
			split, rest := sampleaxis.SplitOf(o.path)
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
			out = append(out, SplitTree{name, &sub})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// doubtfulSplits is the error about splits that the user did not ask for, and without which
// lengths contradict each other, or the samples of one are taken for columns of the other.
// It is nil without splits, or if they are columns of samples that others are of, too:
// masks.
func (t *Tree) doubtfulSplits(inputs int) error {
	all := t.Splits()
	if all == nil {
		return nil
	}
	in := map[string]bool{}
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
		for i := range s.Tree.objects {
			in[s.Tree.objects[i].path] = true
		}
	}
	n, same := t.common(func(o *object) bool { return len(o.dims) > 0 && in[o.path] })
	if same && slices.ContainsFunc(t.objects, func(o object) bool { return !in[o.path] && len(o.dims) > 0 && o.dims[0] == n }) {
		return nil
	}
	ways := []format.Way{{Options: format.Options{format.SplitFrom: "objects"}, Makes: "a data set of each"}}
	for _, s := range all {
		var paths []string
		for i := range s.Tree.objects {
			if o := &s.Tree.objects[i]; o.as != "" {
				paths = append(paths, o.path)
			}
		}
		ways = append(ways, format.Way{Options: format.Options{"object": strings.Join(paths, ",")}, Makes: "samples of " + s.Name})
	}
	if _, err := t.Choose(string(ByAxis), inputs); err == nil {
		ways = append(ways, sampleWay(ByAxis, "them columns of one sample"))
	}
	return format.NewAmbiguous("it holds the splits "+strings.Join(names, ", ")+": "+t.shapes(), append(ways, sampleWay(ByFile, "each file one sample")))
}

// SplitParts are the splits of a file that is read by splits; what is in none is left over.
func (t *Tree) SplitParts() ([]SplitTree, error) {
	all := t.Splits()
	if all == nil {
		return nil, shardify.Mismatch("it holds no splits such as /train/x and /test/x: %s", t.shapes())
	}
	in := map[string]bool{}
	for _, x := range all {
		for i := range x.Tree.objects {
			in[x.Tree.objects[i].path] = true
		}
	}
	for i := range t.objects {
		if o := &t.objects[i]; !in[o.path] {
			t.left.note(o.path, "in none of the splits")
		}
	}
	for _, x := range all {
		x.Tree.left = leftovers{list: slices.Clone(t.left.list)}
	}
	return all, nil
}

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
