package npz

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
)

// split is the arrays of one split: x_train and y_train.
type split struct {
	name string
	keys []string
	n    int64 // samples; -1 if they differ
}

// splitsOf finds the splits, training and others that have an array in common with it, or
// nil. rest are the arrays of no split.
func splitsOf(cands []candidate) (all []split, rest []candidate) {
	in := map[string]map[string]bool{} // by split: the names without it
	for _, a := range cands {
		name, short := sampleaxis.SplitOf(a.Key)
		if in[name] == nil {
			in[name] = map[string]bool{}
		}
		in[name][short] = len(a.Shape) > 0
	}
	for _, name := range sampleaxis.SplitNames {
		s := split{name: name}
		for _, a := range cands {
			of, short := sampleaxis.SplitOf(a.Key)
			if of != name || len(a.Shape) == 0 || name != "train" && !in["train"][short] {
				continue
			}
			if s.keys = append(s.keys, a.Key); len(s.keys) == 1 {
				s.n = a.Shape[0]
			} else if s.n != a.Shape[0] {
				s.n = -1
			}
		}
		if len(s.keys) > 0 {
			all = append(all, s)
		}
	}
	if len(all) < 2 || all[0].name != "train" {
		return nil, nil
	}
	rest = slices.DeleteFunc(slices.Clone(cands), func(a candidate) bool {
		return slices.ContainsFunc(all, func(s split) bool { return slices.Contains(s.keys, a.Key) })
	})
	return all, rest
}

// splits refuses arrays of several splits: the samples of one are no columns of the
// other's. They are, if the user says so, or if there are other columns of the same
// samples: masks.
func (c *chooser) splits(cands []candidate) error {
	all, rest := splitsOf(cands)
	if all == nil || c.byFile || c.counts {
		return nil
	}
	same := !slices.ContainsFunc(all, func(s split) bool { return s.n < 0 || s.n != all[0].n })
	masks := slices.ContainsFunc(rest, func(a candidate) bool { return len(a.Shape) > 0 && a.Shape[0] == all[0].n })
	if same && (c.firm || masks || !slices.ContainsFunc(cands, func(a candidate) bool { return !a.exact })) {
		return nil
	}
	var names, sides []string
	var ways []format.Way
	for _, s := range all {
		names, sides = append(names, s.name), append(sides, s.text())
		ways = append(ways, format.Way{Columns: s.keys, Makes: "a set of " + s.name})
	}
	if same {
		ways = append(ways, format.Way{Options: format.Options{sampleaxis.SampleOption: sampleaxis.SampleAxis}, Makes: "them columns of the same samples"})
	}
	ways = append(ways, format.Way{Options: format.Options{sampleaxis.SampleOption: sampleaxis.SampleFile}, Makes: "each file one sample"})
	return format.NewAmbiguous(fmt.Sprintf("it holds the splits %s: %s", strings.Join(names, ", "), strings.Join(sides, "; ")), ways)
}

// splitFiles refuses .npy files that are splits by their names, x_train.npy and x_test.npy:
// rows of the one do not follow those of the other, unless the user says so.
func (b *groupBuilder) splitFiles(g *group) error {
	if !b.ref.NpyFile || b.firm || b.choose.byFile {
		return nil
	}
	in := map[string]map[string]string{} // by split and name without it: the first file
	for i := range g.files {
		base := path.Base(b.table.Name(int(g.files[i].input)))
		name, short := sampleaxis.SplitOf(strings.TrimSuffix(base, path.Ext(base)))
		short = strings.TrimRight(short, "0123456789_-. ") // of a series
		if in[name] == nil {
			in[name] = map[string]string{}
		}
		if in[name][short] == "" {
			in[name][short] = b.table.Shown(int(g.files[i].input))
		}
	}
	if len(in[""]) > 0 {
		return nil
	}
	for _, name := range sampleaxis.SplitNames[1:] {
		for _, short := range slices.Sorted(maps.Keys(in["train"])) {
			if file := in[name][short]; file != "" {
				return shardify.Mismatch("the files are splits by their names, %s and %s: convert each split by itself; --sample axis makes rows of one field of them, which --split-from 'train=*train*,%s=*%[3]s*' parts; --sample file makes each file one sample",
					in["train"][short], file, name)
			}
		}
	}
	return nil
}

func (s *split) text() string {
	keys := strings.Join(s.keys, ", ")
	if s.n < 0 {
		return keys + " of different lengths"
	}
	return fmt.Sprintf("%s %d", keys, s.n)
}
