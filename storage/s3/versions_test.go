package s3_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/s3/s3test"
	"github.com/shardify/shardify/verify"
)

// edits are what makes versions, one after the other.
var edits = []pipeline.Edit{
	{Op: "remove", Where: "y % 7 == 3", Jobs: 1}, {Op: "relabel", Jobs: 1}, {Op: "checkout", Version: 1}, {Op: "remove", Where: "y % 5 == 2", Note: "more", Jobs: 1}, {Op: "gc", Version: 2},
}

func edit(t testing.TB, dir string, e pipeline.Edit) error {
	e.Dir = dir
	return pipeline.Change(t.Context(), &e, pipeline.Hooks{})
}

// versioned are conversions whose sets have versions.
func versioned(t *testing.T) (list []conversion) {
	t.Helper()
	in := table(t, "in.csv", 60)
	for _, split := range []string{"", "train=0.6,val=0.4"} {
		for _, format := range []string{"mmap", "wds"} {
			list = append(list, conversion{name: format + " " + split, Settings: pipeline.Settings{Inputs: []string{in}, Format: format, Split: split, ShardSamples: 20, Jobs: 1}})
		}
	}
	return list
}

// table writes a table of n samples and returns its name.
func table(t *testing.T, name string, n int) string {
	t.Helper()
	text := "y,z\n"
	for i := range n {
		text += fmt.Sprintf("%d,%d.5\n", i, n-i)
	}
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// ids are those of a set and of its splits, as readers of each find them.
func ids(t testing.TB, name, dir string, splits bool) (list string) {
	t.Helper()
	for _, split := range []string{"", "/train", "/val"} {
		if split != "" && !splits {
			break
		}
		id, err := pipeline.ID(t.Context(), dir+split)
		if err != nil {
			t.Fatalf("%s: %s%s: %v", name, dir, split, err)
		}
		list += id + " "
	}
	return list
}

func healthy(t testing.TB, name, dir string) {
	t.Helper()
	v, err := verify.Run(t.Context(), verify.Options{Dir: dir})
	if err == nil {
		err = v.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v, %v", name, err, v)
	}
}

// TestVersionsAreThoseOfAFolder: a set of a server has the bytes of one in a folder after each edit. An edit
// that is ended at a request leaves the old version or the new one, and the same edit makes the bytes of an unbroken one.
func TestVersionsAreThoseOfAFolder(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	fresh(t)
	const set = "s3://bucket/set"
	step := 7
	if long() {
		step = 1
	}
	points := 0
	labels := table(t, "labels.csv", 3)
	for _, c := range versioned(t) {
		dir := filepath.Join(t.TempDir(), "set")
		if _, err := pipeline.Convert(t.Context(), c.to(dir)); err != nil {
			t.Fatal(err)
		}
		srv.Clear()
		srv.SetFault(nil)
		fresh(t)
		if _, err := pipeline.Convert(t.Context(), c.to(set)); err != nil {
			t.Fatal(err)
		}
		for _, e := range edits {
			if e.Op == "relabel" {
				e.Labels = labels
			}
			name := c.name + " " + e.Op
			before, old := srv.Objects("/bucket/set/"), folder(t, dir)
			had := ids(t, name, dir, c.Split != "")
			if err := edit(t, dir, e); err != nil {
				t.Fatal(err)
			}
			want, has := folder(t, dir), ids(t, name, dir, c.Split != "")
			for _, fault := range []s3test.Fault{s3test.Die, s3test.Last, s3test.Lose} {
				for n := 1 + points%step; ; n += step {
					at := fmt.Sprintf("%s, fault %d at request %d", name, fault, n)
					srv.Clear()
					for key, content := range before {
						srv.Set("/bucket/set/"+key, content)
					}
					fresh(t)
					srv.SetFault(func(k int, _ *http.Request) s3test.Fault {
						if k == n {
							return fault
						}
						return s3test.None
					})
					err := edit(t, set, e)
					ended := srv.Changes() >= n
					if fault == s3test.Lose && err != nil {
						t.Fatalf("%s: %v", at, err)
					}
					srv.SetFault(nil)
					fresh(t)
					{
						m := srv.Objects("/bucket/set/")["shardify.json"]
						if m != old["shardify.json"] && m != want["shardify.json"] {
							t.Fatalf("%s: another manifest", at)
						}
						version := had
						if m == want["shardify.json"] {
							version = has
						}
						if got := ids(t, at, set, c.Split != ""); got != version {
							t.Fatalf("%s: the set and its splits are %s, want %s", at, got, version)
						}
						for file, content := range srv.Objects("/bucket/set/") {
							if strings.HasPrefix(path.Base(file), "shard-") && file[0] != '.' && content != old[file] && content != want[file] {
								t.Fatalf("%s: %s is torn", at, file)
							}
						}
					}
					if err != nil || e.Op == "gc" {
						if m := srv.Objects("/bucket/set/")["shardify.json"]; m == old["shardify.json"] || e.Op == "gc" {
							if err := edit(t, set, e); err != nil {
								t.Fatalf("%s: again: %v", at, err)
							}
						}
					}
					compare(t, at, readers(srv.Objects("/bucket/set/")), want)
					healthy(t, at, set)
					if !ended {
						break
					}
					points++
				}
			}
		}
	}
	t.Logf("%d requests", points)
}

// TestTwoWritersOfVersions: of edits at the same time each makes a version or is refused, and nothing of a
// refused one stays.
func TestTwoWritersOfVersions(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	const set = "s3://bucket/set"
	rounds, lost := 12, 0
	if long() {
		rounds = 200
	}
	for round := range rounds {
		c := versioned(t)[round%4]
		srv.Clear()
		fresh(t)
		if _, err := pipeline.Convert(t.Context(), c.to(set)); err != nil {
			t.Fatal(err)
		}
		var g sync.WaitGroup
		errs := make([]error, 3)
		for i := range errs {
			g.Go(func() {
				errs[i] = edit(t, set, pipeline.Edit{Op: "remove", Where: fmt.Sprintf("y %% 4 == %d", i), Jobs: 1})
			})
		}
		g.Wait()
		won := 0
		for i, err := range errs {
			switch {
			case err == nil:
				won++
			case errors.Is(err, shardify.ErrExists):
				lost++
			default:
				t.Errorf("%s, writer %d: %v", c.name, i, err)
			}
		}
		list, err := pipeline.Versions(set)
		if err != nil || won == 0 || len(list) != won+1 {
			t.Errorf("%s: %d writers won, %d versions, %v", c.name, won, len(list), err)
		}
		healthy(t, c.name, set)
	}
	t.Logf("%d of %d writers came too late", lost, 3*rounds)
}

// TestSwapOfAChangedFile: the file is another one when it is read, or becomes so between reading and
// publishing; and the answer about our own may be lost.
func TestSwapOfAChangedFile(t *testing.T) {
	srv := start(t)
	fresh(t)
	s := at(t, "s3://bucket/set")
	const key = "/bucket/set/f"
	srv.Set(key, "old")
	if err := storage.Swap(t.Context(), s, "f", []byte("older"), []byte("new")); !errors.Is(err, shardify.ErrExists) {
		t.Errorf("it was changed before: %v", err)
	}
	var came atomic.Bool
	srv.SetFault(func(_ int, r *http.Request) s3test.Fault {
		if r.URL.Path != key || came.Load() {
			return s3test.None
		}
		go func() {
			srv.Set(key, "of another writer")
			came.Store(true)
		}()
		return s3test.Refuse // until the other one has come
	})
	if err := storage.Swap(t.Context(), s, "f", []byte("old"), []byte("new")); !errors.Is(err, shardify.ErrExists) {
		t.Errorf("it was changed meanwhile: %v", err)
	}
	if got := srv.Objects("/bucket/set/")["f"]; got != "of another writer" {
		t.Errorf("the file is %q", got)
	}
	srv.SetFault(func(n int, r *http.Request) s3test.Fault {
		if r.URL.Path == key && n < 4 {
			return s3test.Lose
		}
		return s3test.None
	})
	if err := storage.Swap(t.Context(), s, "f", []byte("of another writer"), []byte("new")); err != nil || srv.Objects("/bucket/set/")["f"] != "new" {
		t.Errorf("an answer was lost: %v", err)
	}
	srv.SetFault(nil)
	srv.Unconditional = true
	fresh(t)
	if err := storage.Swap(t.Context(), at(t, "s3://bucket/set"), "f", []byte("new"), []byte("newer")); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("a server without conditions: %v", err)
	}
}

