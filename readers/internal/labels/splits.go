package labels

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// below is a file of a table, and the folder that its names are in, with a slash.
type below struct{ file, folder string }

// splits reports whether two tables are one, of which each folder has a file: train/metadata.csv and
// test/metadata.csv.
func (s *spec) splits(o *spec) bool {
	return s.file != o.file && path.Base(s.file) == path.Base(o.file) && s.on == o.on && s.rows == o.rows && s.counter == o.counter && slices.Equal(s.options, o.options)
}

// below makes a table of several files. Their folders are below one of the roots, or else below the
// deepest folder that holds all of them.
func (t *Table) below(list []spec, roots []string) {
	common := path.Dir(list[0].file)
	for _, s := range list {
		for common != "." && common != "/" && !strings.HasPrefix(s.file, common+"/") {
			common = path.Dir(common)
		}
	}
	for _, s := range list {
		root := common
		for _, r := range roots {
			if r = storage.Clean(r); strings.HasPrefix(s.file, r+"/") {
				root = r
			}
		}
		folder := strings.TrimPrefix(strings.TrimPrefix(path.Dir(s.file), root), "/")
		if folder != "" {
			folder += "/"
		}
		t.files = append(t.files, below{s.file, folder})
	}
}

// addFiles adds the further files of a table.
func (t *Table) addFiles(ctx context.Context, table *format.Table) error {
	for i := 1; i < len(t.files); i++ {
		st, err := table.FS.Stat(ctx, t.files[i].file)
		switch {
		case err != nil:
			return err
		case st.Size > maxFile:
			return shardify.Unsupported("a table of labels of %s; at most %s are read", shardify.FormatSize(st.Size), shardify.FormatSize(maxFile))
		}
		table.Roots = append(table.Roots, t.files[i].file)
		table.Append(i, "", st.Size, st.ModTime)
	}
	return nil
}

// filesOf counts the rows of each file of several.
func (t *Table) filesOf(ctx context.Context, src shardify.Source) (rows []int64, err error) {
	if t.files == nil {
		return nil, nil
	}
	rows = make([]int64, len(t.files))
	for sp, err := range src.Spans(ctx, readBytes) {
		if err != nil {
			return nil, err
		}
		rows[sp.Input] += sp.Samples()
	}
	return rows, nil
}

// inFolders puts the folders of files in front of names; rows are those of each file.
func (t *Table) inFolders(names shardify.Column, rows []int64) shardify.Column {
	if rows == nil {
		return names
	}
	out := names.Field.Empty()
	at := 0
	for i, n := range rows {
		for range n {
			lo, hi := names.Range(at, at+1)
			out.Data = append(append(out.Data, t.files[i].folder...), names.Data[lo:hi]...)
			out.Offsets[0] = append(out.Offsets[0], int64(len(out.Data)))
			at++
		}
	}
	return out
}
