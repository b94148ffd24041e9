package propose

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// cocoFiles proposes files of COCO in the folder of the images, or in annotations below it: those
// whose names begin alike are the tables of several splits.
func cocoFiles(ctx context.Context, t *format.Table) (out []Proposal) {
	fs, looked := storages.Of(t), 0
	var kinds []string
	files := map[string][]string{}
	for _, dir := range []string{t.Roots[0], storage.Join(t.Roots[0], "annotations")} {
		var names []string
		for e, err := range fs.List(ctx, dir) {
			if err != nil || len(names) == mostTables {
				break
			}
			if strings.EqualFold(path.Ext(e.Name), ".json") && e.Type == storage.Regular {
				names = append(names, e.Name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			file := storage.Join(dir, name)
			if looked++; looked > mostTables || !jsonl.IsCOCO(ctx, fs, file) {
				continue
			}
			kind, _, _ := strings.Cut(name, "_")
			if files[kind] == nil {
				kinds = append(kinds, kind)
			}
			files[kind] = append(files[kind], file)
		}
	}
	for _, kind := range kinds {
		out = append(out, Proposal{Options: true, Missing: []string{"", "fill", "drop"}, Settings: format.Options{"labels": strings.Join(files[kind], ",")},
			Why: path.Base(files[kind][0]) + " has annotations of the images"})
	}
	return out
}
