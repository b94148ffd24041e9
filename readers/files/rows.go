package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/walk"
)

// orRows adds to the ways out of a doubt the table beside the files whose rows say which of them are a
// sample, if there is one.
func (b *builder) orRows(ctx context.Context, err error) error {
	var doubt *format.Ambiguous
	if b.options[optLabels] != labels.Auto || !errors.As(err, &doubt) {
		return err
	}
	value, _, e := labels.FindBeside(ctx, storages.Of(b.table), b.table, b.options[optKey])
	if e == nil && labels.NamesFiles(value) {
		doubt.Ways = slices.Insert(doubt.Ways, 0, format.With(optLabels, labels.Beside, "a sample for each row of "+labels.Files(value)[0]+", of the files that it names"))
	}
	return err
}

// lookRows finds the samples where a table of --labels names the files of each: a row is a sample.
func (b *builder) lookRows(ctx context.Context, tables []*labels.Table) (err error) {
	if b.options[optPair] != "" {
		return shardify.Misuse("--pair and also= of --labels both say which files are one sample: give one of them")
	}
	b.names = labels.NewPaths(b.table, pairStem(b.options))
	b.files = b.names
	if b.g, err = group(ctx, b.names); err != nil {
		return err
	}
	if b.rows, err = labels.FindFiles(tables, b.files, b.options[optMissing], alike); err != nil {
		return err
	}
	if err := b.rowStrays(); err != nil {
		return err
	}
	b.left = append(b.left, b.rows.Left...)
	var text []string
	for i := range b.rows.Columns {
		m, err := b.rowMember(i)
		if err != nil {
			return err
		}
		b.all = append(b.all, m)
		text = append(text, m.Field+" of "+b.rows.Columns[i])
	}
	b.of = make([]int, len(b.all))
	for i := range b.of {
		b.of[i] = i
	}
	slices.SortFunc(b.of, func(i, k int) int { return strings.Compare(b.all[i].Field, b.all[k].Field) })
	sorted := make([]member, len(b.all))
	for i, k := range b.of {
		sorted[i] = b.all[k]
	}
	b.all = sorted
	b.notes = append(b.notes, "a sample is a row of "+b.rows.Table.File+" with the files that it names: "+strings.Join(text, ", "))
	return nil
}

// alike is the form of a name that others have, too, which differ in case or in their Unicode form.
func alike(name []byte) string {
	if form, err := composed().Apply(nil, name, 0); err == nil {
		name = form
	}
	return strings.ToLower(string(name))
}

// rowMember is the field of the files that column i names.
func (b *builder) rowMember(i int) (m member, err error) {
	column := b.rows.Columns[i]
	var types []string
	image := true
	for k := i; k < len(b.rows.Of); k += len(b.rows.Columns) {
		if f := b.rows.Of[k]; f != none {
			if ext := b.g.exts[b.g.ext[f]]; !slices.Contains(types, ext) {
				types, image = append(types, ext), image && imageTypes[media(ext)]
			}
		}
	}
	slices.Sort(types)
	switch {
	case len(types) == 0:
		return m, shardify.Mismatch("%s: the column %s names no file", b.rows.Table.File, column)
	case len(types) > 1 && !image, len(types) > 255:
		return m, shardify.Mismatch("%s: the files of %s are of the types %s; a field has one, or images of any type", b.rows.Table.File, column, strings.Join(types, ", "))
	}
	m = member{Field: rowField(column, i, image), Exts: types}
	if slices.ContainsFunc(b.all, func(o member) bool { return o.Field == m.Field }) {
		return m, shardify.Mismatch("%s: the columns %s would be one field, %s", b.rows.Table.File, strings.Join(b.rows.Columns, ", "), m.Field)
	}
	return m, nil
}

// rowField is the field of a column, as Hugging Face's imagefolder has it: mask of mask_file_name, and
// image of file_name.
func rowField(column string, i int, image bool) string {
	field := strings.TrimSuffix(column, "_file_name")
	switch {
	case i > 0 || field != column:
		return field
	case image:
		return "image"
	}
	return "file"
}

