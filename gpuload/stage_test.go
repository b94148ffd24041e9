package gpuload

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/stage"
	"github.com/shardify/shardify/tests/race"
)

// eachStaged is each way through TierStaged, in a folder of the test's.
func eachStaged(t *testing.T, f func(t *testing.T, c Config)) {
	for name, c := range ways() {
		for _, where := range []string{"disk", "memory"} {
			c.Tier, c.Stage = TierStaged, t.TempDir()
			if where == "memory" {
				c.Stage = inSharedMemory(t)
			}
			t.Run(name+"/"+where, func(t *testing.T) { f(t, c) })
		}
	}
}

// inSharedMemory is a folder that can be mapped, or another one where no folder can be.
func inSharedMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(defaultStage, "shardify-test")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func inStage(t testing.TB, dir string) int {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestStagedSamplesAreThoseOfTheShards(t *testing.T) {
	for format, schema := range everyKind {
		dir := makeSet(t, setOptions{format: format, schema: schema, samples: 101, shard: 30})
		want := contents(t, format, dir)
		eachStaged(t, func(t *testing.T, c Config) {
			c.Batch, c.Last = 9, Pad
			l := mustLoader(t, mustOpen(t, dir), c)
			all := slices.Concat(epochIDs(t, l, want)...)
			slices.Sort(all)
			if len(slices.Compact(all)) != 101 {
				t.Errorf("%d samples", len(all))
			}
			if s := l.Stats(); s.Staged == 0 || s.Stage <= 0 || s.Tier != TierStaged {
				t.Errorf("%+v", s)
			}
			if err := l.Close(); err != nil || inStage(t, c.Stage) != 0 {
				t.Errorf("%d files are left, %v", inStage(t, c.Stage), err)
			}
		})
	}
}

// TestOneCopyServesAllRanks: all read the same files, whose last user removes them.
func TestOneCopyServesAllRanks(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[50]", samples: 400, shard: 25})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	folder := t.TempDir()
	const world = 8
	var list [world]*Loader
	var wg sync.WaitGroup
	for rank := range list {
		list[rank] = mustLoader(t, d, Config{Batch: 5, Shuffle: Global, Rank: rank, World: world, Tier: TierStaged, Stage: folder, Workers: 2})
		wg.Go(func() {
			if steps := epochIDs(t, list[rank], want); len(steps) != 10 {
				t.Errorf("rank %d has %d steps", rank, len(steps))
			}
		})
	}
	wg.Wait()
	shards, _ := filepath.Glob(filepath.Join(folder, "*", "0", "*.safetensors"))
	if len(shards) != 16 {
		t.Errorf("%d files are staged, want 16 shards", len(shards))
	}
	before, err := os.Stat(shards[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range list[1:] {
		l.Close()
	}
	late := mustLoader(t, d, Config{Batch: 5, Tier: TierStaged, Stage: folder})
	epochIDs(t, late, want)
	if after, err := os.Stat(shards[0]); err != nil || !os.SameFile(before, after) {
		t.Errorf("another copy was made: %v", err)
	}
	late.Close()
	if inStage(t, folder) == 0 {
		t.Error("the stage is gone while a rank uses it")
	}
	list[0].Close()
	if n := inStage(t, folder); n != 0 {
		t.Errorf("%d files are left", n)
	}
}

func TestAKeptStageServesTheNextRun(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatWDS, schema: "img:jpg*90", samples: 40, shard: 10})
	d := mustOpen(t, dir)
	c := Config{Batch: 5, Tier: TierStaged, Stage: t.TempDir(), KeepStage: true}
	l := mustLoader(t, d, c)
	first := epochIDs(t, l, nil)
	l.Close()
	for _, name := range shardsOf(t, dir, "*.tar*") { // nothing to copy from any more
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if again := epochIDs(t, mustLoader(t, d, c), nil); len(again) != len(first) {
		t.Errorf("%d steps, want %d", len(again), len(first))
	}
}

// TestABrokenOffStageIsGoneOnWith: what was complete is not copied again, the rest is.
func TestABrokenOffStageIsGoneOnWith(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[50]", samples: 100, shard: 25})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	c := Config{Batch: 5, Tier: TierStaged, Stage: t.TempDir(), KeepStage: true}
	l := mustLoader(t, d, c)
	epochIDs(t, l, want)
	l.Close()
	begun := filepath.Join(l.from.stage.Dir(), ".0.staging") // where a process that is killed leaves what it has
	if err := os.Rename(l.from.stage.Path(0), begun); err != nil {
		t.Fatal(err)
	}
	shards, _ := filepath.Glob(filepath.Join(begun, "*.safetensors"))
	before, _ := os.Stat(shards[0])
	if err := errors.Join(os.Rename(shards[1], shards[1]+".part"), os.Truncate(shards[2], 100)); err != nil {
		t.Fatal(err)
	}
	epochIDs(t, mustLoader(t, d, c), want)
	if after, _ := os.Stat(filepath.Join(l.from.stage.Path(0), filepath.Base(shards[0]))); !os.SameFile(before, after) {
		t.Error("a complete shard was copied again")
	}
}

// TestARemovalThatWasCutShortLeavesNoTrap: what makes a copy complete is removed first, and
// the rest of it is in no run's way.
func TestARemovalThatWasCutShortLeavesNoTrap(t *testing.T) {
	dir := makeSet(t, setOptions{format: index.FormatMmap, schema: "x:f32[50]", samples: 100, shard: 25})
	want := contents(t, index.FormatMmap, dir)
	d := mustOpen(t, dir)
	c := Config{Batch: 5, Tier: TierStaged, Stage: t.TempDir(), KeepStage: true}
	l := mustLoader(t, d, c)
	epochIDs(t, l, want)
	l.Close()
	shards, _ := filepath.Glob(filepath.Join(l.from.stage.Path(0), "*.safetensors"))
	if err := errors.Join(os.Remove(filepath.Join(l.from.stage.Path(0), filepath.FromSlash(stage.MarkName))), os.Remove(shards[1])); err != nil {
		t.Fatal(err)
	}
	epochIDs(t, mustLoader(t, d, c), want)
}

func TestADamagedShardIsNotStaged(t *testing.T) {
	race.Sequential(t)
	for format, ext := range map[string]string{index.FormatMmap: "*.safetensors", index.FormatWDS: "*.tar"} {
		dir := makeSet(t, setOptions{format: format, schema: everyKind[format], samples: 40, shard: 10})
		name := shardsOf(t, dir, ext)[2]
		good, _ := os.ReadFile(name)
		bad := slices.Clone(good)
		bad[len(bad)*2/3] ^= 1
		if err := os.WriteFile(name, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		c := Config{Batch: 5, Tier: TierStaged, Stage: t.TempDir()}
		l := mustLoader(t, mustOpen(t, dir), c)
		if err := readAll(l, nil); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
			t.Errorf("%s: %v", format, err)
		}
		if err := os.WriteFile(name, good, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.SetEpoch(0), readAll(l, nil)); err != nil {
			t.Errorf("%s, repaired: %v", format, err)
		}
		l.Close()
		if n := inStage(t, c.Stage); n != 0 {
			t.Errorf("%d files are left", n)
		}
	}
}

func TestAStageOfOthersIsRefused(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 40}))
	c := Config{Batch: 5, Tier: TierStaged, Stage: t.TempDir()}
	l := mustLoader(t, d, c)
	if err := os.Mkdir(l.from.stage.Dir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(l.from.stage.Dir(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := readAll(l, nil); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder that anyone may write to: %v", err)
	}
}

// TestWaitingForAStageEnds with the context, and with Close; and the wait with the one
// who copies, however it ends.
func TestWaitingForAStageEnds(t *testing.T) {
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: "x:i64", samples: 40}))
	c := Config{Batch: 5, Tier: TierStaged, Stage: t.TempDir()}
	c.Stage = t.TempDir()
	other, err := os.Create(mustLoader(t, d, c).from.stage.Dir() + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Skip("no locks here:", err)
	}
	l := mustLoader(t, d, c)
	ctx, cancel := context.WithTimeout(bg, 50*time.Millisecond)
	defer cancel()
	if _, err := l.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
	stuck := mustLoader(t, d, c)
	ended := make(chan error)
	go func() {
		_, err := stuck.Next(bg)
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	stuck.Close()
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("error is %v", err)
	}
	other.Close() // as when it is killed
	if err := readAll(l, nil); err != nil {
		t.Error(err)
	}
}
