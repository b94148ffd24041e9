// Package dataset is what the readers of shardify's own data sets share: finding
// manifests and the shards they name, comparing several sets, and choosing fields.
package dataset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/storage/local"
)

// maxManifest bounds the text of a manifest: a million shards take 300 MiB.
const maxManifest = 1 << 30

// ManifestPath is the manifest of an input, which is a folder or the manifest
// itself.
func ManifestPath(input string) string {
	if filepath.Base(input) == index.ManifestName {
		return input
	}
	return filepath.Join(input, index.ManifestName)
}

// FilePath is where a published file of the input's data set stands.
func FilePath(input, name string) string {
	return filepath.Join(filepath.Dir(ManifestPath(input)), filepath.FromSlash(name))
}

// CheckFile refuses a file that has not the size on record.
func CheckFile(name string, size int64) error {
	st, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", filepath.Base(name), Missing(size))
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return local.Other(name, st.Mode())
	}
	if st.Size() != size {
		return shardify.Corrupt(-1, "%s: the manifest says %d bytes, the file has %d", filepath.Base(name), size, st.Size())
	}
	return nil
}

// Read reads the manifests of all inputs. They must be of one format and alike in
// schema, keys and members.
func Read(ctx context.Context, t *shardify.Table, format string) ([]*index.Manifest, error) {
	if t.Len() == 0 {
		return nil, shardify.Unsupported("no input: want the folder of a data set")
	}
	sets := make([]*index.Manifest, 0, t.Len())
	for i := range t.Len() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name := ManifestPath(t.Path(i))
		m, err := readManifest(name)
		if err == nil {
			err = usable(m, format)
		} else {
			err = Absent(name, err)
		}
		if err == nil && i > 0 {
			err = same(m, sets[0], ManifestPath(t.Path(0)))
		}
		if err != nil {
			return nil, shardify.Annotate(err, "open", name, "")
		}
		sets = append(sets, m)
	}
	return sets, nil
}

// ReadManifest reads the text of a manifest.
func ReadManifest(name string) ([]byte, error) { return local.ReadOwn(name, maxManifest) }

func readManifest(name string) (*index.Manifest, error) {
	b, err := ReadManifest(name)
	if err != nil {
		return nil, err
	}
	return index.DecodeManifest(b)
}

func usable(m *index.Manifest, format string) error {
	switch {
	case len(m.Splits) > 0:
		return shardify.Unsupported("a set of splits: name one of its folders %s", strings.Join(slices.Sorted(maps.Keys(m.Splits)), ", "))
	case m.Format != format:
		return shardify.Unsupported("a data set of %s shards", m.Format)
	}
	return nil
}

// same compares a further set with the first one.
func same(m, first *index.Manifest, where string) error {
	if m.Keyed != first.Keyed {
		return shardify.Mismatch("keyed is %v, but %v in %s", m.Keyed, first.Keyed, where)
	}
	text := func(f []shardify.Field) string { b, _ := json.Marshal(f); return string(b) }
	for i := range min(len(m.Schema), len(first.Schema)) {
		if a, b := m.Schema[i:i+1], first.Schema[i:i+1]; text(a) != text(b) {
			return shardify.Mismatch("field %d is %s, but %s in %s", i, text(a), text(b), where)
		}
	}
	if a, b := len(m.Schema), len(first.Schema); a != b {
		return shardify.Mismatch("%d fields, but %d in %s", a, b, where)
	}
	if !maps.Equal(m.Members, first.Members) {
		return shardify.Mismatch("members %v, but %v in %s", m.Members, first.Members, where)
	}
	return nil
}

// names lists the fields that people see, the first twenty of many.
func names(all []shardify.Field) string {
	const most = 20
	var out []string
	for i := range all {
		if !shardify.Companion(all, i) {
			out = append(out, all[i].Name)
		}
	}
	if n := len(out) - most; n > 0 {
		out = append(out[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, ", ")
}

// owner is the field that a companion belongs to.
func owner(companion string) string {
	return strings.TrimSuffix(strings.TrimSuffix(companion, shardify.ShapeSuffix), shardify.ExtSuffix)
}

// Project keeps the fields that match one of the globs, with their companions,
// and tells their places among all. No globs keep everything.
func Project(all []shardify.Field, globs []string) (fields []shardify.Field, places []int, err error) {
	choice, err := columns.New(globs)
	if err != nil {
		return nil, nil, err
	}
	want := make([]bool, len(all))
	for i := range all {
		want[i], _ = choice.Match(all[i].Name)
		want[i] = want[i] && !(shardify.Companion(all, i) && choice.Excluded(owner(all[i].Name)))
	}
	if left := choice.Unmatched(); len(left) > 0 {
		return nil, nil, shardify.Misuse("columns: no field %q; there is %s", left[0], names(all))
	}
	for i := range all {
		if !want[i] {
			continue
		}
		if j := shardify.FieldIndex(all, all[i].Name+shardify.ShapeSuffix); j >= 0 && all[i].Ragged {
			want[j] = true
		}
		if j := shardify.FieldIndex(all, all[i].Name+shardify.ExtSuffix); j >= 0 && all[i].Media == "image" {
			want[j] = true
		}
	}
	for i := range all {
		if want[i] {
			fields, places = append(fields, all[i]), append(places, i)
		}
	}
	return fields, places, nil
}
