package convert

import (
	"errors"
	"maps"
	"runtime"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
)

// framer is a fake sink that takes frames and would have each next batch of
// another size.
type framer struct {
	shardify.Sink
	n, most int64
}

func (f *framer) NextFrame() (lead int, bytes int64) {
	f.n++
	return int(f.n % 5), f.n * 397 % f.most
}

// fitting is a source whose readers say how many samples fit, also such as none
// and more than there are.
type fitting struct{ *fakeSource }

type fittingReader struct{ *fakeReader }

func (f fitting) Reader(run uint32) (shardify.Reader, error) {
	return fittingReader{&fakeReader{f: f.fakeSource, run: run}}, nil
}

func (fittingReader) Fit(s shardify.Span, n int64) int64 { return n / 8 }

// TestPartsOfSpansGiveTheSameShards: where every core has a unit, spans are read in
// parts that suit the sink, or several at once; shards, skips and counts are those of
// whole spans.
func TestPartsOfSpansGiveTheSameShards(t *testing.T) {
	noLeaks(t)
	f := &fakeSource{inputs: []fakeInput{{1003, 0}, {57, 2}, {440, 0}}, bad: map[[2]int64]error{
		{0, 17}: shardify.Corrupt(-1, "bad"), {0, 18}: shardify.Corrupt(-1, "bad"), {2, 439}: shardify.Corrupt(-1, "bad"),
	}}
	p := fakePlan(t, f, func(r *Request) { r.OnError = plan.OnErrorSkip })
	run := func(src shardify.Source, format format.Output) (map[string]string, string) {
		f.reads.Store(0)
		mem := memory.New()
		j := fakeJob(p, f, mem)
		j.Source, j.Sink, j.Jobs = src, format, max(7, runtime.GOMAXPROCS(0))
		m, err := j.Convert(bg)
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Progress.Samples.Load(); got != p.Pack.Samples {
			t.Errorf("progress of %d samples, want %d", got, p.Pack.Samples)
		}
		if got := j.Progress.Bytes.Load(); got != p.Pack.DecodedBytes {
			t.Errorf("progress of %d bytes, want %d", got, p.Pack.DecodedBytes)
		}
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return published(mem), string(b)
	}
	want, wantManifest := run(f, fakeFormat)
	plain := f.reads.Load()
	for _, most := range []int64{60, 2000} {
		for _, src := range []shardify.Source{f, fitting{f}} {
			kind := fakeFormat
			kind.Frame = func([]shardify.Field, format.Options) *shardify.Frame {
				return &shardify.Frame{Block: 1, Values: []shardify.FrameValue{{}}}
			}
			kind.New = func(s storage.Store, spec format.ShardSpec) (shardify.Sink, error) {
				k, err := fakeFormat.New(s, spec)
				return &framer{Sink: k, most: most}, err
			}
			got, manifest := run(src, kind)
			if !maps.Equal(got, want) || manifest != wantManifest {
				t.Errorf("%T, %d bytes at most: other shards than of whole spans", src, most)
			}
			switch n := f.reads.Load(); {
			case most < 80 && n < plain*3/2:
				t.Errorf("%T: %d reads, %d of whole spans: no span was read in parts", src, n, plain)
			case most > 160 && n >= plain:
				t.Errorf("%T: %d reads, %d of whole spans: no spans were read at once", src, n, plain)
			}
		}
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
	if n := plan.Scratch(p, format, 9); n != 0 {
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
		if n := plan.Scratch(p, format, jobs); n != want {
			t.Errorf("%d jobs: %d, want %d", jobs, n, want)
		}
	}
}