// rowStrays are the files that no row names: about the folder, or by --missing no samples.
func (b *builder) rowStrays() error {
	var unnamed places
	named := make([]bool, b.table.Len())
	for _, f := range b.rows.Of {
		if f != none {
			named[f] = true
		}
	}
	about := int64(0)
	tables := labels.Files(b.options[optLabels])
	for i := range named {
		if named[i] {
			continue
		}
		b.strays = append(b.strays, uint32(i))
		if slices.Contains(tables, b.table.Path(i)) { // in an archive
			b.leftStrays = append(b.leftStrays, format.Leftover{Name: quote(b.files.Rel(i)), Reason: "the table of --labels", Count: 1})
			continue
		}
		rel := b.files.Rel(i)
		if walk.About(string(rel[strings.LastIndexByte(string(rel), '/')+1:])) {
			about++
			continue
		}
		unnamed.add(func() string { return quote(rel) })
	}
	if unnamed.count > 0 && b.options[optMissing] == "fail" {
		return shardify.Mismatch("no row of %s names %s; --missing drop leaves them out", b.rows.Table.File, unnamed.list("file", "files"))
	}
	if about > 0 {
		b.leftStrays = append(b.leftStrays, format.Leftover{Name: quote(b.files.Rel(int(b.strays[0]))), Reason: "it is about the folder, and no sample", Count: about})
	}
	if unnamed.count > 0 {
		b.leftStrays = append(b.leftStrays, format.Leftover{Name: unnamed.examples[0], Reason: "no row of " + b.rows.Table.File + " names it", Count: unnamed.count})
	}
	return nil
}

// arrangeRows builds the matrix of the wanted members.
func (b *builder) arrangeRows() error {
	k, all := len(b.members), len(b.rows.Columns)
	m := &matrix{members: k, samples: len(b.rows.Rows)}
	of := make([]int, k)
	for j := range b.members {
		of[j] = b.of[slices.IndexFunc(b.all, func(x member) bool { return x.Field == b.members[j].Field })]
	}
	taken := make([]uint32, len(b.g.first)) // by stem: a file
	var twice places
	for _, row := range b.rows.Rows {
		files := b.rows.Of[int(row)*all:][:all]
		if s := b.g.of[files[0]]; taken[s] == 0 {
			taken[s] = files[0] + 1
		} else {
			twice.add(func() string { return b.path(int(taken[s]-1)) + " and " + b.path(int(files[0])) })
		}
		m.first = append(m.first, files[0])
		for _, i := range of {
			m.files = append(m.files, files[i])
		}
	}
	if twice.count > 0 && b.options[optKeys] != "ordinal" {
		return shardify.Mismatch("samples of one name: %s; --keys ordinal numbers them", twice.list("pair of files", "pairs of files"))
	}
	b.m = m
	if m.samples == 0 {
		return shardify.Mismatch("no row of %s names a file that is there", b.rows.Table.File)
	}
	if slices.Contains(m.files, none) {
		if err := b.rowHoles(); err != nil {
			return err
		}
	}
	m.simplify(b.table.Len())
	b.rows.Join(m.samples, func(s int) int { return m.named(int64(s)) })
	return nil
}

// rowHoles applies --missing to rows that name no file in a column.
func (b *builder) rowHoles() error {
	if b.options[optMissing] != "fail" {
		return b.holes()
	}
	lacks := make([]places, len(b.members))
	for s := range b.m.samples {
		for j, f := range b.m.row(s) {
			if f == none {
				lacks[j].add(func() string { return b.path(int(b.m.first[s])) })
			}
		}
	}
	var text []string
	for j := range lacks {
		if lacks[j].count > 0 {
			text = append(text, fmt.Sprintf("no %s in %s", b.members[j].Field, lacks[j].list("row, that of", "rows, as those of")))
		}
	}
	fields := printable.Quote("!" + b.members[slices.IndexFunc(lacks, func(p places) bool { return p.count > 0 })].Field)
	return shardify.Mismatch("%s: %s; --missing drop leaves them out, --missing fill writes empty values, --columns %s leaves out the field", b.rows.Table.File, strings.Join(text, "; "), fields)
}
