package convert

import (
	"errors"
	"maps"
	"runtime"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage/memory"
)

// TestInlineReadsGiveTheSameShards: where every core has a unit, spans are read on the
// goroutine that writes them; shards, skips and counts are those of spans read ahead.
func TestInlineReadsGiveTheSameShards(t *testing.T) {
	noLeaks(t)
	f := &fakeSource{inputs: []fakeInput{{1003, 0}, {57, 2}, {440, 0}}, bad: map[[2]int64]error{
		{0, 17}: shardify.Corrupt(-1, "bad"), {0, 18}: shardify.Corrupt(-1, "bad"), {2, 439}: shardify.Corrupt(-1, "bad"),
	}}
	p := fakePlan(t, f, func(r *Request) { r.OnError = plan.OnErrorSkip })
	run := func(inline bool) (map[string]string, string) {
		mem := memory.New()
		j := fakeJob(p, f, mem)
		j.Jobs = max(7, runtime.GOMAXPROCS(0))
		j.slow.Store(!inline)
		m, err := j.Convert(bg)
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Progress.Samples.Load(); got != p.Samples {
			t.Errorf("progress of %d samples, want %d", got, p.Samples)
		}
		if got := j.Progress.Bytes.Load(); got != p.DecodedBytes {
			t.Errorf("progress of %d bytes, want %d", got, p.DecodedBytes)
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return published(mem), string(b)
	}
	want, wantManifest := run(false)
	if got, manifest := run(true); !maps.Equal(got, want) || manifest != wantManifest {
		t.Error("other shards than of spans that are read ahead")
	}
}

// TestErrorsOfInlineReadsSurface: as those of reads ahead do.
func TestErrorsOfInlineReadsSurface(t *testing.T) {
	noLeaks(t)
	wrong := errors.New("the cable is out")
	f := &fakeSource{inputs: []fakeInput{{400, 0}}, bad: map[[2]int64]error{{0, 333}: wrong}}
	p := fakePlan(t, f, nil)
	mem := memory.New()
	j := fakeJob(p, f, mem)
	j.Jobs = max(7, runtime.GOMAXPROCS(0))
	if _, err := j.Convert(bg); !errors.Is(err, wrong) {
		t.Errorf("%v, want %v", err, wrong)
	}
	if n := len(mem.Files()); n == 0 {
		t.Error("no plan either")
	}
}

// TestScratchIsThatOfTheLargestUnits: as many as are in work at once.
func TestScratchIsThatOfTheLargestUnits(t *testing.T) {
	f := &fakeSource{inputs: []fakeInput{{100, 0}, {30, 2}, {400, 3}}}
	p := fakePlan(t, f, func(r *Request) { r.ShardSamples = 40 })
	format := fakeFormat
	if n := p.Scratch(format, 9); n != 0 {
		t.Errorf("%d bytes without scratch files", n)
	}
	format.ScratchBytes = func(_ []shardify.Field, _, exact bool) (int64, float64) {
		if !exact {
			t.Error("a plan that fails on errors is exact")
		}
		return 1000, 2
	}
	shard := int64(40 * (1000 + 2*8))
	for jobs, want := range map[int]int64{0: shard, 1: shard, 2: 2 * shard} {
		if n := p.Scratch(format, jobs); n != want {
			t.Errorf("%d jobs: %d, want %d", jobs, n, want)
		}
	}
}