// TestAWriterThatComesTooLate puts its manifests of splits over those of the version that was published meanwhile, and is
// refused: it puts that version back, or is killed before. Readers of the set and of a split have that version.
func TestAWriterThatComesTooLate(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	const set = "s3://bucket/set"
	var meanwhile atomic.Value
	srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do, ok := meanwhile.Load().(func(*http.Request)); ok {
			do(r)
		}
		srv.ServeHTTP(w, r)
	})
	for _, c := range versioned(t)[2:] {
		for _, killed := range []bool{false, true} {
			srv.Clear()
			srv.SetFault(nil)
			fresh(t)
			if _, err := pipeline.Convert(t.Context(), c.to(set)); err != nil {
				t.Fatal(err)
			}
			var want string
			var came, published atomic.Bool
			meanwhile.Store(func(r *http.Request) {
				switch {
				case r.Method == http.MethodPut && r.URL.Path == "/bucket/set/train/shardify.json" && came.CompareAndSwap(false, true):
					if err := edit(t, set, pipeline.Edit{Op: "remove", Where: "y % 4 == 1", Jobs: 1}); err != nil {
						t.Error(err)
					}
					want = ids(t, c.name, set, true)
					published.Store(true)
				case killed && published.Load() && r.URL.Path == "/bucket/set/val/shardify.json":
					srv.SetFault(func(int, *http.Request) s3test.Fault { return s3test.Last })
				}
			})
			err := edit(t, set, pipeline.Edit{Op: "remove", Where: "y % 4 == 2", Jobs: 1})
			if err == nil || errors.Is(err, shardify.ErrExists) == killed || !killed && !strings.Contains(fmt.Sprint(shardify.Hints(err)), "run the same command again") {
				t.Errorf("%s, killed %v: %v, hints %q", c.name, killed, err, shardify.Hints(err))
			}
			meanwhile.Store(func(*http.Request) {})
			srv.SetFault(nil)
			fresh(t)
			if got := ids(t, c.name, set, true); got != want {
				t.Errorf("%s, killed %v: ids %s, want %s", c.name, killed, got, want)
			}
			if !killed {
				healthy(t, c.name, set)
			}
			if err := edit(t, set, pipeline.Edit{Op: "remove", Where: "y % 4 == 2", Jobs: 1}); err != nil {
				t.Fatal(err)
			}
			if err := edit(t, set, pipeline.Edit{Op: "gc", Version: 1}); err != nil {
				t.Fatal(err)
			}
			healthy(t, c.name, set)
		}
	}
}

