//go:build linux

package cuda

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/shardify/shardify/tests/fakecuda"
	"github.com/shardify/shardify/tests/race"
)

func TestOpenMeasuresSpeeds(t *testing.T) {
	f := newFake(t, fakecuda.Batch13)
	f.Configure(fakecuda.Order, "prompt")
	d, err := Open(Options{Library: f.Path})
	check(t, err)
	s := d.Speed()
	if s.Engine <= 0 || s.Read <= 0 || s.EngineRow < 16<<10 || !s.Batch {
		t.Errorf("%+v", s)
	}
	check(t, d.Close())
	f.End(t)
	// A driver that has the call but refuses it.
	f.Configure(fakecuda.Fail, "cuMemcpyBatchAsync_v2:1:801")
	d, err = Open(Options{Library: f.Path})
	check(t, err)
	s = d.Speed()
	if s.Batch {
		t.Error("copies in batches although the driver refused them")
	}
	check(t, d.Close())
	f.End(t)
	n := f.Calls()["cuLaunchKernel"]
	d, err = Open(Options{Library: f.Path, Speed: &s})
	check(t, err)
	if d.Speed() != s || d.batch || f.Calls()["cuLaunchKernel"] != n {
		t.Error("a known speed was measured again")
	}
	check(t, d.Close())
	f.End(t)
}

// TestFigures writes what bench/gpu.sh collects: on the GPU if $SHARDIFY_GPU is set, else
// of little memory on the fake driver.
func TestFigures(t *testing.T) {
	race.Sequential(t)
	o, bytes, rows, limit := Options{}, int64(2<<20), []int64{64, 4096, 600_000}, time.Minute
	if os.Getenv("SHARDIFY_GPU") == "" {
		f := newFake(t, fakecuda.Batch13)
		f.Configure(fakecuda.Order, "prompt") // what is measured must run when it is queued
		o.Library = f.Path
		t.Cleanup(func() { f.End(t) })
	} else {
		bytes, rows, limit = gpuBytes(1<<30), []int64{64, 128, 1024, 4096, 64 << 10, 600_000}, fakecuda.Seconds(limit)
	}
	d, err := Open(o)
	check(t, err)
	fakecuda.Line(t, map[string]any{"type": "device", "device": d.Info(), "speed": d.Speed(), "bytes": bytes})
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	n := 0
	err = d.figures(ctx, bytes, rows, func(f Figure) {
		n++
		if f.Rate <= 0 && f.Time <= 0 || f.Worst > f.Rate {
			t.Errorf("%+v", f)
		}
		fakecuda.Line(t, struct {
			Type string `json:"type"`
			Figure
		}{"figure", f})
	})
	if errors.Is(err, context.DeadlineExceeded) {
		t.Logf("time is up after %d figures", n)
	} else if check(t, err); n < 5+5*len(rows) {
		t.Errorf("%d figures of %d sizes", n, len(rows))
	}
	check(t, d.Close())
}

// TestFiguresEndInTime: with the figure at which time is up.
func TestFiguresEndInTime(t *testing.T) {
	race.Sequential(t)
	f := newFake(t, fakecuda.Batch13)
	f.Configure(fakecuda.Order, "prompt")
	d := f.open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := d.figures(ctx, 1<<20, []int64{4096}, func(Figure) {
		if n++; n == 3 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || n != 3 {
		t.Errorf("%d figures, %v", n, err)
	}
}

// gpuBytes is how much to move: $SHARDIFY_GPU_BYTES, if that is set.
func gpuBytes(n int64) int64 {
	if v, err := strconv.ParseInt(os.Getenv("SHARDIFY_GPU_BYTES"), 10, 64); err == nil {
		return v
	}
	return n
}
