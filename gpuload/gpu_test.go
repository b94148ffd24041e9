//go:build cuda && linux

package gpuload

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/shardify/shardify/gpuload/internal/cuda"
	"github.com/shardify/shardify/gpuload/internal/device"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/tests/fakecuda"
	"github.com/shardify/shardify/tests/race"
)

// loaderFigure is one run of a Loader whose consumer does nothing.
type loaderFigure struct {
	Type       string  `json:"type"`
	Row        int64   `json:"row_bytes"`
	Shuffle    Shuffle `json:"shuffle"`
	Tier       Tier    `json:"tier"`
	Batch      int     `json:"batch"`
	Rate       float64 `json:"bytes_per_second"`
	Samples    float64 `json:"samples_per_second"`
	CoreSecond float64 `json:"core_seconds_per_gb"`
	OnDevice   int64   `json:"device_memory_bytes"`
	Verdict    string  `json:"verdict"`
	Clock      string  `json:"clock"`
}

// stepFigure is one run with a trainer that computes for some time with each batch.
type stepFigure struct {
	Type        string  `json:"type"`
	Shape       string  `json:"shape"`
	Source      string  `json:"source"` // of batches: loader, half as fast as needed, none
	Sample      int64   `json:"sample_bytes"`
	Batch       int     `json:"batch"`
	Step        float64 `json:"step_seconds"`
	Steps       int     `json:"steps"`
	Utilization float64 `json:"utilization"`
	CoreSecond  float64 `json:"core_seconds_per_gb,omitempty"`
	Tier        Tier    `json:"tier"`
	Clock       string  `json:"clock"`
}

// trainers are the shapes of MLPerf Storage for an H100, as DLIO's configurations have
// them: bytes of a sample, samples of a batch, seconds of a step.
var trainers = []struct {
	name    string
	sample  int64
	batch   int
	step    time.Duration
	batches int // of an epoch
}{
	{"unet3d h100", 146_600_628, 7, 323 * time.Millisecond, 4},
	{"cosmoflow h100", 2_828_486, 1, 3500 * time.Microsecond, 400},
}

// TestLoaderFigures writes what bench/gpu.sh collects: a Loader's rates on the GPU if
// $SHARDIFY_GPU is set, else those of little data on the fake driver.
func TestLoaderFigures(t *testing.T) {
	race.Sequential(t)
	bytes, rows := int64(2<<30), []int64{64, 4096, 600_000}
	if n, err := strconv.ParseInt(os.Getenv("SHARDIFY_GPU_BYTES"), 10, 64); err == nil {
		bytes = n
	}
	if !onGPU() {
		bytes, rows = 64<<10, []int64{64, 4096, 6000}
		useFakeDriver(t).Configure(fakecuda.Order, "prompt") // what is measured must run when it is queued
	}
	end := time.Now().Add(fakecuda.Seconds(time.Minute))
	info, err := Probe("cuda:0")
	if err != nil {
		t.Fatal(err)
	}
	fakecuda.Line(t, map[string]any{"type": "probe", "device": info, "bytes": bytes})
	ways := []struct {
		tier    Tier
		shuffle Shuffle
		memory  int64
	}{
		{TierPinned, None, 0}, {TierPinned, Block, 0}, {TierPinned, Global, 0}, {TierStream, None, 0}, {TierStream, Block, 0},
		{TierDevice, Block, bytes + 64<<20}, {TierDevice, Global, bytes + 64<<20},
	}
	only := regexp.MustCompile(os.Getenv("SHARDIFY_GPU_ONLY"))
	left := 0
	figure := func(row, batch int64, shuffle Shuffle, tier Tier) bool {
		return only.MatchString(fmt.Sprintf("%d/%s/%s/%d", row, shuffle, tier, batch))
	}
	for _, row := range rows {
		for _, way := range ways {
			for _, batch := range []int64{256, (16 << 20) / row} {
				if figure(row, batch, way.shuffle, way.tier) {
					left++
				}
			}
		}
	}
	for _, row := range rows {
		n := max(bytes/row, 16)
		d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: fmt.Sprintf("x:u8[%d]", row), samples: int(n)}))
		for _, way := range ways {
			for _, batch := range []int64{256, (16 << 20) / row} {
				if !figure(row, batch, way.shuffle, way.tier) {
					continue
				}
				c := Config{Batch: int(min(max(batch, 1), n/4)), Shuffle: way.shuffle, Tier: way.tier, DeviceMemory: way.memory, Seed: 1, Verify: load.VerifyNone, Device: "cuda:0"}
				limit := time.Until(end) / time.Duration(left)
				left--
				if limit <= 0 {
					t.Logf("time is up: %d figures are left out", left+1)
					return
				}
				f := measure(t, d, c, limit)
				f.Row = row
				fakecuda.Line(t, f)
			}
		}
	}
}

