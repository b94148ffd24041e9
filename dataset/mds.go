package dataset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/mds"
	"github.com/shardify/shardify/storage"
)

// openMDS makes a set of a folder with the index.json of MosaicML Streaming; m is the manifest beside it, nil
// if others wrote it. Without such an index it returns nil.
func openMDS(ctx context.Context, in storage.FS, path string, m *index.Manifest) (*Set, error) {
	folder := Folder(path)
	name := storage.Join(folder, mds.IndexName)
	f, err := storage.OpenOwn(ctx, in, name)
	if m == nil && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := readMDS(ctx, in, path, f, m)
	return s, shardify.Annotate(err, "open", name, "")
}

func readMDS(ctx context.Context, in storage.FS, path string, f storage.File, m *index.Manifest) (*Set, error) {
	b, err := storage.ReadWhole(f, mds.IndexName, maxManifest)
	if err != nil {
		return nil, err
	}
	if m == nil && !mds.Is(b) {
		return nil, nil // of another program
	}
	x, err := mds.Parse(b)
	if err != nil {
		return nil, err
	}
	s := &Set{FS: in, Path: path, loose: &loose{mds: x, key: -1, fields: make([]int, len(x.Columns))}}
	if m != nil {
		s.Manifest = new(index.Manifest)
		*s.Manifest = *m
		err = s.recorded(f)
	} else {
		s.Foreign = true
		err = s.described(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	s.Bytes = 0
	for i := range x.Shards {
		s.Bytes += x.Shards[i].Raw.Bytes
	}
	member := 0 // of the fields
	places := map[string]int{}
	for i := range s.Schema {
		if !shardify.Companion(s.Schema, i) {
			places[s.Schema[i].Name] = member
			member++
		}
	}
	for k := range x.Columns {
		c := &x.Columns[k]
		i, ok := places[c.Field.Name]
		if s.loose.fields[k] = -1; c.Err == nil && ok {
			s.loose.fields[k] = i
			delete(places, c.Field.Name)
		} else if c.Err == nil {
			s.loose.key = k
		}
	}
	for name := range places {
		return nil, shardify.Corrupt(-1, "it has no column for the field %s of the manifest", name)
	}
	s.Layout, err = index.NewLayout(s.Schema, s.Keyed)
	return s, err
}

// mdsSplits says which folders of a folder are MDS sets.
func mdsSplits(ctx context.Context, in storage.FS, folder string) error {
	e := &SplitSet{Folder: folder}
	for entry, err := range in.List(ctx, folder) {
		if err != nil {
			return nil // another program says what is wrong with it
		}
		if entry.Type != storage.Folder {
			continue
		}
		b, err := head(ctx, in, storage.Join(storage.Join(folder, entry.Name), mds.IndexName))
		if err == nil && mds.Is(b) {
			e.Names = append(e.Names, entry.Name)
		}
	}
	if e.Names == nil {
		return nil
	}
	slices.Sort(e.Names)
	return e
}

// head is the beginning of a file.
func head(ctx context.Context, in storage.FS, name string) ([]byte, error) {
	f, err := storage.OpenOwn(ctx, in, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, min(f.Size(), 4<<10))
	return b, ReadFull(f, b, 0)
}

// recorded holds an index against the manifest of its set: the schema and the shards are those of the manifest.
func (s *Set) recorded(f storage.File) error {
	x := s.loose.mds
	if i := slices.IndexFunc(s.Files, func(r shardify.File) bool { return r.Name == mds.IndexName }); i >= 0 {
		if err := CheckWhole(f, &s.Files[i]); err != nil {
			return err
		}
	}
	if len(x.Shards) != len(s.Shards) {
		return shardify.Corrupt(-1, "%d shards, the manifest has %d", len(x.Shards), len(s.Shards))
	}
	for i := range s.Shards {
		r, sh := &s.Shards[i], &x.Shards[i]
		if r.Name != sh.Stored().Name || r.Samples != sh.Samples || r.Bytes != sh.Stored().Bytes {
			return shardify.Corrupt(-1, "shard %s: %d samples in %d bytes, the manifest has %s with %d in %d", sh.Stored().Name, sh.Samples, sh.Stored().Bytes, r.Name, r.Samples, r.Bytes)
		}
	}
	return x.Restore(s.Schema)
}

// described makes the manifest of a set without one.
func (s *Set) described(ctx context.Context, text []byte) error {
	x := s.loose.mds
	m := &index.Manifest{Version: 1, Format: index.FormatMDS, Samples: x.Samples, Digest: strings.TrimPrefix(index.DigestOf(text), "xxh3:")}
	s.Manifest = m
	for i := range x.Shards {
		sh := &x.Shards[i]
		file := sh.Stored()
		if sh.Zip != nil { // one that was unpacked beside is read as it is
			if st, err := s.FS.Stat(ctx, FilePath(s.Path, sh.Raw.Name)); err == nil && st.Size == sh.Raw.Bytes {
				file = &sh.Raw
			}
		}
		m.Shards = append(m.Shards, shardify.Shard{Name: file.Name, Samples: sh.Samples, Bytes: file.Bytes})
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	for i := range x.Columns {
		c := &x.Columns[i]
		if c.Err != nil {
			s.loose.left = append(s.loose.left, fmt.Sprintf("the column %s is left out: %v", c.Name, c.Err))
			continue
		}
		m.Schema = append(m.Schema, c.Field)
		if c.Field.Ragged {
			m.Schema = append(m.Schema, shardify.Field{Name: c.Field.Name + shardify.ShapeSuffix, DType: shardify.I64, Shape: []int{c.Rank}})
		}
	}
	if len(m.Schema) == 0 {
		return shardify.Unsupported("no column can be read: %s", strings.Join(append(s.loose.left, "it has no columns"), "; "))
	}
	return nil
}

// settle looks at the first sample, where columns are arrays of any shape.
func (s *Set) settle(ctx context.Context) error {
	x := s.loose.mds
	known := func(c mds.Column) bool { return c.Known() }
	first := slices.IndexFunc(x.Shards, func(sh mds.Shard) bool { return sh.Samples > 0 })
	if first < 0 || !slices.ContainsFunc(x.Columns, func(c mds.Column) bool { return !known(c) }) {
		for k := range x.Columns {
			if c := &x.Columns[k]; !c.Known() {
				c.Leave(shardify.Unsupported("no sample has an array, which would have the type"))
			}
		}
		return nil
	}
	path := FilePath(s.Path, s.Shards[first].Name)
	err := func() error {
		f, err := OpenFile(ctx, s.FS, path, s.Shards[first].Bytes)
		if err != nil {
			return err
		}
		defer func() { f.Close() }()
		var at []int64
		if f, at, err = s.Places(ctx, f, first); err != nil {
			return err
		}
		b := make([]byte, at[1]-at[0])
		if err := ReadFull(f, b, at[0]); err != nil {
			return err
		}
		lo, ends, err := mds.Values(nil, x.Columns, b)
		if err != nil {
			return shift(err, at[0])
		}
		for k, hi := range ends {
			if c := &x.Columns[k]; !c.Known() {
				if err := c.Settle(b[lo:hi]); err != nil {
					return shardify.Amend(err, func(e *shardify.Error) { e.Field, e.Sample, e.Offset = c.Field.Name, 0, at[0]+lo })
				}
			}
			lo = hi
		}
		return nil
	}()
	return shardify.Annotate(err, "read", path, "")
}
