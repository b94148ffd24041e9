// Package static answers which fields are the same for all samples, such as a land-sea mask: they are stored once in the
// set.
package static

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/value"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// Question is that of static fields.
var Question = ask.Question{Name: "static", Keys: []string{"static"}, New: func() ask.Asked { return &static{} }, Record: record}

// static is the fields of one conversion.
type static struct {
	ask.Nothing
	file    shardify.File
	content []byte // of the file; nil without static fields
	size    int64  // of the values
}

// Check implements ask.Asked.
func (*static) Check(c *ask.Conversion) error {
	c.Static = value.Trimmed(c.Static)
	c.Once = c.Once || len(c.Static) > 0
	return nil
}

// Open implements ask.Asked: it reads the fields that --static names, or those of the sets that are the
// inputs.
func (q *static) Open(ctx context.Context, c *ask.Conversion) (err error) {
	var st *plan.Static
	source, constant := c.Opened.Source.(format.Constant)
	switch {
	case constant:
		var columns []shardify.Column
		if columns, err = source.Static(ctx, c.Static, c.Pool()); err == nil && len(columns) > 0 {
			st, q.content, err = file(ctx, columns)
		}
	case len(c.Static) > 0:
		var columns []shardify.Column
		if columns, err = fields(ctx, c); err == nil {
			st, q.content, err = file(ctx, columns)
		}
	default:
		st, q.content, err = ofSets(ctx, c, sets(c))
	}
	if err != nil || st == nil {
		return err
	}
	c.Draft.Asked.Static, q.file = st, st.File
	columns, err := dataset.StaticColumns(&st.Static, q.content)
	for i := range columns {
		q.size += int64(len(columns[i].Data))
	}
	return err
}

// Planned implements ask.Asked.
func (q *static) Planned(_ context.Context, c *ask.Conversion, p *plan.Plan, _ *format.Output) error {
	if p.Asked.Static != nil {
		c.Note(note(p.Asked.Static, q.size, p.Pack.Samples))
	}
	return nil
}

// Publish implements ask.Asked: it writes the file, unless it is there.
func (q *static) Publish(ctx context.Context, store storage.Store) error {
	if q.content == nil {
		return nil
	}
	b, err := plan.ReadFile(store, q.file.Name)
	if err == nil && index.Holds(&q.file, b) == nil {
		return nil
	}
	if err == nil {
		err = store.Remove(q.file.Name)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, store, q.file.Name, q.content)
}

// file makes the file of static fields.
func file(ctx context.Context, columns []shardify.Column) (*plan.Static, []byte, error) {
	st := &plan.Static{}
	for i := range columns {
		st.Schema = append(st.Schema, columns[i].Field)
	}
	store := memory.New()
	out, _ := writers.Lookup(index.FormatMmap)
	sink, err := out.New(store, format.ShardSpec{Name: index.StaticName, Schema: st.Schema, Samples: 1, Exact: true})
	if err != nil {
		return nil, nil, err
	}
	defer sink.Abort()
	if err := sink.Write(&shardify.Batch{Samples: 1, Columns: columns}); err != nil {
		return nil, nil, err
	}
	if st.Shard, err = sink.Commit(ctx); err != nil {
		return nil, nil, err
	}
	b := store.Files()[index.StaticName]
	st.File = shardify.File{Name: index.StaticName, Bytes: int64(len(b)), Digest: index.DigestOf(b)}
	return st, b, nil
}

