package propose

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/glance"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
)

const (
	tableRows  = 1000      // that are looked at
	tableBytes = 256 << 20 // larger tables are not opened to look at them
	mostTables = 8
)

// tables proposes the tables beside files that name them: a column has names of files, with or without
// folder and extension.
func tables(ctx context.Context, src shardify.Source, t *format.Table) (out []Proposal) {
	var names map[string]int
	fs := storages.Of(t)
	for _, list := range candidates(ctx, fs, t.Roots[0]) {
		if names == nil {
			names = namesOfFiles(src, t)
		}
		on, many, others, unique := joins(ctx, fs, list[0], names)
		if on == "" {
			continue
		}
		why := "column " + on + " of " + path.Base(list[0]) + " has names of the files"
		if p, ok := src.(format.Foldered); unique && !many && (!ok || p.Folders() == nil) {
			for i := range list {
				list[i] += " on=" + on + " also=" + strings.Join(others, " also=")
			}
			out = append(out, Proposal{Options: true, Missing: []string{"", "drop"}, Settings: format.Options{"labels": strings.Join(list, ",")},
				Why: why + ", and so has " + strings.Join(others, ", ") + ": those of a row are a sample"})
			continue
		}
		if many {
			for i := range list {
				list[i] += " rows=many"
			}
		}
		out = append(out, Proposal{Options: true, Without: others, Missing: []string{"", "fill", "drop"}, Settings: format.Options{"labels": strings.Join(list, ","), "key": on},
			Why: why})
	}
	return out
}

// candidates are the tables in a folder, and those of one name in its folders that are splits, which are one.
func candidates(ctx context.Context, fs storage.FS, root string) (out [][]string) {
	splits := map[string][]string{}
	for e, err := range fs.List(ctx, root) {
		switch {
		case err != nil || len(out) == mostTables:
			return out
		case tabular(e):
			out = append(out, []string{storage.Join(root, e.Name)})
		case e.Type == storage.Folder && walk.IsSplit(e.Name):
			dir := storage.Join(root, e.Name)
			for _, ext := range []string{"csv", "jsonl", "parquet"} {
				file := storage.Join(dir, "metadata."+ext)
				if st, err := fs.Stat(ctx, file); err == nil && st.Type == storage.Regular && st.Size <= tableBytes {
					splits[ext] = append(splits[ext], file)
				}
			}
		}
	}
	for _, ext := range slices.Sorted(maps.Keys(splits)) {
		slices.Sort(splits[ext])
		out = append(out, splits[ext])
	}
	return out
}

// tabular reports whether a file may be a table of labels. Submissions of Kaggle are tables to be filled in.
func tabular(e storage.Entry) bool {
	known := slices.Contains([]string{".csv", ".tsv", ".txt", ".jsonl", ".json", ".parquet"}, strings.ToLower(path.Ext(e.Name)))
	return known && e.Type == storage.Regular && e.Size <= tableBytes && !strings.HasPrefix(e.Name, ".") && !strings.Contains(strings.ToLower(e.Name), "submission")
}

// namesOfFiles are what rows may call files and samples; 2 for those with an extension.
func namesOfFiles(src shardify.Source, t *format.Table) map[string]int {
	m := map[string]int{}
	if k, ok := src.(format.Keyer); ok {
		k.CheckKeys(math.MaxInt, func(key []byte) error {
			m[path.Base(string(key))] = 1
			return nil
		})
	}
	for i := range t.Len() {
		name := string(t.NameBytes(i))
		base := path.Base(name)
		stem, _, _ := strings.Cut(base, ".")
		for _, n := range []string{strings.TrimSuffix(name, path.Ext(name)), strings.TrimSuffix(base, path.Ext(base)), stem} {
			m[n] = max(m[n], 1)
		}
		m[name], m[base] = 2, 2
		if first, rest, _ := strings.Cut(name, "/"); walk.IsSplit(first) {
			m[rest] = 2
		}
	}
	return m
}

// joins finds the column of a table that has names of files; many: they come again; others: so do other
// columns, with extensions; unique: no file is in two of them, or twice. "" if no column has them, or there is no other column.
func joins(ctx context.Context, fs storage.FS, file string, names map[string]int) (on string, many bool, others []string, unique bool) {
	f, _, err := readers.Choose(ctx, fs, "", []string{file})
	if strings.EqualFold(path.Ext(file), ".txt") { // --labels reads it so
		i := slices.IndexFunc(readers.Formats, func(f format.Input) bool { return f.Sniff != nil && f.Sniff(nil, "x.csv") })
		f, err = readers.Formats[i], nil
	}
	if err != nil || f.Whole {
		return "", false, nil, false
	}
	options, err := format.CheckOptions(f.Options, nil)
	if err != nil {
		return "", false, nil, false
	}
	o, err := readers.Open(ctx, f, readers.Request{FS: fs, Inputs: []string{file}, Options: options, Jobs: 1, Asked: true})
	if err != nil {
		return "", false, nil, false
	}
	defer o.Source.Close()
	schema := o.Source.Schema()
	if len(schema) < 2 {
		return "", false, nil, false
	}
	seen, found, rows := make([]matches, len(schema)), make([]int, len(schema)), 0
	for _, sp := range glance.First(ctx, o.Source, tableRows) {
		r, err := o.Source.Reader(sp.Run)
		if err != nil {
			return "", false, nil, false
		}
		b, done := glance.Read(ctx, r, sp)
		if b != nil {
			rows += b.Samples
			for i := range b.Columns {
				if seen[i] == nil {
					seen[i] = matches{}
				}
				found[i] += seen[i].count(&b.Columns[i], b.Samples, names)
			}
		}
		done()
		r.Close()
	}
	best := -1
	for i := range found {
		if 10*found[i] >= 9*rows && found[i] > 0 && (best < 0 || seen[i].weight() > seen[best].weight()) {
			best = i
		}
	}
	if best < 0 || strings.Contains(schema[best].Name, ",") {
		return "", false, nil, false
	}
	all := maps.Clone(seen[best])
	for i := range found {
		if i != best && found[i] == rows && seen[i].weight() == 2*len(seen[i]) {
			others = append(others, schema[i].Name)
			maps.Copy(all, seen[i])
		}
	}
	return schema[best].Name, len(seen[best]) < found[best], others, others != nil && len(all) == rows*(1+len(others))
}

// matches are the names of files that a column has, with what they are among all names.
type matches map[string]int

// weight is larger for more names, and for those with an extension.
func (m matches) weight() (n int) {
	for _, w := range m {
		n += w
	}
	return n
}

// count counts the values of a column that are names of files.
func (m matches) count(c *shardify.Column, rows int, names map[string]int) (found int) {
	for k := range rows {
		value := ""
		switch {
		case c.Media == "txt" && c.Levels == 1 && c.DType == shardify.U8:
			lo, hi := c.Range(k, k+1)
			value = string(bytes.TrimPrefix(c.Data[lo:hi], []byte("./")))
		case c.DType == shardify.I64 && c.Levels == 0 && len(c.Shape) == 0:
			value = strconv.FormatInt(int64(binary.LittleEndian.Uint64(c.Data[8*k:])), 10)
		default:
			return 0
		}
		if w := names[value]; w > 0 {
			m[value] = w
			found++
		}
	}
	return found
}
