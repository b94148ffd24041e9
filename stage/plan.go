package stage

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// plan is everything that a copy consists of.
type plan struct {
	source    string // folder, absolute
	digest    string // of the root manifest, and so of everything
	manifests []text // of splits first, the root's last
	files     []file
	bytes     int64
	samples   int64
	sets      []string
}

// text is a manifest as it was read.
type text struct {
	name string
	b    []byte
}

// file is any other file of the data set.
type file struct {
	name   string // slash path below the folder
	bytes  int64
	digest string
	// shard is the record of a shard, and set the manifest that has it; nil for other files.
	shard *shardify.Shard
	set   *index.Manifest
}

// checker gets the file's bytes and knows whether they are right. The format of a shard says how.
func (f *file) checker(r io.ReaderAt, verify Verify) (format.Checker, error) {
	if f.shard != nil {
		v, err := verify(f.set)
		if err != nil {
			return nil, err
		}
		if v.Stream != nil {
			return v.Stream(f.shard, r)
		}
	}
	return dataset.NewChecker(f.digest)
}

// load reads the manifests of a data set.
func load(source string) (*plan, error) {
	dir, err := storage.Abs(storage.Dir(dataset.ManifestPath(storages.Plain(source))))
	if err != nil {
		return nil, err
	}
	p := &plan{source: dir}
	m, err := p.set("")
	if err != nil {
		return nil, err
	}
	p.digest, p.samples = m.Digest, m.Samples
	for _, name := range slices.Sorted(maps.Keys(m.Splits)) {
		s, err := p.set(name + "/")
		if err == nil && s.Digest != m.Splits[name].Digest {
			err = p.annotate(shardify.Mismatch("its xxh3 is %s, but %s in the manifest of all splits", s.Digest, m.Splits[name].Digest), name+"/"+index.ManifestName)
		}
		if err == nil && len(s.Splits) > 0 {
			err = p.annotate(shardify.Corrupt(-1, "splits inside a split"), name+"/"+index.ManifestName)
		}
		if err != nil {
			return nil, err
		}
		p.sets = append(p.sets, name)
	}
	if len(m.Splits) == 0 {
		p.sets = []string{""}
	}
	slices.Reverse(p.manifests)
	// The largest first: the last ones then end together.
	slices.SortStableFunc(p.files, func(a, b file) int { return int(min(max(b.bytes-a.bytes, -1), 1)) })
	return p, nil
}

// set reads one manifest and adds what it names.
func (p *plan) set(prefix string) (*index.Manifest, error) {
	name := prefix + index.ManifestName
	b, err := dataset.ReadManifest(context.Background(), storages.Files, p.path(name))
	if err != nil {
		return nil, p.annotate(dataset.Absent(context.Background(), storages.Files, p.path(name), err), name)
	}
	m, err := index.DecodeManifest(b)
	if err != nil {
		return nil, p.annotate(err, name)
	}
	p.manifests = append(p.manifests, text{name, b})
	p.bytes += int64(len(b))
	for i := range m.Shards {
		s := &m.Shards[i]
		p.add(file{name: prefix + s.Name, bytes: s.Bytes, digest: s.Digest, shard: s, set: m})
		for _, x := range s.Files {
			p.add(file{name: prefix + x.Name, bytes: x.Bytes, digest: x.Digest})
		}
	}
	for _, x := range m.Files {
		p.add(file{name: prefix + x.Name, bytes: x.Bytes, digest: x.Digest})
	}
	return m, nil
}

func (p *plan) add(f file) {
	p.files = append(p.files, f)
	p.bytes += f.bytes
}

func (p *plan) path(name string) string { return storage.Join(p.source, name) }

func (p *plan) annotate(err error, name string) error {
	return shardify.Annotate(err, "read", p.path(name), "")
}

// present returns an error if the sizes of a complete copy are wrong.
func (p *plan) present(dest string) error {
	for i := range p.manifests {
		m := &p.manifests[i]
		b, err := dataset.ReadManifest(context.Background(), local.Files, filepath.Join(dest, filepath.FromSlash(m.name)))
		if err == nil && string(b) != string(m.b) {
			err = fmt.Errorf("%s is not that of the source", m.name)
		}
		if err != nil {
			return err
		}
	}
	for i := range p.files {
		f := &p.files[i]
		st, err := os.Lstat(filepath.Join(dest, filepath.FromSlash(f.name)))
		if err != nil {
			return err
		}
		if !st.Mode().IsRegular() || st.Size() != f.bytes {
			return fmt.Errorf("%s has %d bytes, not %d", f.name, st.Size(), f.bytes)
		}
	}
	return nil
}
