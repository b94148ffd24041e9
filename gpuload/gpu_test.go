//go:build cuda && linux

package gpuload

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/fakecuda"
)

// loaderFigure is one run of a Loader whose consumer does nothing.
type loaderFigure struct {
	Row        int64   `json:"row_bytes"`
	Shuffle    Shuffle `json:"shuffle"`
	Tier       Tier    `json:"tier"`
	Batch      int     `json:"batch"`
	Rate       float64 `json:"bytes_per_second"`
	OfEngine   float64 `json:"of_engine_peak"`
	Samples    float64 `json:"samples_per_second"`
	CoreSecond float64 `json:"core_seconds_per_gb"`
	OnDevice   int64   `json:"device_memory_bytes"`
	Verdict    string  `json:"verdict"`
}

// stepFigure is one run with a trainer that computes for some time between batches.
type stepFigure struct {
	Shape       string  `json:"shape"`
	Sample      int64   `json:"sample_bytes"`
	Batch       int     `json:"batch"`
	Step        float64 `json:"step_seconds"`
	Steps       int64   `json:"steps"`
	Utilization float64 `json:"utilization"`
	CoreSecond  float64 `json:"core_seconds_per_gb"`
	Tier        Tier    `json:"tier"`
}

// trainers are the shapes of MLPerf Storage for an H100, as DLIO's configurations have
// them: bytes of a sample, samples of a batch, seconds of a step.
var trainers = []struct {
	name   string
	sample int64
	batch  int
	step   time.Duration
	steps  int64
}{
	{"unet3d h100", 146_600_628, 7, 323 * time.Millisecond, 4},
	{"cosmoflow h100", 2_828_486, 1, 3500 * time.Microsecond, 400},
}

// TestLoaderFigures prints what bench/gpu.sh collects: a Loader's rates on the GPU if
// $SHARDIFY_GPU is set, else those of little data on the fake driver.
func TestLoaderFigures(t *testing.T) {
	bytes, shrink := int64(2<<20), int64(1000)
	if os.Getenv("SHARDIFY_GPU") == "" {
		useFakeDriver(t).Configure(fakecuda.Order, "prompt") // what is measured must run when it is queued
	} else {
		bytes, shrink = 2<<30, 1
		if n, err := strconv.ParseInt(os.Getenv("SHARDIFY_GPU_BYTES"), 10, 64); err == nil {
			bytes, shrink = n, max(1<<30/n, 1)
		}
	}
	info, err := Probe("cuda:0")
	if err != nil {
		t.Fatal(err)
	}
	var list []loaderFigure
	for _, row := range []int64{64, 4096, 600_000} {
		list = append(list, rowFigures(t, row, bytes, info.Engine)...)
	}
	var steps []stepFigure
	for _, s := range trainers {
		d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: fmt.Sprintf("x:u8[%d]", s.sample/shrink), samples: int(s.steps) * s.batch}))
		for _, tier := range []Tier{TierPinned, TierStream} {
			f := train(t, d, Config{Batch: s.batch, Shuffle: Block, Tier: tier, Seed: 1, Verify: load.VerifyNone, Device: "cuda:0"}, s.step/time.Duration(min(shrink, 4)))
			f.Shape, f.Sample = s.name, s.sample/shrink
			steps = append(steps, f)
			t.Logf("%s, tier %s: utilisation %.4f, target 0.99", s.name, tier, f.Utilization)
		}
	}
	out, err := json.Marshal(map[string]any{"type": "loader", "device": info, "bytes": bytes, "figures": list, "steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	if path := os.Getenv("SHARDIFY_LOADER_JSON"); path != "" {
		if err := os.WriteFile(path, append(out, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s", out)
}

// rowFigures is all ways to deliver samples of row bytes.
func rowFigures(t *testing.T, row, bytes int64, engine float64) (list []loaderFigure) {
	n := max(bytes/row, 16)
	d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: fmt.Sprintf("x:u8[%d]", row), samples: int(n)}))
	for _, way := range []struct {
		tier    Tier
		shuffle Shuffle
		memory  int64
	}{
		{TierPinned, None, 0}, {TierPinned, Block, 0}, {TierPinned, Global, 0},
		{TierStream, None, 0}, {TierStream, Block, 0}, {TierDevice, Block, bytes + 64<<20}, {TierDevice, Global, bytes + 64<<20},
	} {
		for _, batch := range []int64{256, (16 << 20) / row} {
			c := Config{Batch: int(min(max(batch, 1), n/4)), Shuffle: way.shuffle, Tier: way.tier, DeviceMemory: way.memory, Seed: 1, Verify: load.VerifyNone, Device: "cuda:0"}
			f := measure(t, d, c)
			f.Row = row
			if engine > 0 {
				f.OfEngine = f.Rate / engine
			}
			list = append(list, f)
			t.Logf("rows of %d, %s, tier %s, batch %d: %.2f GB/s, %.3f of the engine's peak (target 0.95 but for global 4096 and 64), %.4f core-s/GB (target 0.02)",
				row, f.Shuffle, f.Tier, f.Batch, f.Rate/1e9, f.OfEngine, f.CoreSecond)
		}
	}
	return list
}

// measure runs a Loader for two epochs and times the second.
func measure(t *testing.T, d *Dataset, c Config) loaderFigure {
	t.Helper()
	l, err := d.Loader(c)
	if err != nil {
		t.Fatal(err)
	}
	var from time.Time
	var used time.Duration
	var bytes, samples int64
	for range 2 {
		from, used, bytes, samples = time.Now(), cpu(), 0, 0
		for {
			b, err := l.Next(bg)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Ready(0); err != nil {
				t.Fatal(err)
			}
			bytes, samples = bytes+b.Bytes(), samples+int64(b.Rows())
			b.Release()
		}
		if err := l.dev.(*device.CUDA).Driver.Drain(bg); err != nil {
			t.Fatal(err)
		}
	}
	seconds := time.Since(from).Seconds()
	s := l.Stats()
	f := loaderFigure{Shuffle: c.Shuffle, Tier: c.Tier, Batch: c.Batch, Rate: float64(bytes) / seconds, Samples: float64(samples) / seconds,
		CoreSecond: (cpu() - used).Seconds() / (float64(bytes) / 1e9), OnDevice: s.DeviceMemory, Verdict: s.Verdict}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if f.Rate <= 0 {
		t.Errorf("%+v", f)
	}
	return f
}

// train runs two epochs of a trainer that computes for step after each batch. It counts
// the second, when the tier is full and the files are known.
func train(t *testing.T, d *Dataset, c Config, step time.Duration) stepFigure {
	t.Helper()
	l, err := d.Loader(c)
	if err != nil {
		t.Fatal(err)
	}
	var before, after Stats
	var used time.Duration
	for range 2 {
		before, used = l.Stats(), cpu()
		for {
			b, err := l.Next(bg)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := l.dev.(*device.CUDA).Driver.Drain(bg); err != nil {
				t.Fatal(err)
			}
			time.Sleep(step)
			b.Release()
		}
	}
	after, used = l.Stats(), cpu()-used
	compute, wait := after.Compute-before.Compute, after.Wait-before.Wait
	f := stepFigure{Batch: c.Batch, Step: step.Seconds(), Steps: after.Batches - before.Batches, Utilization: compute / (compute + wait),
		CoreSecond: used.Seconds() / (float64(after.Bytes-before.Bytes) / 1e9), Tier: after.Tier}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}
