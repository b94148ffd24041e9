package files

import (
	"context"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// readLabels reads the tables of --labels FILE; nil without one.
func (b *builder) readLabels(ctx context.Context, columns []string, jobs int) ([]*labels.Table, error) {
	mode, key := b.options[optLabels], b.options[optKey]
	switch {
	case !labels.Tables(mode) && key != "":
		return nil, shardify.Mismatch("--key %s says which column of the table of --labels FILE has the names: give --labels FILE too", key)
	case !labels.Tables(mode):
		return nil, nil
	case !labels.IsTable(mode):
		return nil, shardify.Unsupported("--labels %q: want auto, none, folder, tables or a file .csv, .tsv, .txt, .jsonl, .json, .parquet or .star", mode)
	}
	tables, err := labels.Read(ctx, storages.Of(b.table), mode, key, anyOf(columns), jobs, b.table.Roots...)
	if err != nil {
		return nil, err
	}
	b.used.Mark(optLabels)
	for _, t := range tables {
		b.unread = append(b.unread, t.Unread...)
		b.left = append(b.left, t.Left...)
	}
	return tables, nil
}

// distinct refuses columns that are called as files are, or as others.
func (b *builder) distinct(tables []*labels.Table) error {
	from := map[string]string{}
	for i := range b.all {
		from[b.all[i].Field] = "there are files *." + b.all[i].Field
		if b.rows != nil {
			from[b.all[i].Field] = "the field " + b.all[i].Field + " has the files of " + b.rows.Columns[b.of[i]]
		}
	}
	for _, t := range tables {
		for _, name := range columnsOf(t) {
			if other := from[name]; other != "" {
				return shardify.Annotate(shardify.Mismatch("%s, and there is a column %s", other, name), "read", t.File, "")
			}
			from[name] = t.File + " has one"
		}
	}
	return nil
}

// columnsOf are the names of the columns of a table, also of those that are not wanted.
func columnsOf(t *labels.Table) []string {
	names := slices.Clone(t.Unread)
	for _, f := range t.Fields() {
		names = append(names, f.Name)
	}
	return names
}

// joinLabels finds the rows of each sample.
func (b *builder) joinLabels(tables []*labels.Table, scratch storage.Store) error {
	tables = slices.DeleteFunc(tables, func(t *labels.Table) bool { return b.rows != nil && len(t.Fields()) == 0 })
	if len(tables) == 0 {
		return nil
	}
	j, err := labels.JoinAll(tables, b.m.samples, b.sampleNames, b.options[optMissing], scratch)
	if err != nil {
		return err
	}
	b.joined, b.left, b.notes = j.Values, append(b.left, j.Left...), append(b.notes, j.Notes...)
	if j.Kept != nil {
		b.keep(j.Kept)
	}
	return nil
}

// sampleNames gives the names of a sample's files.
func (b *builder) sampleNames(k int, by labels.By, do func(name []byte)) {
	first, n := b.m.named(int64(k)), b.names
	if by == labels.ByPath || by == labels.ByBase {
		n = b.files
	}
	n.Names(first, by, do)
	if by == labels.ByStem || by == labels.ByBaseStem {
		return // all its files have the same
	}
	for m := range b.m.members {
		if i := b.m.file(int64(k), m); i != none && int(i) != first {
			n.Names(int(i), by, do)
		}
	}
}

// keep leaves out the other samples.
func (b *builder) keep(kept []bool) {
	m := &matrix{members: b.m.members}
	for k := range b.m.samples {
		if !kept[k] {
			continue
		}
		m.samples++
		m.first = append(m.first, uint32(b.m.named(int64(k))))
		for f := range m.members {
			m.files = append(m.files, b.m.file(int64(k), f))
		}
	}
	m.simplify(b.table.Len())
	b.m = m
}
