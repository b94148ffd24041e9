package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/key"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// static is the static fields of a plan: those that --static names, or those of the sets that are
// the inputs. content is the file with them.
func (s *Settings) static(ctx context.Context, p *Prepared, src format.Input, o *readers.Opened) (st *plan.Static, content []byte, err error) {
	if src.Sets && len(s.Static) == 0 {
		return s.staticOfSets(ctx, o)
	}
	if len(s.Static) == 0 {
		return nil, nil, nil
	}
	columns, err := s.staticColumns(ctx, p, src, o)
	if err != nil {
		return nil, nil, err
	}
	return staticFile(ctx, columns)
}

// staticFile makes the file of static fields.
func staticFile(ctx context.Context, columns []shardify.Column) (*plan.Static, []byte, error) {
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

// staticColumns reads the fields that --static names, of inputs that are one sample each. They
// must be the same in all of them.
func (s *Settings) staticColumns(ctx context.Context, p *Prepared, src format.Input, o *readers.Opened) ([]shardify.Column, error) {
	flag := "--static " + strings.Join(s.Static, ",")
	i := slices.IndexFunc(src.Options, func(x format.Option) bool {
		return x.Name == "sample" && slices.Contains(x.Values, "file")
	})
	if i < 0 {
		return nil, shardify.Usage("%s: files of %s have no fields beside their samples; Zarr, HDF5, NetCDF-4 and npz have", flag, src.Name)
	}
	a := o.Args
	a.Columns, a.Options, a.State = s.Static, maps.Clone(o.Args.Options), nil
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
	if err := s.unlikeRows(ctx, flag, src, o, whole); err != nil {
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
	return s.alike(ctx, p, flag, o.Args.Table, whole)
}

// unlikeRows refuses fields that have a value for each sample, and those without one size.
func (s *Settings) unlikeRows(ctx context.Context, flag string, src format.Input, o *readers.Opened, whole shardify.Source) error {
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
func (s *Settings) alike(ctx context.Context, p *Prepared, flag string, table *format.Table, src shardify.Source) (columns []shardify.Column, err error) {
	first := ""
	var size int64
	for _, f := range src.Schema() {
		size += int64(f.ElemBytes())
	}
	if most := p.Memory / 8; size > most {
		return nil, shardify.Misuse("%s: %s, of which memory has room for %s", flag, shardify.FormatSize(size), shardify.FormatSize(most))
	}
	err = key.ReadEach(ctx, src, plan.SpanBytes, shardify.NewPool(poolLimit(p.Memory)), func(b *shardify.Batch) error {
		for i := range b.Samples {
			name := table.Shown(int(b.ID(i).Input))
			for k := range b.Columns {
				c := &b.Columns[k]
				lo, hi := c.Range(i, i+1)
				switch value := c.Data[lo:hi]; {
				case c.Valid != nil && c.Valid[i] == 0:
					return shardify.Mismatch("%s: %s is missing in %s", flag, c.Name, name)
				case len(columns) == k:
					columns = append(columns, shardify.Column{Field: c.Field, Data: bytes.Clone(value)})
				case !bytes.Equal(columns[k].Data, value):
					return shardify.Mismatch("%s: %s has other values in %s than in %s: it is not the same for all samples", flag, c.Name, name, first)
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

// staticOfSets are the static fields of sets: a conversion of theirs keeps them.
func (s *Settings) staticOfSets(ctx context.Context, o *readers.Opened) (*plan.Static, []byte, error) {
	var j index.JoinedStatic
	var from *dataset.Set
	for i := range o.Args.Table.Len() {
		name := o.Args.Table.Path(i)
		b, err := dataset.ReadManifest(ctx, storages.Of(o.Args.Table), dataset.ManifestPath(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // shards alone
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
		s.beside.notes = append(s.beside.notes, fmt.Sprintf("static fields that not all of the sets have are left out: %s", strings.Join(lost, ", ")))
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

// publishStatic publishes the file of static fields, unless it is there.
func (p *Prepared) publishStatic(ctx context.Context) error {
	st := p.Plan.Asked.Static
	if st == nil || p.static == nil {
		return nil
	}
	b, err := plan.ReadFile(p.Store, st.File.Name)
	if err == nil && index.Holds(&st.File, b) == nil {
		return nil
	}
	if err == nil {
		err = p.Store.Remove(st.File.Name)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return err
	}
	f, err := p.Store.Create(st.File.Name)
	if err != nil {
		return err
	}
	if _, err = f.Write(p.static); err == nil {
		err = f.Commit(ctx)
	}
	if err != nil {
		return errors.Join(err, f.Abort())
	}
	return nil
}

// staticNote says what static fields take, and what they would take in each sample.
func staticNote(st *plan.Static, samples int64) string {
	var names []string
	size := int64(0)
	for i := range st.Schema {
		names = append(names, st.Schema[i].Name)
		size += int64(st.Schema[i].ElemBytes())
	}
	return fmt.Sprintf("%s %s once in the set, %s; in each of %s it would be %s", strings.Join(names, ", "), map[bool]string{true: "is", false: "are"}[len(names) == 1],
		shardify.FormatSize(size), printable.Of(samples, "sample"), shardify.FormatSize(size*samples))
}
