package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/verify/problem"
)

// TestRepairRestoresEveryDerivedByte damages, cuts and removes each file that is
// no shard, alone and all together: a repair gives the same bytes, then nothing
// is wrong. Shards are never written to.
func TestRepairRestoresEveryDerivedByte(t *testing.T) {
	for _, format := range []string{"mmap", "wds"} {
		good := build(t, format, small(t, format), 4)
		var derived []string
		for _, n := range published(good) {
			if !strings.HasSuffix(n, ".safetensors") && !strings.HasSuffix(n, ".tar") {
				derived = append(derived, n)
			}
		}
		ways := map[string]func(m *memory.Store, name string){
			"flipped": func(m *memory.Store, name string) {
				b := slices.Clone(m.Files()[name])
				b[len(b)/2] ^= 4
				m.Set(name, b)
			},
			"rewritten": func(m *memory.Store, name string) {
				b := slices.Clone(m.Files()[name])
				for i := range b[3:9] {
					b[3+i] ^= 0xff
				}
				m.Set(name, b)
			},
			"cut":     func(m *memory.Store, name string) { b := m.Files()[name]; m.Set(name, b[:len(b)*2/3]) },
			"emptied": func(m *memory.Store, name string) { m.Set(name, nil) },
			"removed": func(m *memory.Store, name string) { m.Remove(name) },
		}
		for way, damage := range ways {
			sets := [][]string{derived}
			for _, n := range derived {
				sets = append(sets, []string{n})
			}
			for _, names := range sets {
				t.Run(fmt.Sprintf("%s/%s/%d files from %s", format, way, len(names), names[0]), func(t *testing.T) {
					quick(t)
					m := good.Clone()
					for _, n := range names {
						if way == "removed" && n == index.ManifestName {
							continue // then the conversion is not finished: merge's work
						}
						damage(m, n)
					}
					if before := check(t, m, nil); way != "removed" && before.OK() {
						t.Fatal("the damage is not found")
					}
					r := check(t, m, func(o *Options) { o.Repair = true })
					if !r.OK() {
						t.Errorf("not all repaired: %v%s", r.Done, list(r))
					}
					if !maps.EqualFunc(good.Files(), m.Files(), bytes.Equal) {
						t.Errorf("other bytes after the repair: %v", r.Done)
					}
					if again := check(t, m, nil); !again.OK() || again.Err() != nil {
						t.Errorf("after the repair:%s", list(again))
					}
				})
			}
		}
	}
}

// TestRepairNeedsNoPrivateFolder: readers need none, and it may be gone.
func TestRepairNeedsNoPrivateFolder(t *testing.T) {
	quick(t)
	good := build(t, "wds", small(t, "wds"), 4)
	m := memory.New()
	for _, n := range published(good) {
		m.Set(n, good.Files()[n])
	}
	for _, n := range published(good) {
		if n != index.ManifestName && !strings.HasSuffix(n, ".tar") {
			m.Set(n, []byte("damaged"))
		}
	}
	r := check(t, m, func(o *Options) { o.Repair = true })
	for _, n := range published(good) {
		if !bytes.Equal(m.Files()[n], good.Files()[n]) {
			t.Errorf("%s is not repaired: %v", n, r.Done)
		}
	}
}

func TestRepairBelievesNoDamagedShard(t *testing.T) {
	quick(t)
	m := build(t, "wds", small(t, "wds"), 4)
	b := slices.Clone(m.Files()["shard-000000.tar"])
	b[126] = '7' // another size in its first header
	m.Set("shard-000000.tar", b)
	m.Remove("shard-000000.tar.idx")
	r := check(t, m, func(o *Options) { o.Repair = true })
	if r.OK() || len(r.Done) != 1 || !strings.Contains(r.Done[0], "cannot be rebuilt") || m.Files()["shard-000000.tar.idx"] != nil {
		t.Errorf("done %q:%s", r.Done, list(r))
	}
	if !strings.Contains(r.Next, "shard-000000.tar ") || !strings.Contains(r.Next, "merge") {
		t.Errorf("next %q", r.Next)
	}
}

// TestRemakeMakesTheDamagedShardAgain does what the report says to do.
func TestRemakeMakesTheDamagedShardAgain(t *testing.T) {
	quick(t)
	src := small(t, "wds")
	good := build(t, "wds", src, 2)
	m := good.Clone()
	for _, n := range []string{"shard-000001.tar", "shard-000001.tar.idx", "index.json"} {
		b := slices.Clone(m.Files()[n])
		b[len(b)/2] ^= 1
		m.Set(n, b)
	}
	r := check(t, m, func(o *Options) { o.Dir = "set" })
	rm, _, ok := strings.Cut(r.Next, " && shardify work set && shardify merge set")
	if !ok {
		t.Fatalf("next %q", r.Next)
	}
	for _, n := range strings.Fields(rm)[2:] {
		m.Remove(strings.TrimPrefix(n, "set/"))
	}
	if _, err := job(t, m, "wds", src, 2).Convert(context.Background()); err != nil {
		t.Fatalf("after %s: %v", rm, err)
	}
	if !maps.EqualFunc(good.Files(), m.Files(), bytes.Equal) {
		t.Error("other bytes after making it again")
	}
}

