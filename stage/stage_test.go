package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/writers"
)

var bg = context.Background()

// makeSet converts synthetic samples to a data set.
func makeSet(t testing.TB, dir, kind, schema string, samples, shard, seed int) {
	t.Helper()
	opts, err := format.CheckOptions(synth.Format.Options, format.Options{
		"samples": fmt.Sprint(samples), "schema": schema, "synth-seed": fmt.Sprint(seed),
	})
	if err != nil {
		t.Fatal(err)
	}
	args := format.OpenArgs{Table: &format.Table{}, Options: opts}
	src, err := synth.Format.Open(bg, args)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	sink, _ := writers.Lookup(kind)
	sinkOptions, err := format.CheckOptions(sink.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := convert.MakePlan(bg, convert.Request{Input: "synth", Source: src, Args: args, Output: sink, Options: sinkOptions, ShardSamples: int64(shard)})
	if err != nil {
		t.Fatal(err)
	}
	job := convert.Job{Plan: plan, Source: src, Sink: sink, Store: local.NewDir(dir, "none"), Pool: shardify.NewPool(256 << 20), Jobs: 1}
	if _, err := job.Convert(bg); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(dir, storage.Private))
}

const everyKind = "x:f32[3],y:i64,flag:bool,hits:f32*,words:txt**,maybe:f32?"

// mmapSet is a small data set of several shards.
func mmapSet(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "set")
	makeSet(t, dir, index.FormatMmap, everyKind, 40, 15, 0)
	return dir
}

