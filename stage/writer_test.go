package stage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/local"
)

// TestOneOfManyCopies: all processes of a node start at once.
func TestOneOfManyCopies(t *testing.T) {
	source := mmapSet(t)
	for round := range 20 {
		dest := filepath.Join(t.TempDir(), "copy")
		var wg sync.WaitGroup
		var made atomic.Int64
		for range 8 {
			wg.Go(func() {
				r, err := Run(bg, quick(source, dest))
				if err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				if !r.Already {
					made.Add(1)
				}
				if len(tree(t, dest)) != len(tree(t, source)) {
					t.Errorf("round %d: reported as complete when it is not", round)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			t.Fatalf("round %d: %d made the copy", round, made.Load())
		}
		same(t, source, dest)
	}
}

// TestTheLockExcludes: holders remove the file, waiters hold on to old ones.
func TestTheLockExcludes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	var wg sync.WaitGroup
	var inside, held atomic.Int64
	for range 8 {
		wg.Go(func() {
			for range 300 {
				l, err := try(name)
				if err != nil {
					t.Error(err)
					return
				}
				if l == nil {
					continue
				}
				if inside.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				held.Add(1)
				inside.Add(-1)
				if err := l.release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if held.Load() == 0 {
		t.Error("no writer ever held it")
	}
}

// TestAnotherWriterIsWaitedFor holds the lock while Run waits.
func TestAnotherWriterIsWaitedFor(t *testing.T) {
	source, dest := mmapSet(t), filepath.Join(t.TempDir(), "copy")
	at, _ := placeOf(dest)
	l, err := try(at.lock)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	o := quick(source, dest)
	o.Wait = 20 * time.Millisecond
	if _, err := Run(bg, o); !errors.Is(err, ErrBusy) {
		t.Errorf("%v: want ErrBusy", err)
	}
	ctx, cancel := context.WithCancelCause(bg)
	stop := errors.New("stop")
	o = quick(source, dest)
	o.Waiting = func(what string) {
		if !strings.Contains(what, "another process") {
			t.Errorf("waits for %q", what)
		}
		cancel(stop)
	}
	if _, err := Run(ctx, o); !errors.Is(err, stop) {
		t.Errorf("%v: want the cause of the context", err)
	}
	o.Waiting = func(string) { l.release() }
	if r := mustRun(t, o); r.Already {
		t.Error("no writer made it")
	}
	same(t, source, dest)
}

// TestAnUnfinishedCopyIsTakenOver stops a copy after each number of files.
func TestAnUnfinishedCopyIsTakenOver(t *testing.T) {
	source := mmapSet(t)
	stop := errors.New("stop")
	reused := 0
	for try := int64(0); try < 4 || reused == 0 && try < 1000; try++ { // a copy may be faster than who stops it
		after := try % 4
		dest := filepath.Join(t.TempDir(), "copy")
		ctx, cancel := context.WithCancelCause(bg)
		o := quick(source, dest)
		o.Jobs, o.Progress = 1, &Progress{}
		at, _ := placeOf(dest)
		go func() {
			for o.Progress.Files.Load() < after {
				time.Sleep(10 * time.Microsecond)
			}
			cancel(stop)
		}()
		if _, err := Run(ctx, o); err != nil && !errors.Is(err, stop) {
			t.Fatalf("after %d files: %v", after, err)
		}
		if _, err := os.Stat(dest); err == nil {
			same(t, source, dest) // it was faster
			continue
		}
		// What a killed process leaves beside it, and what another set had left.
		os.MkdirAll(filepath.Join(at.staging, tempDir), 0o777)
		os.WriteFile(filepath.Join(at.staging, tempDir, "half"), []byte("x"), 0o666)
		os.WriteFile(filepath.Join(at.staging, "old.safetensors"), []byte("x"), 0o666)
		os.WriteFile(filepath.Join(at.staging, index.ManifestName), []byte("x"), 0o666)
		os.WriteFile(at.lock, nil, 0o666)
		r := mustRun(t, quick(source, dest))
		if r.Reused > 0 {
			reused++
		}
		same(t, source, dest)
	}
	if reused == 0 {
		t.Error("nothing was ever taken over")
	}
}

// TestACancelledCopyIsNotAWholeOne: files that were not started are missing.
func TestACancelledCopyIsNotAWholeOne(t *testing.T) {
	p, err := load(mmapSet(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := quick("", dir)
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(bg)
	stop := errors.New("stop")
	cancel(stop)
	c := &copier{plan: p, o: &o, staging: dir, store: local.NewDir(dir, o.Sync)}
	if _, err := c.run(ctx); !errors.Is(err, stop) {
		t.Errorf("%v: want the cause of the context", err)
	}
}

// TestADamagedLeftoverIsCopiedAgain: what is taken over is checked.
func TestADamagedLeftoverIsCopiedAgain(t *testing.T) {
	source, dest := mmapSet(t), filepath.Join(t.TempDir(), "copy")
	at, _ := placeOf(dest)
	os.MkdirAll(at.staging, 0o777)
	for name, b := range tree(t, source) {
		damaged := []byte(b)
		damaged[len(b)-1] ^= 1
		os.WriteFile(filepath.Join(at.staging, name), damaged, 0o666)
	}
	if r := mustRun(t, quick(source, dest)); r.Reused != 0 {
		t.Errorf("%d damaged bytes were taken over", r.Reused)
	}
	same(t, source, dest)
}
