package dataset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// TestAMissingSetIsNamedForWhatIsThere: the error differs for a path that is no data set,
// for a set that is not complete, and for a split that the set does not have.
func TestAMissingSetIsNamedForWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	at := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	for _, d := range []string{at("plain"), at("started", storage.Private), at("started", "train"), at("whole"), at("split")} {
		if err := os.MkdirAll(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	schema := []shardify.Field{{Name: "x", DType: shardify.F32}}
	for name, m := range map[string]*index.Manifest{
		"whole": {Version: 1, Format: index.FormatMmap, Schema: schema},
		"split": {Version: 1, Format: index.FormatMmap, Schema: schema, Splits: map[string]index.Split{"train": {Digest: strings.Repeat("0", 32)}, "val": {Digest: strings.Repeat("0", 32)}}},
	} {
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name, index.ManifestName), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("a.npz"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, want string }{
		{at("none"), "there is no such folder"},
		{at("plain"), "the folder has no shardify.json"},
		{at("a.npz"), "a file, not a folder"},
		{at("started"), "is not finished"},
		{at("started", "train"), "is not finished"},
		{at("whole", "train"), "has no splits"},
		{at("split", "trian"), "it has train, val"},
	} {
		name := filepath.Join(c.dir, index.ManifestName)
		_, err := os.Stat(name)
		err = Absent(context.Background(), local.Files, name, err)
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.dir, err, c.want)
		}
	}
	if err := Absent(context.Background(), local.Files, "x", fs.ErrPermission); err != fs.ErrPermission {
		t.Errorf("another error: %v", err)
	}
}
