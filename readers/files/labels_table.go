package files

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/storages"
)

// isTable reports whether a value of --labels names a file.
func isTable(mode string) bool {
	switch mode {
	case "", "auto", "none", "folder":
		return false
	}
	return true
}

// readLabels reads the table of --labels FILE; nil without one.
func (b *builder) readLabels(ctx context.Context, jobs int) (*labels.Table, error) {
	mode, key := b.options[optLabels], b.options[optKey]
	switch {
	case !isTable(mode) && key != "":
		return nil, shardify.Mismatch("--key %s says which column of the table of --labels FILE has the names: give --labels FILE too", key)
	case !isTable(mode):
		return nil, nil
	case !labels.IsTable(mode):
		return nil, shardify.Unsupported("--labels %q: want auto, none, folder or a file .csv, .tsv, .jsonl or .parquet", mode)
	}
	t, err := labels.Read(ctx, storages.Of(b.table), mode, key, jobs)
	if err != nil {
		return nil, err
	}
	for _, f := range t.Fields() {
		for j := range b.all {
			if b.all[j].Field == f.Name {
				return nil, shardify.Annotate(shardify.Mismatch("there are files *.%s, and there is a column %s", b.all[j].Field, b.all[j].Field), "read", mode, "")
			}
		}
	}
	b.left = append(b.left, t.Left...)
	return t, nil
}

// joinLabels finds the row of each sample.
func (b *builder) joinLabels(t *labels.Table) error {
	if t == nil {
		return nil
	}
	j, err := t.Join(b.m.samples, b.sampleNames)
	if err != nil {
		return err
	}
	missing := b.options[optMissing]
	if missing == "fail" && (j.Bare.Count > 0 || j.Unused.Count > 0) {
		return unmatched(t, j)
	}
	if j.Unused.Count > 0 {
		b.left = append(b.left, format.Leftover{Name: j.Unused.First[0], Reason: "rows of labels for no sample (--missing " + missing + ")", Count: j.Unused.Count})
	}
	if j.Bare.Count > 0 && missing == "drop" {
		b.left = append(b.left, format.Leftover{Name: j.Bare.First[0], Reason: "samples without labels (--missing drop)", Count: j.Bare.Count})
		if err := b.keep(j); err != nil {
			return err
		}
	}
	if b.m.samples == 0 {
		return shardify.Mismatch("no sample has labels: nothing is left by --missing drop")
	}
	b.joined = j.Columns
	return nil
}

// unmatched is the error about names on either side.
func unmatched(t *labels.Table, j *labels.Joined) error {
	text := fmt.Sprintf("joined by %s", j.By)
	if j.Bare.Count > 0 {
		text += fmt.Sprintf("; samples without labels: %s", j.Bare.String())
	}
	if j.Unused.Count > 0 {
		text += fmt.Sprintf("; labels without a sample: %s", j.Unused.String())
	}
	text += "; --missing drop leaves both out, --missing fill writes samples without labels as missing values"
	return shardify.Annotate(shardify.Mismatch("%s", text), "read", t.File, t.Key)
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

// keep leaves out the samples without labels.
func (b *builder) keep(j *labels.Joined) error {
	m := &matrix{members: b.m.members}
	for k := range b.m.samples {
		if !j.Has(k) {
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
	return j.Keep()
}
