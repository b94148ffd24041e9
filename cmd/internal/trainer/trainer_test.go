package trainer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/gpuload"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers"
)

var bg = context.Background()

// open makes a data set of x f32[25] and y i64, 108 bytes a sample.
func openSet(t testing.TB, samples int) *gpuload.Dataset {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	opts, err := format.CheckOptions(synth.Format.Options, format.Options{"samples": fmt.Sprint(samples), "schema": "x:f32[25],y:i64"})
	if err != nil {
		t.Fatal(err)
	}
	args := format.OpenArgs{Table: &format.Table{}, Options: opts}
	src, err := synth.Format.Open(bg, args)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	sink, _ := writers.Lookup(index.FormatMmap)
	plan, err := convert.MakePlan(bg, convert.Request{Input: "synth", Source: src, Args: args, Output: sink, ShardSamples: 300})
	if err != nil {
		t.Fatal(err)
	}
	job := convert.Job{Plan: plan, Source: src, Sink: sink, Store: local.NewDir(dir, "none"), Pool: shardify.NewPool(64 << 20), Jobs: 1}
	if _, err := job.Convert(bg); err != nil {
		t.Fatal(err)
	}
	d, err := gpuload.Open(bg, dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func load(batch int) gpuload.Config { return gpuload.Config{Batch: batch, Device: "host"} }

func mustRun(t testing.TB, set *gpuload.Dataset, o Options) *Report {
	t.Helper()
	r, err := Run(bg, set, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestARunEndsWhereItShould by each limit, and counts what was delivered.
func TestARunEndsWhereItShould(t *testing.T) {
	set := openSet(t, 1000)
	for _, c := range []struct {
		name           string
		o              Options
		steps, samples int64 // samples without the first batch
	}{
		{"steps", Options{Load: load(100), Steps: 25}, 25, 2400},
		{"epochs", Options{Load: load(300), Epochs: 2}, 6, 1500},
		{"steps before epochs", Options{Load: load(100), Epochs: 3, Steps: 12}, 12, 1100},
		{"padded", Options{Load: gpuload.Config{Batch: 300, Last: gpuload.Pad, Device: "host"}, Epochs: 1}, 4, 700},
		{"one step", Options{Load: load(100), Steps: 1}, 1, 0},
		{"ranks", Options{Load: load(50), Epochs: 1, Ranks: 4}, 5, 800},
	} {
		r := mustRun(t, set, c.o)
		if r.Steps != c.steps || r.Samples != c.samples {
			t.Errorf("%s: %d steps, %d samples; want %d, %d", c.name, r.Steps, r.Samples, c.steps, c.samples)
		}
		if rows := c.o.Load.Batch; c.o.Load.Last == "" && r.Bytes != r.Samples*108 || r.Settings.BatchBytes != int64(rows)*108 {
			t.Errorf("%s: %d bytes of %d samples, batch %d", c.name, r.Bytes, r.Samples, r.Settings.BatchBytes)
		}
		if r.Samples > 0 && (r.SamplesPerSecond <= 0 || math.Abs(r.SamplesPerSecond*r.Seconds-float64(r.Samples)) > 1e-6*float64(r.Samples)) {
			t.Errorf("%s: %g samples a second in %g s", c.name, r.SamplesPerSecond, r.Seconds)
		}
		if len(r.Ranks) != 0 && len(r.Ranks) != 4 {
			t.Errorf("%s: %d ranks", c.name, len(r.Ranks))
		}
	}
	begun := time.Now()
	r := mustRun(t, set, Options{Load: load(10), Time: 50 * time.Millisecond, Step: time.Millisecond})
	if took := time.Since(begun); r.Steps < 1 || took < 50*time.Millisecond {
		t.Errorf("%d steps in %v", r.Steps, took)
	}
}

// TestTheTimeAddsUp: a trainer computes or waits, and nothing else.
func TestTheTimeAddsUp(t *testing.T) {
	r := mustRun(t, openSet(t, 1000), Options{Load: load(10), Steps: 40, Step: 2 * time.Millisecond, Bound: time.Second})
	if sum := r.Wait.Total + r.Work.Step; math.Abs(sum-r.Seconds) > 1e-9*r.Seconds {
		t.Errorf("waited %g s and computed %g s of %g s", r.Wait.Total, r.Work.Step, r.Seconds)
	}
	if want := r.Work.Step / r.Seconds; math.Abs(r.Utilization-want) > 1e-9 {
		t.Errorf("utilisation %g, computed %g of the time", r.Utilization, want)
	}
	if r.Work.Step < 39*0.002 {
		t.Errorf("39 steps of 2 ms took %g s", r.Work.Step)
	}
	if r.Bound == nil || r.Bound.SamplesPerSecond <= 0 || r.Bound.SamplesPerSecond > 5000 {
		t.Errorf("bound %+v: steps of 2 ms cannot take more than 5,000 samples a second", r.Bound)
	}
	if r.Verdict == "" || r.Limit == "" {
		t.Errorf("no verdict: %+v", r)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	set := openSet(t, 100)
	if _, err := Run(bg, set, Options{Load: load(60), Ranks: 2}); !errors.Is(err, ErrShort) {
		t.Errorf("%v: want ErrShort", err)
	}
	for _, o := range []Options{{Load: load(1), Ranks: -1}, {Load: load(1), Step: -1}, {Load: load(1), Steps: -1}, {Load: load(0)}, {Load: gpuload.Config{Batch: 1, Device: "tpu"}}} {
		if _, err := Run(bg, set, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	ctx, cancel := context.WithCancelCause(bg)
	stop := errors.New("stop")
	time.AfterFunc(20*time.Millisecond, func() { cancel(stop) })
	if _, err := Run(ctx, set, Options{Load: load(10), Step: time.Hour, Ranks: 3}); !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v: want the cause of the context", err)
	}
}

// chromeEvent is what viewers read.
type chromeEvent struct {
	Name, Cat, Ph string
	Ts, Dur       float64
	Pid, Tid      int
}

// TestTheTraceIsOneListWithoutCrossings: viewers drop what crosses in a row.
func TestTheTraceIsOneListWithoutCrossings(t *testing.T) {
	var b bytes.Buffer
	mustRun(t, openSet(t, 2000), Options{Load: gpuload.Config{Batch: 50, Shuffle: gpuload.Global, Tier: gpuload.TierStream, Device: "host", Workers: 3}, Epochs: 3, Ranks: 2, Trace: &b, Detail: true, Step: 50 * time.Microsecond})
	var list []chromeEvent
	if err := json.Unmarshal(b.Bytes(), &list); err != nil {
		t.Fatalf("%v\n%.500s", err, b.String())
	}
	rows := map[[2]int][]chromeEvent{}
	kinds := map[string]int{}
	for _, e := range list {
		if e.Ph == "X" {
			rows[[2]int{e.Pid, e.Tid}] = append(rows[[2]int{e.Pid, e.Tid}], e)
			kinds[e.Cat]++
		}
	}
	if kinds["wait"] != 2*3*20 || kinds["step"] != 2*(3*20-1) || kinds["read"] < kinds["wait"] {
		t.Errorf("events: %v", kinds)
	}
	// A trainer computes or waits: its two rows are like one.
	for rank := range 2 {
		tid := [2]int{rank, laneNumber["wait"] * rowsPerLane}
		rows[[2]int{rank, -1}] = append(slices.Clone(rows[tid]), rows[[2]int{rank, laneNumber["step"] * rowsPerLane}]...)
	}
	for at, events := range rows {
		slices.SortFunc(events, func(a, b chromeEvent) int { return int(math.Copysign(1, a.Ts-b.Ts)) })
		for i := 1; i < len(events); i++ {
			if a, b := events[i-1], events[i]; a.Ts+a.Dur > b.Ts+0.01 {
				t.Errorf("row %v: %+v and %+v cross", at, a, b)
			}
		}
	}
}

// TestTracesComeInAnyPieces: a line may arrive in parts.
func TestTracesComeInAnyPieces(t *testing.T) {
	text := "[\n"
	for i := range 50 {
		text += fmt.Sprintf(`{"name":"gather","cat":"gather","ph":"X","ts":%d.5,"dur":3.25,"pid":0,"tid":2,"args":{"step":%d,"bytes":7}},`+"\n", i*10, i)
	}
	text = strings.TrimSuffix(text, ",\n") + "\n]\n"
	for size := 1; size < 300; size += 7 {
		r := newRecorder(0, nil, true)
		for b := []byte(text); len(b) > 0; {
			n := min(size, len(b))
			r.Write(b[:n])
			b = b[n:]
		}
		if len(r.head) != 50 || r.head[49].Step != 49 || r.head[49].Bytes != 7 || math.Abs(r.head[49].End-r.head[49].Begin-3.25e-6) > 1e-12 {
			t.Fatalf("pieces of %d: %d events", size, len(r.head))
		}
	}
	for _, bad := range []string{"", "{", "{}", `{"name":"x"}`, `{"cat":"gather","ts":,"dur":1}`, "\x00"} {
		if e, ok := parseEvent([]byte(bad)); ok {
			t.Errorf("%q is %+v", bad, e)
		}
	}
}

// TestPagesOfFewAndOfManySteps: the page shows charts either way and does not grow with
// the steps.
func TestPagesOfFewAndOfManySteps(t *testing.T) {
	set := openSet(t, 2000)
	for _, steps := range []int64{1, 2, 5, 20000} {
		r := mustRun(t, set, Options{Load: load(20), Steps: steps, Detail: true, Ranks: 1 + int(steps%2)})
		var b bytes.Buffer
		if err := r.Page("set").Write(&b); err != nil {
			t.Fatal(err)
		}
		charts := strings.Count(b.String(), "<svg")
		if b.Len() > 200<<10 || steps > 1 && charts < 5 || charts < 1 || strings.Contains(b.String(), "NaN") {
			t.Errorf("%d steps: %d bytes, %d charts", steps, b.Len(), charts)
		}
	}
}

// TestQuantilesAreWithinTheirClass compares with sorted values.
func TestQuantilesAreWithinTheirClass(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		var h histogram
		var all []int64
		n := 1 + r.IntN(2000)
		top := math.Pow(10, 1+r.Float64()*17)
		for range n {
			v := int64(math.Pow(top, r.Float64()))
			all = append(all, v)
			h.add(v)
		}
		slices.Sort(all)
		for _, q := range []float64{0, 0.01, 0.5, 0.99, 1} {
			want := all[max(int(math.Ceil(q*float64(n)))-1, 0)]
			if got := h.quantile(q); math.Abs(float64(got-want)) > 0.016*float64(want)+1 {
				t.Fatalf("quantile %g of %d values: %d, want %d", q, n, got, want)
			}
		}
		count := int64(0)
		for _, b := range h.bins() {
			count += b.Count
		}
		if count != int64(n) || h.max != all[n-1] {
			t.Fatalf("%d of %d values in bins, largest %d of %d", count, n, h.max, all[n-1])
		}
	}
}

// TestSeriesKeepTheirSums however often they are halved, joined and cut.
func TestSeriesKeepTheirSums(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		a, b := newSeries(2), newSeries(2)
		var sum [2]float64
		at := int64(0)
		each := math.Pow(10, 3+r.Float64()*7)
		for range 1 + r.IntN(3000) {
			next := at + int64(each*r.Float64()) + 1
			x, y := r.Float64(), float64(r.IntN(5))
			if r.IntN(2) == 0 {
				a.add(at, next, x, y)
			} else {
				b.add(at, next, x, y)
			}
			sum[0], sum[1] = sum[0]+x, sum[1]+y
			at = next
		}
		a.merge(b)
		if len(a.buckets) > 2*maxBuckets {
			t.Fatalf("%d buckets", len(a.buckets)/2)
		}
		n := 1 + r.IntN(200)
		p := a.points(n, float64(at)*1e-9)
		for k := range sum {
			total := 0.0
			for _, v := range p.Rates[k] {
				total += v * p.Seconds
			}
			if math.Abs(total-sum[k]) > 1e-6*sum[k]+1e-9 {
				t.Fatalf("kind %d: %g, want %g (%d stretches, bucket %d ns)", k, total, sum[k], n, a.width)
			}
		}
	}
}

func BenchmarkRecorder(b *testing.B) {
	line := []byte(`{"name":"gather","cat":"gather","ph":"X","ts":1234567.890,"dur":123.456,"pid":0,"tid":2,"args":{"step":12345,"bytes":470000}},` + "\n")
	r := newRecorder(0, nil, true)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		r.Write(line)
	}
}