// measure runs a Loader for an epoch, then times others or a part of one, for half of the
// limit each.
func measure(t *testing.T, d *Dataset, c Config, limit time.Duration) loaderFigure {
	t.Helper()
	l, err := d.Loader(c)
	if err != nil {
		t.Fatal(err)
	}
	drv := l.dev.Dev.(*device.CUDA).Driver
	// some delivers whole epochs while there is time, at most so many.
	some := func(epochs int) (bytes, samples int64) {
		end := time.Now().Add(limit / 2)
		for epochs > 0 && (samples == 0 || time.Now().Before(end)) {
			b, err := l.Next(bg)
			if err == io.EOF {
				epochs--
				continue
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
		if err := drv.Drain(bg); err != nil {
			t.Fatal(err)
		}
		return bytes, samples
	}
	some(1)
	from, used := time.Now(), cpu()
	bytes, samples := some(4)
	seconds := time.Since(from).Seconds()
	s := l.Stats()
	f := loaderFigure{Type: "loader", Shuffle: c.Shuffle, Tier: c.Tier, Batch: c.Batch, Rate: float64(bytes) / seconds, Samples: float64(samples) / seconds,
		CoreSecond: (cpu() - used).Seconds() / (float64(bytes) / 1e9), OnDevice: s.DeviceMemory, Verdict: s.Verdict, Clock: "wall"}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if f.Rate <= 0 {
		t.Errorf("%+v", f)
	}
	return f
}

// TestUtilization runs trainers of known shapes: with a Loader in two tiers, with batches
// that come half as fast as needed, which must show, and with none, which must not.
func TestUtilization(t *testing.T) {
	shrink, most := int64(1), 20*time.Second
	if n, err := strconv.ParseInt(os.Getenv("SHARDIFY_GPU_BYTES"), 10, 64); err == nil {
		shrink = max(1<<30/n, 1)
	}
	if !onGPU() {
		shrink, most = 10_000, 200*time.Millisecond
		useFakeDriver(t).Configure(fakecuda.Order, "prompt")
	}
	end, left := time.Now().Add(fakecuda.Seconds(time.Minute)), 4*len(trainers)
	for _, s := range trainers {
		step := s.step / time.Duration(min(shrink, 8))
		d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: fmt.Sprintf("x:u8[%d]", s.sample/shrink), samples: s.batches * s.batch}))
		for _, way := range []struct {
			tier   Tier
			source string
		}{{TierPinned, "none"}, {TierPinned, "half"}, {TierPinned, "loader"}, {TierStream, "loader"}} {
			limit := min(time.Until(end)/time.Duration(left), most)
			left--
			if limit <= 0 {
				t.Logf("time is up: %d figures are left out", left+1)
				return
			}
			f := train(t, d, Config{Batch: s.batch, Shuffle: Block, Tier: way.tier, Seed: 1, Verify: load.VerifyNone, Device: "cuda:0"}, way.source, step, limit)
			f.Shape, f.Sample = s.name, s.sample/shrink
			fakecuda.Line(t, f)
			if f.Utilization > 1.01 || way.source == "half" && f.Utilization > 0.55 {
				t.Errorf("%s, %s: utilisation %.3f", f.Shape, f.Source, f.Utilization)
			}
		}
	}
}

// train runs a trainer that computes for step with each batch, and waits for nothing but the
// next. Its clock starts when an epoch has warmed it up, or half of the limit has passed, and
// stops when the last step has ended.
func train(t *testing.T, d *Dataset, c Config, source string, step, limit time.Duration) stepFigure {
	t.Helper()
	l, err := d.Loader(c)
	if err != nil {
		t.Fatal(err)
	}
	trainer, err := l.dev.Dev.(*device.CUDA).Driver.NewTrainer()
	if err != nil {
		t.Fatal(err)
	}
	steps, bytes := 0, int64(0)
	// run takes steps until there is no time or, if once is set, the epoch ends.
	run := func(once bool) {
		steps, bytes = 0, 0
		from := time.Now()
		for steps == 0 || time.Since(from) < limit/2 {
			if source == "half" {
				time.Sleep(time.Until(from.Add(time.Duration(steps+1) * 2 * step)))
			}
			n, err := oneStep(bg, l, trainer, source, step)
			if err == io.EOF {
				if once {
					break
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			steps, bytes = steps+1, bytes+n
			if source == "none" && once && steps == 2 {
				break
			}
		}
		if err := trainer.Wait(bg); err != nil {
			t.Fatal(err)
		}
	}
	run(true)
	from, used := time.Now(), cpu()
	run(false)
	wall := time.Since(from)
	f := stepFigure{Type: "steps", Source: source, Batch: c.Batch, Step: step.Seconds(), Steps: steps, Utilization: (time.Duration(steps) * step).Seconds() / wall.Seconds(), Tier: l.Stats().Tier, Clock: "wall"}
	if bytes > 0 {
		f.CoreSecond = (cpu() - used).Seconds() / (float64(bytes) / 1e9)
	}
	if err := trainer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// oneStep takes a batch, unless there is no source of any, and starts a step with it.
func oneStep(ctx context.Context, l *Loader, trainer *cuda.Trainer, source string, step time.Duration) (bytes int64, err error) {
	if source == "none" {
		return 0, trainer.Step(ctx, step)
	}
	b, err := l.Next(ctx)
	if err != nil {
		return 0, err
	}
	stream := Stream(trainer.Stream)
	if err := b.Ready(stream); err != nil {
		return 0, err
	}
	if err := trainer.Step(ctx, step); err != nil {
		return 0, err
	}
	return b.Bytes(), b.ReleaseOn(stream)
}
