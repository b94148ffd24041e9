//go:build linux

package cuda

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/shardify/shardify/internal/fakecuda"
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

// TestFigures prints what bench/gpu.sh collects: on the GPU if $SHARDIFY_GPU is set,
// else small sizes on the fake driver.
func TestFigures(t *testing.T) {
	o, bytes, rows := Options{}, int64(2<<20), []int64{64, 4096, 600_000}
	if os.Getenv("SHARDIFY_GPU") == "" {
		f := newFake(t, fakecuda.Batch13)
		f.Configure(fakecuda.Order, "prompt") // what is measured must run when it is queued
		o.Library = f.Path
		t.Cleanup(func() { f.End(t) })
	} else {
		bytes = gpuBytes(1 << 30)
	}
	d, err := Open(o)
	check(t, err)
	from := time.Now()
	figures, err := d.Figures(t.Context(), bytes, rows)
	check(t, err)
	if want := 3 + 4*len(rows) + 1; len(figures) != want {
		t.Errorf("%d figures, want %d", len(figures), want)
	}
	for _, f := range figures {
		if f.Rate <= 0 {
			t.Errorf("%+v", f)
		}
	}
	out, err := json.Marshal(map[string]any{"type": "gpu", "device": d.Info(), "speed": d.Speed(), "bytes": bytes, "seconds": time.Since(from).Seconds(), "figures": figures})
	check(t, err)
	if path := os.Getenv("SHARDIFY_GPU_JSON"); path != "" {
		check(t, os.WriteFile(path, append(out, '\n'), 0o666))
	}
	t.Logf("%s", out)
	check(t, d.Close())
}

// gpuBytes is how much to move: $SHARDIFY_GPU_BYTES, if that is set.
func gpuBytes(n int64) int64 {
	if v, err := strconv.ParseInt(os.Getenv("SHARDIFY_GPU_BYTES"), 10, 64); err == nil {
		return v
	}
	return n
}
