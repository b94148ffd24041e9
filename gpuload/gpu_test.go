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

	"github.com/shardify/shardify/index"
)

// loaderFigure is one run of a Loader whose consumer does nothing.
type loaderFigure struct {
	Row        int64   `json:"row_bytes"`
	Shuffle    Shuffle `json:"shuffle"`
	Tier       Tier    `json:"tier"`
	Batch      int     `json:"batch"`
	Rate       float64 `json:"bytes_per_second"`
	Samples    float64 `json:"samples_per_second"`
	CoreSecond float64 `json:"core_seconds_per_gb"`
	Verdict    string  `json:"verdict"`
}

// TestLoaderFigures prints what bench/gpu.sh collects: a Loader's rates on the GPU if
// $SHARDIFY_GPU is set, else those of little data on the fake driver.
func TestLoaderFigures(t *testing.T) {
	bytes := int64(2 << 20)
	if os.Getenv("SHARDIFY_GPU") == "" {
		useFakeDriver(t)
		t.Setenv("FAKECUDA_DELAY", "0")
	} else {
		bytes = 2 << 30
		if n, err := strconv.ParseInt(os.Getenv("SHARDIFY_GPU_BYTES"), 10, 64); err == nil {
			bytes = n
		}
	}
	var list []loaderFigure
	for _, row := range []int64{64, 4096, 600_000} {
		n := max(bytes/row, 16)
		d := mustOpen(t, makeSet(t, setOptions{format: index.FormatMmap, schema: fmt.Sprintf("x:u8[%d]", row), samples: int(n)}))
		for _, tier := range []Tier{TierPinned, TierStream} {
			for _, shuffle := range []Shuffle{None, Block, Global} {
				if tier == TierStream && shuffle == Global {
					continue // reads from the shards, sample by sample
				}
				for _, batch := range []int64{256, (16 << 20) / row} {
					c := Config{Batch: int(min(max(batch, 1), n/4)), Shuffle: shuffle, Tier: tier, Seed: 1, Verify: VerifyNone, Device: "cuda:0"}
					f := measure(t, d, c)
					f.Row = row
					list = append(list, f)
				}
			}
		}
	}
	out, err := json.Marshal(map[string]any{"type": "loader", "bytes": bytes, "figures": list})
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
		if err := l.dev.(*cudaDevice).gpu.Drain(bg); err != nil {
			t.Fatal(err)
		}
	}
	seconds := time.Since(from).Seconds()
	f := loaderFigure{Shuffle: c.Shuffle, Tier: c.Tier, Batch: c.Batch, Rate: float64(bytes) / seconds, Samples: float64(samples) / seconds,
		CoreSecond: (cpu() - used).Seconds() / (float64(bytes) / 1e9), Verdict: l.Stats().Verdict}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if f.Rate <= 0 {
		t.Errorf("%+v", f)
	}
	return f
}