// fields reads the fields that --static names, of inputs that are one sample each. They
// must be the same in all of them.
func fields(ctx context.Context, c *ask.Conversion) ([]shardify.Column, error) {
	src, o := &c.Input, c.Opened
	flag := "--static " + strings.Join(c.Static, ",")
	i := slices.IndexFunc(src.Options, func(x format.Option) bool {
		return x.Name == "sample" && slices.Contains(x.Values, "file")
	})
	if i < 0 {
		return nil, shardify.Usage("%s: files of %s have no fields beside their samples; Zarr, HDF5, NetCDF-4 and npz have", flag, src.Name)
	}
	a := o.Args
	a.Columns, a.Options, a.State = c.Static, maps.Clone(o.Args.Options), nil
	a.Options["sample"] = "file"
	for _, name := range []string{"sel", "channels"} {
		delete(a.Options, name)
	}
	open := func(a format.OpenArgs) (shardify.Source, error) {
		var err error
		if a.Options, err = format.CheckOptions(src.Options, a.Options); err != nil {
			return nil, err
		}
		x, err := src.Open(ctx, a)
		return x, a.Table.Locate(err)
	}
	whole, err := open(a)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	defer func() { whole.Close() }()
	if err := unlikeRows(ctx, flag, src, o, whole); err != nil {
		return nil, err
	}
	if text := o.Args.Options["sel"]; text != "" {
		var dims []string
		for _, f := range whole.Schema() {
			dims = append(dims, f.Dims()...)
		}
		if a.Options["sel"], err = readers.SelectionOf(text, dims); err != nil {
			return nil, err
		}
		part, err := open(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		whole.Close()
		whole = part
	}
	return alike(ctx, c, flag, o.Args.Table, whole)
}

// unlikeRows refuses fields that have a value for each sample, and those without one size.
func unlikeRows(ctx context.Context, flag string, src *format.Input, o *readers.Opened, whole shardify.Source) error {
	a := o.Args
	a.Columns, a.State = nil, nil
	a.Options = maps.Clone(a.Options)
	delete(a.Options, "channels")
	delete(a.Options, "sel")
	var err error
	if a.Options, err = format.CheckOptions(src.Options, a.Options); err != nil {
		return err
	}
	all, err := src.Open(ctx, a)
	if err != nil {
		return a.Table.Locate(err)
	}
	defer all.Close()
	for _, f := range whole.Schema() {
		if f.Levels > 0 || f.Nullable {
			return shardify.Misuse("%s: %s has no one size in all inputs, or missing values: want an array of numbers", flag, f.Name)
		}
		if i := shardify.FieldIndex(all.Schema(), f.Name); i >= 0 && len(all.Schema()[i].Shape) < len(f.Shape) {
			return shardify.Misuse("%s: %s has a value for each sample; --columns chooses it", flag, f.Name)
		}
	}
	return nil
}

// alike reads fields of inputs that are one sample each.
func alike(ctx context.Context, c *ask.Conversion, flag string, table *format.Table, src shardify.Source) (columns []shardify.Column, err error) {
	first := ""
	var size int64
	for _, f := range src.Schema() {
		size += int64(f.ElemBytes())
	}
	if most := c.Memory / 8; size > most {
		return nil, shardify.Misuse("%s: %s, of which memory has room for %s", flag, shardify.FormatSize(size), shardify.FormatSize(most))
	}
	err = key.ReadEach(ctx, src, plan.SpanBytes, c.Pool(), func(b *shardify.Batch) error {
		for i := range b.Samples {
			name := table.Shown(int(b.ID(i).Input))
			for k := range b.Columns {
				x := &b.Columns[k]
				lo, hi := x.Range(i, i+1)
				switch value := x.Data[lo:hi]; {
				case x.Valid != nil && x.Valid[i] == 0:
					return shardify.Mismatch("%s: %s is missing in %s", flag, x.Name, name)
				case len(columns) == k:
					columns = append(columns, shardify.Column{Field: x.Field, Data: bytes.Clone(value)})
				case !bytes.Equal(columns[k].Data, value):
					return shardify.Mismatch("%s: %s has other values in %s than in %s: it is not the same for all samples", flag, x.Name, name, first)
				}
			}
			if first == "" {
				first = name
			}
		}
		return nil
	})
	if err == nil && len(columns) == 0 {
		err = shardify.Mismatch("%s: the inputs have no samples", flag)
	}
	return columns, table.Locate(err)
}

// sets are the folders that may be sets: the inputs, or of files that are called as shards of an output, their folders.
func sets(c *ask.Conversion) (folders []string) {
	table := c.Opened.Args.Table
	if c.Input.Sets {
		for i := range table.Len() {
			folders = append(folders, table.Path(i))
		}
		return folders
	}
	if _, ok := writers.Lookup(c.Input.Name); !ok {
		return nil
	}
	for i := range table.Len() {
		file := table.Path(i)
		dir, base := storage.Dir(file), path.Base(file)
		if (strings.HasPrefix(base, "shard-") || slices.Contains(c.Input.Roots, base)) && (len(folders) == 0 || folders[len(folders)-1] != dir) {
			folders = append(folders, dir)
		}
	}
	return folders
}

// ofSets are the static fields of sets: a conversion of theirs keeps them.
func ofSets(ctx context.Context, c *ask.Conversion, folders []string) (*plan.Static, []byte, error) {
	o := c.Opened
	var j index.JoinedStatic
	var from *dataset.Set
	for _, name := range folders {
		b, err := dataset.ReadManifest(ctx, storages.Of(o.Args.Table), dataset.ManifestPath(name))
		if errors.Is(err, fs.ErrNotExist) || !c.Input.Sets && errors.Is(err, fs.ErrPermission) {
			continue // shards alone, or files of others
		}
		var m *index.Manifest
		if err == nil {
			m, err = index.DecodeManifest(b)
		}
		if err == nil {
			err = j.Add(m)
		}
		if err != nil {
			return nil, nil, shardify.Annotate(err, "open", dataset.ManifestPath(name), "")
		}
		if from == nil && m.Static != nil {
			from = &dataset.Set{Manifest: m, FS: storages.Of(o.Args.Table), Path: name}
		}
	}
	of, lost := j.Of()
	if len(lost) > 0 {
		c.Note("static fields that not all of the sets have are left out: " + strings.Join(lost, ", "))
	}
	if of == nil {
		return nil, nil, nil
	}
	if o.More != nil {
		return nil, nil, shardify.Unsupported("static fields of so many sets: join them with merge-sets first")
	}
	b, err := from.StaticBytes(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &plan.Static{Static: *of.Static, File: *of.StaticFile()}, b, nil
}

// record adds the file of static fields to a manifest. It was published with the plan; each split
// has a copy.
func record(ctx context.Context, of *plan.Plan, root, store storage.Store, m *index.Manifest) error {
	p := of.Asked.Static
	if p == nil {
		return nil
	}
	m.Files = append(m.Files, p.File)
	b, err := plan.ReadFile(root, p.File.Name)
	if err == nil {
		err = index.Holds(&p.File, b)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = shardify.Hint(err, "convert again with --fresh: it is made with the plan")
	}
	if err == nil && of.Splits.Rule != nil {
		err = storage.WriteFile(ctx, store, p.File.Name, b)
	}
	return shardify.Annotate(err, "read", p.File.Name, "")
}

// note says what static fields take, and what they would take in each sample.
func note(st *plan.Static, size, samples int64) string {
	var names []string
	for i := range st.Schema {
		names = append(names, st.Schema[i].Name)
	}
	return fmt.Sprintf("%s %s once in the set, %s; in each of %s it would be %s", strings.Join(names, ", "), map[bool]string{true: "is", false: "are"}[len(names) == 1],
		shardify.FormatSize(size), printable.Of(samples, "sample"), shardify.FormatSize(size*samples))
}
