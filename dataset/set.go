package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// Set is a data set: its manifest, and the layout of all of its fields.
type Set struct {
	*index.Manifest
	FS     storage.FS
	Path   string // the folder or the manifest, as given
	Layout *index.Layout
	// Foreign: there is no manifest; it was made of the files that are there, and its shards have no
	// digests.
	Foreign bool
	// Stored is the set as it is on disk, where this one has other samples (Flat); else nil.
	Stored *Set
	tensor string // of Flat: which of Stored it has
	loose  *loose // of shards that are no tars of ours but have one sample after the other
}

// OnDisk is the set as it is on disk.
func (s *Set) OnDisk() *Set {
	if s.Stored != nil {
		return s.Stored
	}
	return s
}

// Where is what errors name: the manifest, or what stands for it.
func (s *Set) Where() string {
	if s.Foreign {
		return s.Path
	}
	return ManifestPath(s.Path)
}

// Open reads the manifest of a data set of shards of one of these formats. A set of splits
// is not one data set: each of its folders is one. Pairs of Megatron-LM, MDS sets and
// tars of WebDataset need no manifest.
func Open(ctx context.Context, in storage.FS, path string, formats ...string) (*Set, error) {
	s, err := open(ctx, in, path, formats)
	return s, shardify.Annotate(err, "open", ManifestPath(path), "")
}

func open(ctx context.Context, in storage.FS, path string, formats []string) (*Set, error) {
	name := ManifestPath(path)
	m, err := readManifest(ctx, in, name)
	if absent := Absent(ctx, in, name, err); err != nil {
		if a, none := absent.(*absentSet); none && !a.begun && slices.Contains(formats, index.FormatMDS) {
			if s, err := openForeign(ctx, in, path, true); s != nil || err != nil {
				return s, err
			}
		}
		return nil, absent
	}
	switch {
	case len(m.Splits) > 0:
		return nil, errSplits(Folder(path), m)
	case !slices.Contains(formats, m.Format):
		return nil, shardify.Unsupported("a data set of %s shards: want %s; shardify convert %s -o FOLDER converts it", m.Format, strings.Join(formats, " or "), printable.Quote(Folder(path)))
	}
	if m.Format == index.FormatMDS {
		return openMDS(ctx, in, path, m)
	}
	s := &Set{Manifest: m, FS: in, Path: path}
	s.Layout, err = index.NewLayout(m.Schema, m.Keyed)
	return s, err
}

// openForeign makes a set of what others wrote. Without any it returns nil. indexed is for openTars.
func openForeign(ctx context.Context, in storage.FS, path string, indexed bool) (s *Set, err error) {
	for _, open := range []func() (*Set, error){
		func() (*Set, error) { return openMDS(ctx, in, path, nil) },
		func() (*Set, error) { return nil, mdsSplits(ctx, in, Folder(path)) },
		func() (*Set, error) { return openPairs(ctx, in, path) },
		func() (*Set, error) { return openTars(ctx, in, path, indexed) },
	} {
		if s, err = open(); s != nil || err != nil {
			break
		}
	}
	return s, err
}

// SplitSet is the error about a set of splits where one of them is wanted.
type SplitSet struct {
	Folder string
	Names  []string // of splits that have samples
	Empty  []string // of the others
}

func (e *SplitSet) Error() string {
	text := "a set of splits: name one of its folders " + strings.Join(e.Names, ", ")
	if e.Empty != nil {
		text += "; without samples: " + strings.Join(e.Empty, ", ")
	}
	return text
}

// Unwrap is ErrUnsupported.
func (e *SplitSet) Unwrap() error { return shardify.ErrUnsupported }

func errSplits(folder string, m *index.Manifest) error {
	e := &SplitSet{Folder: folder}
	for _, name := range slices.Sorted(maps.Keys(m.Splits)) {
		if m.Splits[name].Samples > 0 {
			e.Names = append(e.Names, name)
		} else {
			e.Empty = append(e.Empty, name)
		}
	}
	return e
}

