package dataset

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Besides are the manifests beside files of a format that other programs write, too. It may be
// used from several goroutines.
type Besides struct {
	Format string
	mu     sync.Mutex
	sets   map[string]*index.Manifest // by folder; nil for a folder without one
}

// Of is the manifest in the folder of a file; nil if the file is not of a set of ours.
func (b *Besides) Of(ctx context.Context, in storage.FS, file string) (*index.Manifest, error) {
	dir := storage.Dir(file)
	b.mu.Lock()
	defer b.mu.Unlock()
	m, ok := b.sets[dir]
	if ok {
		return m, nil
	}
	name := ManifestPath(dir)
	m, err := readManifest(ctx, in, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m = nil
	case err != nil:
		return nil, shardify.Annotate(err, "open", name, "")
	case m.Format != b.Format || len(m.Splits) > 0:
		m = nil // its shards are in other folders
	}
	if b.sets == nil {
		b.sets = map[string]*index.Manifest{}
	}
	b.sets[dir] = m
	return m, nil
}

// Record is a shard's record in the manifest, by the name of its file or of one that belongs to
// it.
func Record(m *index.Manifest, name string) *shardify.Shard {
	for i := range m.Shards {
		s := &m.Shards[i]
		if s.Name == name {
			return s
		}
		for _, f := range s.Files {
			if f.Name == name {
				return s
			}
		}
	}
	return nil
}

// Number is the place of a shard in the manifest, by the name of its file; -1 if it is not there.
func Number(m *index.Manifest, name string) int {
	return slices.IndexFunc(m.Shards, func(s shardify.Shard) bool { return s.Name == name })
}

// ObjectName is the shard of a proof about an input, whose Object is its place in the manifest.
func (b *Besides) ObjectName(in storage.FS, file string, object uint32) (path, name string) {
	m, err := b.Of(context.Background(), in, file)
	if err != nil || m == nil || int(object) >= len(m.Shards) {
		return "", ""
	}
	return FilePath(storage.Dir(file), m.Shards[object].Name), ""
}

// Whole refuses a table that has some shards of a set of ours and not all, and a folder of splits.
func (b *Besides) Whole(ctx context.Context, t *format.Table) error {
	at := storages.Of(t)
	found := map[*index.Manifest]int{}
	folders := map[*index.Manifest]string{}
	for i := range t.Len() {
		m, err := b.Of(ctx, at, t.Path(i))
		if err != nil {
			return err
		}
		if m != nil {
			found[m]++
			folders[m] = storage.Dir(t.Path(i))
		}
	}
	for m, n := range found {
		want := 0
		for i := range m.Shards {
			if m.Shards[i].Samples > 0 {
				want++
			}
		}
		if n != want {
			return shardify.Annotate(shardify.Mismatch("%d of the %d shards of a data set: name its folder alone; if you named it, shards are missing or were added", n, want), "open", folders[m], "")
		}
	}
	return b.NoSplits(ctx, t)
}

// NoSplits refuses a folder of splits.
func (b *Besides) NoSplits(ctx context.Context, t *format.Table) error {
	at := storages.Of(t)
	for _, root := range t.Roots {
		m, err := readManifest(ctx, at, ManifestPath(root))
		if err == nil && len(m.Splits) > 0 {
			return shardify.Annotate(errSplits(root, m), "open", ManifestPath(root), "")
		}
	}
	return nil
}