// TestLoaderOfAServerGoesOnWithItsVersion: a loader in mid-epoch delivers the samples of the version that it opened, while
// others are published. One that is opened later has the last one.
func TestLoaderOfAServerGoesOnWithItsVersion(t *testing.T) {
	srv := start(t)
	t.Setenv("TMPDIR", t.TempDir())
	const set = "s3://bucket/set"
	for _, c := range versioned(t) {
		srv.Clear()
		fresh(t)
		if _, err := pipeline.Convert(t.Context(), c.to(set)); err != nil {
			t.Fatal(err)
		}
		of := set
		if c.Split != "" {
			of += "/train"
		}
		before := epoch(t, of, nil)
		during := epoch(t, of, func() {
			for _, e := range []pipeline.Edit{{Op: "remove", Where: "y % 3 == 1", Jobs: 1}, {Op: "remove", Where: "y >= 50", Jobs: 1}} {
				if err := edit(t, set, e); err != nil {
					t.Fatal(err)
				}
			}
		})
		if !slices.Equal(during, before) || c.Split == "" && len(before) != 60 {
			t.Errorf("%s: an epoch over two changes of version has %v, before there were %v", c.name, during, before)
		}
		want := slices.DeleteFunc(before, func(y int64) bool { return y%3 == 1 || y >= 50 })
		if now := epoch(t, of, nil); !slices.Equal(now, want) || len(now) == 0 {
			t.Errorf("%s: the new version has %v, want %v", c.name, now, want)
		}
	}
}

// epoch is the values of y in an epoch, sorted. In the middle of it something is done.
func epoch(t *testing.T, set string, middle func()) (all []int64) {
	t.Helper()
	d, err := gpuload.Open(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l, err := d.Loader(gpuload.Config{Batch: 4, Shuffle: gpuload.Global, Seed: 4, Last: gpuload.Short, Tier: gpuload.TierStream, Depth: 1, Workers: 1, Device: "host"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for k := 0; ; k++ {
		b, err := l.Next(t.Context())
		if errors.Is(err, io.EOF) {
			slices.Sort(all)
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Rows() {
			all = append(all, int64(binary.LittleEndian.Uint64(b.Host("y")[8*i:])))
		}
		b.Release()
		if k == 2 && middle != nil {
			middle()
		}
	}
}
