package zarr

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	web "github.com/shardify/shardify/storage/http"
	"github.com/shardify/shardify/tests/servertest"
)

// consolidate writes consolidated metadata into the root of a store of either format.
func consolidate(t testing.TB, dir string) {
	t.Helper()
	all := map[string]json.RawMessage{}
	v3 := false
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		base := filepath.Base(name)
		rel, _ := filepath.Rel(dir, name)
		switch {
		case err != nil || d.IsDir():
		case base == "zarr.json":
			if v3 = true; rel != base {
				p, _ := os.ReadFile(name)
				all[filepath.Dir(rel)] = p
			}
		case strings.HasPrefix(base, ".z"):
			p, _ := os.ReadFile(name)
			all[rel] = p
		}
		return nil
	})
	if v3 {
		writeJSON(t, filepath.Join(dir, "zarr.json"), map[string]any{"zarr_format": 3, "node_type": "group",
			"consolidated_metadata": map[string]any{"kind": "inline", "must_understand": false, "metadata": all}})
	} else {
		writeJSON(t, filepath.Join(dir, ".zmetadata"), map[string]any{"zarr_consolidated_format": 1, "metadata": all})
	}
}

// served is a store on a web server that lists no folders.
func served(t testing.TB, dir string, rounds *servertest.Rounds) *format.Table {
	t.Helper()
	files := http.FileServer(http.Dir(dir))
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		files.ServeHTTP(w, r)
	})
	if rounds != nil {
		rounds.Handler = h
		h = rounds
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	table := &format.Table{Roots: []string{s.URL}, FS: web.New(64 << 20)}
	name := "zarr.json"
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		name = ".zgroup"
	}
	table.Append(0, name, format.SizeUnknown, 0)
	return table
}

// TestStoresOfWebServers reads stores without listings by their consolidated metadata, and
// arrays by their names without.
func TestStoresOfWebServers(t *testing.T) {
	for _, version := range []int{2, 3} {
		made := weather(rand.New(rand.NewPCG(7, 8)), 13, version)
		made["t2m"].skip = map[string]bool{"1.0.0": true, "c/1/0/0": true}
		dir := writeStore(t, version, made)
		open := func(table *format.Table, o format.Options) (*readertest.Columns, error) {
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: table, Options: o, Jobs: 2})
			if err != nil {
				return nil, err
			}
			defer src.Close()
			return readertest.Load(src, 2000)
		}
		want, err := open(tableOf(t, dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := open(served(t, dir, nil), nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "STORE:PATH") {
			t.Errorf("format %d without metadata: %v", version, err)
		}
		one, err := open(served(t, dir, nil), format.Options{"object": "t2m"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, one.ByName["t2m"], want.ByName["t2m"])
		consolidate(t, dir)
		got, err := open(served(t, dir, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range want.Order {
			same(t, got.ByName[name], want.ByName[name])
		}
	}
}

func same(t *testing.T, got, want *shardify.Column) {
	t.Helper()
	if got == nil || string(got.Data) != string(want.Data) {
		t.Errorf("%s has other values", want.Name)
	}
}

// TestChunksOfAServerAreAskedForTogether counts how often a reader waits.
func TestChunksOfAServerAreAskedForTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	x := &madeArray{dtype: "<f4", size: 4, shape: []int{24, 8}, chunk: []int{1, 8}, data: randomBytes(r, 4*24*8)}
	dir := writeStore(t, 3, map[string]*madeArray{"x": x})
	consolidate(t, dir)
	rounds := &servertest.Rounds{}
	src, err := Format.Open(context.Background(), format.OpenArgs{Table: served(t, dir, rounds), Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readertest.Load(src, 1<<40)
	src.Close()
	if err != nil || string(got.ByName["x"].Data) != string(x.data) {
		t.Fatalf("other values, or %v", err)
	}
	if requests, n := rounds.Count(); n > 5 || requests > 24+4 {
		t.Errorf("%d requests in %d rounds for 24 chunks", requests, n)
	}
}
