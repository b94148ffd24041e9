package h5

import (
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

func TestLookupFollowsLinksInsideTheFile(t *testing.T) {
	f := openBytes(t, readTestdata(t, "old.h5"))
	x, err := f.Lookup("/train/a/b/x")
	if err != nil || x.Addr <= 0 {
		t.Fatal(x, err)
	}
	for path, want := range map[string]string{
		"/soft":                      "/train/a/b/x",
		"soft":                       "/train/a/b/x",
		"//train/./a//b/x/":          "/train/a/b/x",
		"/train/relative":            "/train/a/b/x",
		"/train/a/absolute":          "/train/a/b/x",
		"/train/again/b/x":           "/train/again/b/x",
		"/train/a/b/up/a/b/up/a/b/x": "/train/a/b/up/a/b/up/a/b/x",
		"/train/a/b/up/again/../x":   "",
		"/train/a/b/up/relative":     "/train/a/b/up/a/b/x",
		strings.Repeat("/./", 50) + "train/relative": "/train/a/b/x",
	} {
		l, err := f.Lookup(path)
		if want == "" {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if err != nil || l.Path != want || l.Addr != x.Addr {
			t.Errorf("%s: %+v, %v", path, l, err)
		}
	}
	if l, err := f.Lookup("/"); err != nil || l.Addr != f.Root || l.Path != "/" {
		t.Errorf("/: %+v, %v", l, err)
	}
	for path, want := range map[string]error{
		"/nothing": fs.ErrNotExist, "/dangling": fs.ErrNotExist, "/soft/deeper": fs.ErrNotExist,
		"/loop1": shardify.ErrCorrupt, "/loop2/x": shardify.ErrCorrupt,
	} {
		if _, err := f.Lookup(path); !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for path, target := range map[string]string{"/ext": "/far", "/ext/b/c": "/far/b/c"} {
		l, err := f.Lookup(path)
		if err != nil || !l.External || l.File != "other.h5" || l.Target != target || l.Addr != meta.Undefined {
			t.Errorf("%s: %+v, %v", path, l, err)
		}
	}
}

// A File is used by many workers. Run with -race.
func TestAFileServesManyGoroutines(t *testing.T) {
	b := readTestdata(t, "old.h5")
	f, err := open(meta.New(strings.NewReader(string(b)), int64(len(b)), "test.h5", 1))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				if err := walkAll(f, nil); err != nil {
					t.Error(err)
				}
				if _, err := f.Lookup("/train/again/b/x"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}
