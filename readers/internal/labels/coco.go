package labels

import (
	"context"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/readers/internal/coco"
	"github.com/shardify/shardify/readers/jsonl"
	"github.com/shardify/shardify/storage"
)

// readCOCO reads those files of --labels that are of COCO, whose images have names: one table of
// all files of a kind, with the wanted columns. It returns the others.
func readCOCO(ctx context.Context, fs storage.FS, list []spec, want func(column string) bool, jobs int) (tables []*Table, others []spec, err error) {
	var files []string
	fill, first := false, spec{}
	for _, s := range list {
		if !jsonl.IsCOCO(ctx, fs, s.file) || slices.ContainsFunc(s.options, func(w string) bool { return strings.HasPrefix(w, "object=") }) {
			others = append(others, s)
			continue
		}
		for _, w := range s.options {
			if w != "null-items=fill" {
				return nil, nil, shardify.Misuse("--labels %s: files of COCO take null-items=fill, and no %s", s.text, w)
			}
			fill = true
		}
		if s.on != "" || s.rows != rowsOne || s.counter != "rows" {
			return nil, nil, shardify.Misuse("--labels %s: images of COCO are joined by file_name, and annotations are lists: leave out on=, rows= and NAME=", s.text)
		}
		if files = append(files, s.file); first.file == "" {
			first = s
		}
	}
	if files == nil {
		return nil, others, nil
	}
	all, err := coco.Read(ctx, fs, files, coco.Options{Fill: fill, Want: want, Jobs: jobs})
	if err != nil {
		return nil, nil, err
	}
	for _, c := range all {
		t := &Table{File: c.File, Key: "file_name", Left: c.Left, Unread: c.Unread, spec: first}
		for i := range c.Columns {
			if err := shardify.ValidName(c.Columns[i].Name); err != nil {
				return nil, nil, err
			}
		}
		t.names = key.Column{Data: c.Names.Data, Ends: c.Names.Offsets[0]}
		if t.rows, err = key.NewTable([]shardify.Column{cleaned(&c.Names, c.Rows)}, c.Columns, c.Rows); err != nil {
			return nil, nil, shardify.Annotate(err, "read", t.File, t.Key)
		}
		t.strays = Listed{Count: c.Strays}
		if c.Strays > 0 {
			t.strays.First = []string{c.Stray}
		}
		tables = append(tables, t)
	}
	return tables, others, nil
}
