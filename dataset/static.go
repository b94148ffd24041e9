package dataset

import (
	"bytes"
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// maxStatic bounds the file of static fields, which is read whole.
const maxStatic = 1 << 31

// StaticColumns are the fields in the bytes of their file: columns of one sample.
func StaticColumns(s *index.Static, b []byte) ([]shardify.Column, error) {
	layout, err := s.Layout()
	if err != nil {
		return nil, err
	}
	sh, err := OpenMmap(bytes.NewReader(b), int64(len(b)), &s.Shard, layout)
	if err != nil {
		return nil, err
	}
	var list []shardify.Column
	for i := range s.Schema {
		at := &sh.Columns[i]
		read := func(k int) ([]byte, error) {
			b := make([]byte, sh.Counts[k]*sh.Tensors[k].Row)
			return b, sh.Read(b, k, 0)
		}
		c := shardify.Column{Field: s.Schema[i]}
		if c.Data, err = read(at.Values); err != nil {
			return nil, err
		}
		for _, k := range []int{at.Offsets, at.Offsets1}[:c.Levels] {
			b, err := read(k)
			if err != nil {
				return nil, err
			}
			c.Offsets = append(c.Offsets, shardify.View[int64](b))
		}
		list = append(list, c)
	}
	return list, nil
}

// Static are the fields that are the same for all samples, as columns of one sample; nil without.
func (s *Set) Static(ctx context.Context) ([]shardify.Column, error) {
	b, err := s.StaticBytes(ctx)
	if err != nil || b == nil {
		return nil, err
	}
	list, err := StaticColumns(s.Manifest.Static, b)
	return list, shardify.Annotate(err, "read", storage.Join(Folder(s.Path), index.StaticName), "")
}

// StaticBytes is the file of the static fields; nil without.
func (s *Set) StaticBytes(ctx context.Context) ([]byte, error) {
	if s.Manifest.Static == nil {
		return nil, nil
	}
	name := storage.Join(Folder(s.Path), index.StaticName)
	f, err := storage.OpenOwn(ctx, s.FS, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	record := s.Manifest.StaticFile()
	if f.Size() != record.Bytes || f.Size() > maxStatic {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "bytes: the manifest says %d, the file has %d", record.Bytes, f.Size()), "read", name, "")
	}
	b := make([]byte, f.Size())
	if err = ReadFull(f, b, 0); err == nil {
		err = index.Holds(record, b)
	}
	return b, shardify.Annotate(err, "read", name, "")
}

// Static are the static fields that sets which are read as one have all of them, and the names
// of those that only some have.
func Static(ctx context.Context, sets []*Set) (list []shardify.Column, lost []string, err error) {
	var j index.JoinedStatic
	for _, s := range sets {
		if err := j.Add(s.Manifest); err != nil {
			return nil, nil, shardify.Annotate(err, "open", ManifestPath(s.Path), "")
		}
	}
	of, lost := j.Of()
	if of == nil {
		return nil, lost, nil
	}
	list, err = sets[0].Static(ctx)
	return list, nil, err
}