// splitSet is a set of the splits train (mmap shards) and val.
func splitSet(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	root := &index.Manifest{Format: index.FormatMmap, Splits: map[string]index.Split{}, Recipe: map[string]string{}, Files: []shardify.File{}, Shards: []shardify.Shard{}}
	for i, name := range []string{"train", "val"} {
		makeSet(t, filepath.Join(dir, name), index.FormatMmap, "x:f32[3],y:i64", 30-10*i, 10, i)
		b, err := os.ReadFile(filepath.Join(dir, name, index.ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		m, err := index.DecodeManifest(b)
		if err != nil {
			t.Fatal(err)
		}
		root.Schema, root.Inputs = m.Schema, m.Inputs
		root.Samples += m.Samples
		root.Splits[name] = index.Split{Samples: m.Samples, Shards: int64(len(m.Shards)), Digest: m.Digest}
	}
	b, err := root.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, index.ManifestName), b, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree is all files below a folder; what a copy adds to a set is left out.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		b, err := os.ReadFile(p)
		if rel != filepath.FromSlash(MarkName) {
			out[rel] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func names(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// same: dest is a copy, and nothing else is left beside it.
func same(t testing.TB, source, dest string) {
	t.Helper()
	if a, b := tree(t, source), tree(t, dest); !maps.Equal(a, b) {
		t.Fatalf("the copy has %v, the source %v", names(b), names(a))
	}
	clean(t, dest)
}

// clean: beside dest there is neither a lock nor an unfinished copy.
func clean(t testing.TB, dest string) {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(filepath.Dir(dest), ".*"))
	if len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
}

func verifier(m *index.Manifest) (format.Verifier, error) {
	f, _ := writers.Lookup(m.Format)
	return f.Verify(m.Schema, m.Keyed, m.Members)
}

func quick(source, dest string) Options {
	return Options{Source: source, Dest: dest, Verify: verifier, Jobs: 2, Sync: local.SyncNone, tick: time.Millisecond}
}

func mustRun(t testing.TB, o Options) *Result {
	t.Helper()
	r, err := Run(bg, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestACopyHasEveryByte(t *testing.T) {
	for name, make := range map[string]func(string){
		"mmap": func(dir string) { makeSet(t, dir, index.FormatMmap, everyKind, 40, 15, 0) },
		"wds":  func(dir string) { makeSet(t, dir, index.FormatWDS, "x:f32[3],img:jpg*300", 40, 15, 0) },
		"splits": func(dir string) {
			if err := os.Rename(splitSet(t), dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, sync := range []local.Sync{local.SyncShard, local.SyncEnd, local.SyncNone} {
			t.Run(name+"-"+string(sync), func(t *testing.T) {
				source, dest := filepath.Join(t.TempDir(), "set"), filepath.Join(t.TempDir(), "deep", "copy")
				make(source)
				o := quick(source, dest)
				o.Sync = sync
				r := mustRun(t, o)
				same(t, source, dest)
				total := int64(0)
				for _, b := range tree(t, source) {
					total += int64(len(b))
				}
				if r.Bytes != total || r.Already || r.Reused != 0 {
					t.Errorf("%+v of %d bytes", r, total)
				}
				again := mustRun(t, o)
				if !again.Already || again.Waited || again.Samples != r.Samples {
					t.Errorf("again: %+v", again)
				}
				if want := map[bool][]string{true: {"train", "val"}, false: {""}}[name == "splits"]; !slices.Equal(r.Sets, want) {
					t.Errorf("sets %q", r.Sets)
				}
				gone, err := Remove(bg, o)
				if err != nil || gone.None {
					t.Errorf("%+v, %v", gone, err)
				}
				if _, err := os.Stat(dest); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("after removal: %v", err)
				}
				clean(t, dest)
			})
		}
	}
}

// TestDamagedSourceIsNeverCopied changes each byte of a set, one at a time.
func TestDamagedSourceIsNeverCopied(t *testing.T) {
	race.Sequential(t)
	step := 101
	if os.Getenv("SHARDIFY_LONG") != "" {
		step = 1
	}
	for name, format := range map[string]string{"mmap": index.FormatMmap, "wds": index.FormatWDS} {
		t.Run(name, func(t *testing.T) {
			source := filepath.Join(t.TempDir(), "set")
			makeSet(t, source, format, "x:f32[3],hits:f32*", 6, 6, 0)
			dest := filepath.Join(t.TempDir(), "copy")
			tried := 0
			for file, content := range tree(t, source) {
				path := filepath.Join(source, file)
				for at := len(file) % step; at < len(content); at += step {
					b := []byte(content)
					b[at] ^= 0x10
					if err := os.WriteFile(path, b, 0o666); err != nil {
						t.Fatal(err)
					}
					if _, err := Run(bg, quick(source, dest)); err == nil {
						t.Fatalf("%s byte %d: copied", file, at)
					} else if !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), file) {
						t.Fatalf("%s byte %d: %v", file, at, err)
					}
					if _, err := os.Stat(dest); !errors.Is(err, fs.ErrNotExist) {
						t.Fatalf("%s byte %d: there is a copy: %v", file, at, err)
					}
					if _, err := Remove(bg, quick("", dest)); err != nil { // else the files of the last run would be used
						t.Fatal(err)
					}
					tried++
				}
				for _, b := range []string{content[:len(content)-1], content + "\x00"} {
					os.WriteFile(path, []byte(b), 0o666)
					if _, err := Run(bg, quick(source, dest)); !errors.Is(err, shardify.ErrCorrupt) {
						t.Fatalf("%s of %d bytes instead of %d: %v", file, len(b), len(content), err)
					}
					Remove(bg, quick("", dest))
				}
				os.WriteFile(path, []byte(content), 0o666)
			}
			mustRun(t, quick(source, dest))
			same(t, source, dest)
			t.Logf("%d bytes changed, none copied", tried)
		})
	}
}

func TestAChangedSourceIsTold(t *testing.T) {
	source, dest := mmapSet(t), filepath.Join(t.TempDir(), "copy")
	mustRun(t, quick(source, dest))
	os.RemoveAll(source)
	makeSet(t, source, index.FormatMmap, everyKind, 40, 15, 1)
	if _, err := Run(bg, quick(source, dest)); !errors.Is(err, ErrStale) {
		t.Fatalf("%v: want ErrStale", err)
	}
	o := quick(source, dest)
	o.Fresh = true
	if r := mustRun(t, o); r.Already {
		t.Error("the old copy was kept")
	}
	same(t, source, dest)

	shard := filepath.Join(dest, "shard-000000.safetensors")
	os.Truncate(shard, 100)
	if _, err := Run(bg, quick(source, dest)); !errors.Is(err, ErrDamaged) {
		t.Fatalf("%v: want ErrDamaged", err)
	}
	os.Remove(shard)
	if _, err := Run(bg, quick(source, dest)); !errors.Is(err, ErrDamaged) {
		t.Fatalf("%v: want ErrDamaged", err)
	}
	mustRun(t, o)
	same(t, source, dest)
}

// TestOnlyCopiesAreTouched: anything else at the destination stays.
func TestOnlyCopiesAreTouched(t *testing.T) {
	source := mmapSet(t)
	other := filepath.Join(t.TempDir(), "other")
	makeSet(t, other, index.FormatMmap, "x:f32", 5, 5, 0)
	before := tree(t, other)
	o := quick(source, other)
	o.Fresh = true
	if _, err := Run(bg, o); !errors.Is(err, ErrNotOurs) {
		t.Errorf("%v: want ErrNotOurs", err)
	}
	if _, err := Remove(bg, o); !errors.Is(err, ErrNotOurs) {
		t.Errorf("%v: want ErrNotOurs", err)
	}
	if !maps.Equal(before, tree(t, other)) {
		t.Error("a folder of others was changed")
	}

	dest := filepath.Join(t.TempDir(), "copy")
	mustRun(t, quick(source, dest))
	note := filepath.Join(dest, "notes.txt")
	os.WriteFile(note, []byte("mine"), 0o666)
	if _, err := Remove(bg, quick("", dest)); !errors.Is(err, ErrNotOurs) {
		t.Errorf("%v: want ErrNotOurs", err)
	}
	os.RemoveAll(source)
	makeSet(t, source, index.FormatMmap, everyKind, 40, 15, 1)
	o = quick(source, dest)
	o.Fresh = true
	if _, err := Run(bg, o); !errors.Is(err, ErrNotOurs) {
		t.Errorf("%v: want ErrNotOurs", err)
	}
	if b, err := os.ReadFile(note); err != nil || string(b) != "mine" {
		t.Errorf("%q, %v", b, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o666)
	if _, err := Run(bg, quick(source, file)); !errors.Is(err, shardify.ErrExists) {
		t.Errorf("%v: want ErrExists", err)
	}
}

func TestPlacesThatCannotBe(t *testing.T) {
	source := mmapSet(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(source, link); err != nil {
		t.Skip("no symbolic links here")
	}
	for _, dest := range []string{"/", "", source, filepath.Join(source, "copy"), filepath.Dir(source), link, filepath.Join(link, "copy")} {
		before := tree(t, source)
		if r, err := Run(bg, quick(source, dest)); err == nil {
			t.Errorf("%q: %+v", dest, r)
		}
		if !maps.Equal(before, tree(t, source)) {
			t.Fatalf("%q: the source was changed", dest)
		}
	}
}

func TestSpaceIsCheckedFirstAndWaitedFor(t *testing.T) {
	source, dest := mmapSet(t), filepath.Join(t.TempDir(), "copy")
	o := quick(source, dest)
	asked := 0
	o.free = func(string) int64 { asked++; return int64(asked) * 4000 }
	if _, err := Run(bg, o); !errors.Is(err, ErrSpace) || asked != 1 {
		t.Fatalf("asked %d times: %v", asked, err)
	}
	if list := tree(t, filepath.Dir(dest)); len(list) > 0 {
		t.Errorf("written: %v", names(list))
	}
	told := 0
	o.Wait, o.Waiting = time.Minute, func(what string) {
		told++
		if !strings.Contains(what, "space") {
			t.Errorf("waits for %q", what)
		}
	}
	mustRun(t, o)
	if told != 1 || asked < 3 {
		t.Errorf("reported %d times, asked %d times", told, asked)
	}
	same(t, source, dest)
}

func TestACopyInMemoryRespectsTheLimitOfMemory(t *testing.T) {
	if !inMemory("/dev/shm") {
		t.Skip("no file system in memory at /dev/shm")
	}
	dir, err := os.MkdirTemp("/dev/shm", "stage-test-")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	o := quick(mmapSet(t), filepath.Join(dir, "copy"))
	o.InMemory = 5000
	if _, err := Run(bg, o); !errors.Is(err, ErrSpace) || !strings.Contains(err.Error(), "memory") {
		t.Fatalf("%v: want ErrSpace for memory", err)
	}
	o.InMemory = 1 << 20
	mustRun(t, o)
	same(t, o.Source, o.Dest)
}

// TestSplitsThatDoNotFit: a manifest of a split that is not the one the root means.
func TestSplitsThatDoNotFit(t *testing.T) {
	source := splitSet(t)
	os.RemoveAll(filepath.Join(source, "val"))
	makeSet(t, filepath.Join(source, "val"), index.FormatMmap, "x:f32[3],y:i64", 20, 10, 7)
	if _, err := Run(bg, quick(source, filepath.Join(t.TempDir(), "copy"))); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "val") {
		t.Errorf("%v: want a mismatch", err)
	}
}

// TestAMountPointIsNoCopy: it cannot be renamed, which would show at the very end.
func TestAMountPointIsNoCopy(t *testing.T) {
	if !mounted("/dev/shm") {
		t.Skip("/dev/shm is not a file system of its own here")
	}
	if _, err := placeOf("/dev/shm"); err == nil || !strings.Contains(err.Error(), "such as /dev/shm/data") {
		t.Errorf("%v", err)
	}
	if _, err := placeOf("/dev/shm/data"); err != nil {
		t.Error(err)
	}
}

// TestWhatCameMeanwhileStays: a folder that another process has filled while the copy was made is
// not the one that was checked, and is neither replaced nor removed.
func TestWhatCameMeanwhileStays(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		src := mmapSet(t)
		o := quick(src, filepath.Join(t.TempDir(), "copy"))
		o.Fresh = fresh
		theirs := filepath.Join(o.Dest, "theirs")
		o.free = func(string) int64 { // asked between the look at the folder and the copying
			if err := os.MkdirAll(o.Dest, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(theirs, []byte("1"), 0o666); err != nil {
				t.Fatal(err)
			}
			return 1 << 40
		}
		if _, err := Run(bg, o); !errors.Is(err, ErrNotOurs) || !errors.Is(err, shardify.ErrExists) {
			t.Errorf("fresh %v: %v", fresh, err)
		}
		if _, err := os.Stat(theirs); err != nil {
			t.Errorf("fresh %v: %v", fresh, err)
		}
		if err := os.Remove(theirs); err != nil {
			t.Fatal(err)
		}
		o.free = nil
		if r := mustRun(t, o); r.Reused == 0 {
			t.Errorf("fresh %v: the next run copies everything again", fresh)
		}
		same(t, src, o.Dest)
	}
}

// TestALockThatIsGone: another process has removed the lock, and may have made its own. The copy is
// complete all the same, and the other lock stays.
func TestALockThatIsGone(t *testing.T) {
	for _, other := range []bool{false, true} {
		o := quick(mmapSet(t), filepath.Join(t.TempDir(), "copy"))
		at, err := placeOf(o.Dest)
		if err != nil {
			t.Fatal(err)
		}
		o.free = func(string) int64 {
			if err := os.Remove(at.lock); err != nil {
				t.Fatal(err)
			}
			if other {
				if err := os.WriteFile(at.lock, nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			return 1 << 40
		}
		mustRun(t, o)
		if _, err := os.Stat(at.lock); (err == nil) != other {
			t.Errorf("the other's lock: %v", err)
		}
	}
}
