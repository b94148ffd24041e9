package dataset

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// headers is how many shards are asked at the same time how long their lists are.
const headers = 8

// Flat is the elements of a field as samples: those of all lists, or arrays of one dimension, of a
// shard one after the other. Headers of shards say how many there are.
func (s *Set) Flat(ctx context.Context, field string) (*Set, error) {
	i := shardify.FieldIndex(s.Schema, field)
	if i < 0 {
		return nil, NoField("tokens", s.Schema, field)
	}
	if !Streamed(&s.Schema[i]) {
		return nil, shardify.Mismatch("field %s: want a list of numbers in each sample, or an array of one dimension, without missing ones", field)
	}
	if _, tars := s.Members[field]; tars {
		return nil, shardify.Unsupported("a set of %s shards stores the lists of each sample separately: want mmap or megatron", s.Format)
	}
	f := shardify.Field{Name: field, DType: s.Schema[i].DType}
	layout, err := index.NewLayout([]shardify.Field{f}, false)
	if err != nil {
		return nil, err
	}
	m := &index.Manifest{Version: s.Version, Format: s.Format, Bytes: s.Bytes, Schema: layout.Schema, Shards: append([]shardify.Shard(nil), s.Shards...), Recipe: s.Recipe, Operations: s.Operations, Digest: s.Digest}
	flat := &Set{Manifest: m, FS: s.FS, Path: s.Path, Layout: layout, Foreign: s.Foreign, Stored: s, tensor: s.Layout.Tensors[s.Layout.Columns[i].Values].Name}
	var g errgroup.Group
	g.SetLimit(headers)
	for k := range m.Shards {
		g.Go(func() error {
			n, err := s.elements(ctx, &s.Shards[k], i)
			m.Shards[k].Samples = n
			return shardify.Annotate(err, "open", FilePath(s.Path, s.Shards[k].Name), "")
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for k := range m.Shards {
		m.Samples += m.Shards[k].Samples
	}
	return flat, nil
}

// Rename gives the field of a Flat set another name.
func (s *Set) Rename(name string) {
	s.Layout.Schema[0].Name, s.Schema[0].Name, s.Layout.Tensors[0].Name = name, name, name
}

// Streamed reports whether the elements of a field are a stream: Flat takes it.
func Streamed(f *shardify.Field) bool {
	return f.Media == "" && !f.Ragged && !f.Nullable && (f.Levels == 1 && len(f.Shape) == 0 || f.Levels == 0 && len(f.Shape) == 1)
}

// elements is how many a shard has of field i.
func (s *Set) elements(ctx context.Context, sh *shardify.Shard, i int) (int64, error) {
	f := &s.Schema[i]
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case f.Levels == 0:
		return sh.Samples * int64(f.Elem()), nil
	case s.Format == index.FormatMegatron:
		return sh.Bytes / int64(f.DType.Size()), nil
	}
	for n := 0; ; n++ {
		in, err := OpenFile(ctx, s.FS, FilePath(s.Path, sh.Name), sh.Bytes)
		if err != nil {
			return 0, err
		}
		m, err := OpenMmap(in, sh.Bytes, sh, s.Layout)
		again := n < Refetches && Again(in, err)
		in.Close()
		if err == nil {
			return m.Counts[s.Layout.Columns[i].Values], nil
		}
		if !again {
			return 0, err
		}
	}
}

// Flat is the shard of a Flat set: the one tensor that it has, element by element.
func (s *Mmap) Flat(set *Set) (*Mmap, error) {
	layout := set.Layout
	for i := range s.Tensors {
		if s.Tensors[i].Name != set.tensor || s.Tensors[i].DType != layout.Tensors[0].DType {
			continue
		}
		row := layout.Tensors[0].Row
		one := &index.MmapShard{Layout: layout, HeaderBytes: s.HeaderBytes, Places: s.Places[i : i+1], Counts: []int64{s.Counts[i] * (s.Tensors[i].Row / row)}}
		if one.Samples = one.Counts[0]; s.CRC32C != nil {
			one.CRC32C = s.CRC32C[i : i+1]
		}
		return &Mmap{MmapShard: one, File: s.File}, nil
	}
	return nil, shardify.Corrupt(-1, "no tensor %s as wanted", set.tensor)
}