// OpenAll opens data sets of one format, which must be alike in schema, keys and members.
func OpenAll(ctx context.Context, t *format.Table, format string) ([]*Set, error) {
	if t.Len() == 0 {
		return nil, shardify.Unsupported("no input: want the folder of a data set")
	}
	sets := make([]*Set, 0, t.Len())
	for i := range t.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := Open(ctx, storages.Of(t), t.Path(i), format)
		if err == nil && i > 0 {
			err = shardify.Annotate(s.same(sets[0]), "open", ManifestPath(s.Path), "")
		}
		if err != nil {
			return nil, err
		}
		sets = append(sets, s)
	}
	return sets, nil
}

// Coords are the coordinates of the dimensions of sets that are read as one, and the names of those
// that only some of them have.
func Coords(sets []*Set) (all map[string]format.Coord, lost []string, err error) {
	var j index.JoinedCoords
	for _, s := range sets {
		if err := j.Add(s.Manifest); err != nil {
			return nil, nil, shardify.Annotate(err, "open", ManifestPath(s.Path), "")
		}
	}
	all, lost = j.Of()
	return all, lost, nil
}

// Sniffer recognizes the manifests of data sets of a format by their first lines, which are
// the version and the format.
func Sniffer(format string) func(head []byte, name string) bool {
	return func(head []byte, name string) bool {
		return name == index.ManifestName && bytes.Contains(head, []byte(`"format": "`+format+`"`))
	}
}

// ManifestPath is the manifest of an input, which is a folder or the manifest itself.
func ManifestPath(input string) string {
	if filepath.Base(input) == index.ManifestName {
		return input
	}
	return storage.Join(input, index.ManifestName)
}

// Folder is the folder of an input, which is a folder or the manifest itself.
func Folder(input string) string {
	if filepath.Base(input) == index.ManifestName {
		return storage.Dir(input)
	}
	return input
}

// maxManifest bounds the text of a manifest: a million shards take 300 MiB.
const maxManifest = 1 << 30

// ReadManifest reads the text of a manifest, as it is Published.
func ReadManifest(ctx context.Context, in storage.FS, name string) ([]byte, error) {
	b, err := readText(ctx, in, name)
	if err != nil {
		return b, err
	}
	return Published(ctx, in, name, b)
}

// readText reads the text of a manifest, again if another version was published meanwhile.
func readText(ctx context.Context, in storage.FS, name string) (b []byte, err error) {
	for range Refetches + 1 {
		if b, err = readOnce(ctx, in, name); !errors.Is(err, shardify.ErrChanged) {
			break
		}
	}
	return b, err
}

// readOnce reads it again from another machine if it arrived damaged.
func readOnce(ctx context.Context, in storage.FS, name string) ([]byte, error) {
	f, err := storage.OpenOwn(ctx, in, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, kept := storage.As[storage.Forgetter](f)
	for n := 0; ; n++ {
		b, err := storage.ReadWhole(f, name, maxManifest)
		if err != nil || !kept || n == Refetches {
			return b, err
		}
		if _, err := index.DecodeManifest(b); !Again(f, err) {
			return b, nil
		}
	}
}

func readManifest(ctx context.Context, in storage.FS, name string) (*index.Manifest, error) {
	b, err := ReadManifest(ctx, in, name)
	if err != nil {
		return nil, err
	}
	return index.DecodeManifest(b)
}

// same compares a further set with the first one.
func (s *Set) same(first *Set) error {
	where := ManifestPath(first.Path)
	if s.Keyed != first.Keyed {
		return shardify.Mismatch("keyed is %v, but %v in %s", s.Keyed, first.Keyed, where)
	}
	text := func(f []shardify.Field) string { b, _ := json.Marshal(f); return string(b) }
	for i := range min(len(s.Schema), len(first.Schema)) {
		if a, b := s.Schema[i:i+1], first.Schema[i:i+1]; text(a) != text(b) {
			return shardify.Mismatch("field %d is %s, but %s in %s", i, text(a), text(b), where)
		}
	}
	if a, b := len(s.Schema), len(first.Schema); a != b {
		return shardify.Mismatch("%d fields, but %d in %s", a, b, where)
	}
	if !maps.Equal(s.Members, first.Members) {
		return shardify.Mismatch("members %v, but %v in %s", s.Members, first.Members, where)
	}
	return nil
}
