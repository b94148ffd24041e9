// Package sets puts finished data sets together without converting them again: Merge
// makes one set of several, Extend adds further shards to a set under a new manifest.
//
//	m, err := sets.PlanMerge(ctx, sets.MergeOptions{Inputs: []string{"a", "b"}, Output: "c"}) // then m.Run(ctx)
//
// Shards are copied or linked as they are wherever their bytes allow it. What differs
// is rewritten without being decoded: the header of an mmap shard whose labels grew,
// the numbers of inputs in names of rows and in the field origin.
//
// A set is published as a conversion publishes it: shards first, the manifest last,
// and the same call goes on after a kill.
package sets

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/writers"
)

// Set is a data set on disk; with splits each is one too.
type Set struct {
	Dir      string
	Manifest *index.Manifest
	Splits   map[string]*Set
	ID       string // where Versions has found it
	text     []byte // of the manifest
	latest   int64  // version of the set that this is an older one of
}

// Open reads the manifest of a folder, and those of its splits.
func Open(dir string) (*Set, error) {
	name := storage.Join(dir, index.ManifestName)
	b, err := dataset.ReadManifest(context.Background(), storages.Files, name)
	if err != nil {
		return nil, shardify.Annotate(dataset.Absent(context.Background(), storages.Files, name, err), "open", dir, "")
	}
	s := &Set{Dir: dir, text: b}
	if s.Manifest, err = index.DecodeManifest(b); err != nil {
		return nil, shardify.Annotate(err, "open", name, "")
	}
	for _, split := range slices.Sorted(maps.Keys(s.Manifest.Splits)) {
		one, err := Open(storage.Join(dir, split))
		if err != nil {
			return nil, err
		}
		if len(one.Manifest.Splits) > 0 {
			return nil, shardify.Annotate(shardify.Unsupported("a split with splits"), "open", one.Dir, "")
		}
		if s.Splits == nil {
			s.Splits = map[string]*Set{}
		}
		s.Splits[split] = one
	}
	return s, nil
}

// alone refuses to change a split without its set, whatever the folder is called: . or a link, too.
func (s *Set) alone(op string) error {
	dir, err := storage.Abs(s.Dir)
	if err != nil {
		return shardify.Annotate(err, op, s.Dir, "")
	}
	places := []string{dir}
	if real, err := local.RealPath(dir); err == nil && real != dir {
		places = append(places, real)
	}
	for _, dir := range places {
		if whole, err := Open(storage.Dir(dir)); err == nil && whole.Splits[filepath.Base(dir)] != nil {
			err := shardify.Unsupported("it is a split: the manifest of the set names this version of it")
			return shardify.Hint(shardify.Annotate(err, op, s.Dir, ""), "name the whole set: "+printable.Quote(storage.Dir(dir)))
		}
	}
	return nil
}

// inputs is how many inputs all parts of a set had; one without a list of them counts
// as one, since names of rows begin with its number.
func (s *Set) inputs() (n int64) {
	for _, p := range s.Manifest.AsParts() {
		n += max(p.Inputs.Count, 1)
	}
	return n
}

// sink is the format of a set, and its options, which the recipe has as text.
func sink(m *index.Manifest) (f format.Output, o format.Options, err error) {
	f, ok := writers.Lookup(m.Format)
	if !ok {
		return f, nil, shardify.Unsupported("format %q", m.Format)
	}
	o = format.Options{}
	for i := range f.Options {
		if v, ok := m.Recipe[f.Options[i].Name]; ok {
			o[f.Options[i].Name] = v
		}
	}
	o, err = format.CheckOptions(f.Options, o)
	return f, o, err
}

func textOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("sets: text of a field: " + err.Error())
	}
	return string(b)
}

func mismatch(dir, format string, args ...any) error {
	return shardify.Annotate(shardify.Mismatch(format, args...), "merge", dir, "")
}

// maxFile bounds what is read whole of other files of a set: plans, lists of inputs.
const maxFile = 64 << 30