// onDisk writes a set to a folder.
func onDisk(t testing.TB, m *memory.Store) string {
	t.Helper()
	dir := t.TempDir()
	for n, b := range m.Files() {
		p := filepath.Join(dir, filepath.FromSlash(n))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRepairOnDiskLeavesNothingBehind(t *testing.T) {
	good := build(t, "wds", small(t, "wds"), 4)
	for _, private := range []bool{true, false} {
		dir := onDisk(t, good)
		if !private {
			os.RemoveAll(filepath.Join(dir, storage.Private))
		}
		name := filepath.Join(dir, "shard-000000.tar.idx")
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := check(t, nil, func(o *Options) { o.Store = nil; o.Dir = dir; o.Repair = true })
		b, err := os.ReadFile(name)
		if err != nil || !r.OK() || !bytes.Equal(b, good.Files()["shard-000000.tar.idx"]) {
			t.Errorf("not repaired: %v %v", err, r.Done)
		}
		left, _ := filepath.Glob(filepath.Join(dir, storage.Private, "tmp", "*"))
		if _, err := os.Stat(filepath.Join(dir, storage.Private)); len(left) > 0 || !private && err == nil {
			t.Errorf("left behind: %v", left)
		}
	}
}

// splitSet makes a set of two splits; nothing converts to one yet.
func splitSet(t testing.TB, format string) *memory.Store {
	t.Helper()
	m := memory.New()
	root := index.Manifest{Splits: map[string]index.Split{}, Recipe: map[string]string{}}
	for i, name := range []string{"train", "val"} {
		part := build(t, format, makeSource(small(t, format).Schema, 7, uint64(i)), 4)
		for _, n := range published(part) {
			m.Set(name+"/"+n, part.Files()[n])
		}
		man, err := index.DecodeManifest(part.Files()[index.ManifestName])
		if err != nil {
			t.Fatal(err)
		}
		root.Splits[name] = index.Split{Samples: man.Samples, Shards: int64(len(man.Shards)), Digest: man.Digest}
		root.Samples += man.Samples
	}
	b, err := root.Encode()
	if err != nil {
		t.Fatal(err)
	}
	m.Set(index.ManifestName, b)
	return m
}

func TestSplitsAreCheckedEach(t *testing.T) {
	quick(t)
	for _, format := range []string{"mmap", "wds"} {
		good := splitSet(t, format)
		if r := check(t, good, nil); !r.OK() || r.Counts.Sets != 2 || r.Counts.Shards != 4 || r.Counts.Samples != 14 || r.Format != format {
			t.Fatalf("%s: %+v%s", format, r.Counts, list(r))
		}
		for _, name := range published(good) {
			m := good.Clone()
			b := slices.Clone(m.Files()[name])
			b[len(b)/2] ^= 2
			m.Set(name, b)
			r := check(t, m, nil)
			if !slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return p.File == name }) {
				t.Errorf("%s: damage in %s:%s", format, name, list(r))
			}
		}
		m := good.Clone()
		for _, n := range published(good) {
			if rest, ok := strings.CutPrefix(n, "val/"); ok {
				m.Set(n, good.Files()["train/"+rest])
			}
		}
		if r := check(t, m, nil); !finds(r, problem.KindMismatch, "val/shardify.json") {
			t.Errorf("%s: one split in place of another:%s", format, list(r))
		}
		m = good.Clone()
		m.Remove("val/shardify.json")
		if r := check(t, m, nil); r.OK() || !finds(r, problem.KindUnfinished, "val/shardify.json") {
			t.Errorf("%s: split without a manifest:%s", format, list(r))
		}
		m = good.Clone()
		m.Set("test/shard-000000.tar", []byte("x"))
		if r := check(t, m, nil); !finds(r, problem.KindExtra, "test/shard-000000.tar") {
			t.Errorf("%s: a folder that is not a split:%s", format, list(r))
		}
	}
}

// plain hides what else a store can do.
type plain struct{ storage.Store }

func TestReplaceWorksInEveryStore(t *testing.T) {
	dir := t.TempDir()
	mem := memory.New()
	for _, s := range []storage.Store{local.NewDir(dir, local.SyncNone), mem, plain{mem}, storage.Below(mem, "a"), fault.New(mem, 0, false)} {
		for _, text := range []string{"one", "two", "two"} {
			if err := storage.Replace(context.Background(), s, "d/f", []byte(text)); err != nil {
				t.Fatalf("%T: %v", s, err)
			}
			b, err := s.Open("d/f")
			if err != nil {
				t.Fatalf("%T: %v", s, err)
			}
			got := make([]byte, b.Size())
			if _, err := b.ReadAt(got, 0); err != nil && !errors.Is(err, io.EOF) || string(got) != text {
				t.Errorf("%T: %q, %v", s, got, err)
			}
			b.Close()
		}
	}
}
