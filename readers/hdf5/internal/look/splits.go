package look

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/tree"
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
	Tree *tree.Tree
}

// Splits finds the splits of a file, training and others that have a data set in common
// with it, or nil. Data sets of no split are in none, single values in all.
func Splits(t *tree.Tree) []SplitTree {
	rests := map[string]map[string]int{} // by split: index of the object by its path without
	for i := range t.Objects {
		if split, rest := sampleaxis.SplitOf(t.Objects[i].Path); split != "" {
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
		shares := func(o int) bool { _, rest := sampleaxis.SplitOf(t.Objects[o].Path); _, ok := train[rest]; return ok }
		if train == nil || in == nil {
			continue
		}
		sub := *t
		sub.Objects, sub.Left = nil, nil
		n := 0
		for i := range t.Objects {
			o := t.Objects[i]
			split, rest := sampleaxis.SplitOf(o.Path)
			switch {
			case split == name && (name == "train" || shares(i)):
				o.As = rest
				n++
			case len(o.Dims) > 0 || split != "":
				continue
			}
			sub.Objects = append(sub.Objects, o)
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
func (s *chooser) doubtfulSplits() error {
	t := s.t
	all := Splits(t)
	if all == nil {
		return nil
	}
	in := map[string]bool{}
	var names []string
	for _, x := range all {
		names = append(names, x.Name)
		for i := range x.Tree.Objects {
			in[x.Tree.Objects[i].Path] = true
		}
	}
	n, same := common(t, func(o *tree.Object) bool { return len(o.Dims) > 0 && in[o.Path] })
	if same && slices.ContainsFunc(t.Objects, func(o tree.Object) bool { return !in[o.Path] && len(o.Dims) > 0 && o.Dims[0] == n }) {
		return nil
	}
	ways := []format.Way{{Options: format.Options{format.SplitFrom: "objects"}, Makes: "a data set of each"}}
	for _, x := range all {
		var paths []string
		for i := range x.Tree.Objects {
			if o := &x.Tree.Objects[i]; o.As != "" {
				paths = append(paths, o.Path)
			}
		}
		ways = append(ways, format.Way{Options: format.Options{"object": strings.Join(paths, ",")}, Makes: "samples of " + x.Name})
	}
	if _, err := s.by(string(tree.ByAxis)); err == nil {
		ways = append(ways, sampleWay(tree.ByAxis, "them columns of one sample"))
	}
	return format.NewAmbiguous("it holds the splits "+strings.Join(names, ", ")+": "+shapes(t), append(ways, sampleWay(tree.ByFile, "each file one sample")))
}

// SplitParts are the splits of a file that is read by splits; what is in none is left over.
func SplitParts(t *tree.Tree) ([]SplitTree, error) {
	all := Splits(t)
	if all == nil {
		return nil, shardify.Mismatch("it holds no splits such as /train/x and /test/x: %s", shapes(t))
	}
	in := map[string]bool{}
	for _, x := range all {
		for i := range x.Tree.Objects {
			in[x.Tree.Objects[i].Path] = true
		}
	}
	for i := range t.Objects {
		if o := &t.Objects[i]; !in[o.Path] {
			t.Omit(o.Path, "in none of the splits")
		}
	}
	for _, x := range all {
		x.Tree.Left = slices.Clone(t.Left)
	}
	return all, nil
}

// LeavesAll reports whether the choice leaves nothing of a tree.
func (c *Choice) LeavesAll(t *tree.Tree) bool {
	return !slices.ContainsFunc(t.Objects, func(o tree.Object) bool { return c.left[o.Path] == "" })
}

// Nothing says why a file has no data sets to offer; all of them were wanted, or some.
func Nothing(t *tree.Tree, all bool) error {
	if err := t.Kind.Refused(); err != nil {
		return err
	}
	if left := t.Left; len(left) > 0 {
		return shardify.Unsupported("no data sets to read: %s: %s", left[0].Name, left[0].Reason)
	}
	if all {
		return shardify.Mismatch("it holds no data sets (attributes are not read)")
	}
	return shardify.Misuse("there are no data sets that --object and --columns want")
}
