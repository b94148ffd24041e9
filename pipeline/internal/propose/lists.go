package propose

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
)

// listBytes is the most that is read of a list of names.
const listBytes = 16 << 20

// splitLists proposes the splits that lists of names make, as those of Pascal VOC: train.txt, val.txt.
func splitLists(ctx context.Context, src shardify.Source, t *format.Table) *Proposal {
	if splits.Found(format.FoldersOf(src, t)) != nil {
		return nil
	}
	root := t.Roots[0]
	for _, dir := range []string{root, storage.Join(root, "ImageSets/Main"), storage.Join(root, "ImageSets/Segmentation"), storage.Join(root, "ImageSets")} {
		if value := listsIn(ctx, src, t, dir); value != "" {
			return &Proposal{Settings: format.Options{format.SplitFrom: value}, Why: "the samples of splits are listed in " + dir}
		}
	}
	return nil
}

// listsIn is the value of --split-from for the lists in a folder that name samples; "" for fewer than two.
func listsIn(ctx context.Context, src shardify.Source, t *format.Table, dir string) string {
	var found []string
	for e, err := range storages.Of(t).List(ctx, dir) {
		if err != nil {
			return ""
		}
		if stem, ok := strings.CutSuffix(e.Name, ".txt"); ok && (walk.IsSplit(stem) || stem == both) && e.Type == storage.Regular && e.Size <= listBytes {
			found = append(found, stem)
		}
	}
	if len(found) < 2 {
		return ""
	}
	if slices.Contains(found, "train") {
		found = slices.DeleteFunc(found, func(s string) bool { return s == both })
	}
	slices.Sort(found)
	names, taken := namesOfFiles(src, t), map[string]bool{}
	var out []string
	for _, stem := range found {
		file := storage.Join(dir, stem+".txt")
		switch n, apart := listed(ctx, t, file, names, taken); {
		case !apart:
			return ""
		case n > 0:
			out = append(out, stem+"=@"+file)
		}
	}
	if len(out) < 2 || strings.Contains(dir, ",") {
		return ""
	}
	return strings.Join(out, ",")
}

// both is the list of those of train and val.
const both = "trainval"

// listed counts the names of samples in a list; 0 if more than a tenth of its names are others. apart: no
// list before had one of them.
func listed(ctx context.Context, t *format.Table, file string, names map[string]int, taken map[string]bool) (n int, apart bool) {
	f, err := storages.Of(t).Open(ctx, file)
	if err != nil {
		return 0, true
	}
	defer f.Close()
	text, err := storage.ReadWhole(f, file, listBytes)
	if err != nil {
		return 0, true
	}
	all, mine := 0, map[string]bool{}
	for line := range bytes.Lines(text) {
		name := strings.TrimSpace(string(line))
		if name == "" || mine[name] {
			continue
		}
		mine[name] = true
		if all++; names[name] > 0 || names[path.Base(name)] > 0 || names[strings.TrimSuffix(path.Base(name), path.Ext(name))] > 0 {
			n++
		}
		if taken[name] {
			return 0, false
		}
	}
	for name := range mine {
		taken[name] = true
	}
	if 10*n < 9*all {
		n = 0
	}
	return n, true
}
