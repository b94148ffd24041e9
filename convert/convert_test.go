package convert

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/memory"
)

var bg = context.Background()

func mixed() *fakeSource {
	return &fakeSource{inputs: []fakeInput{{103, 0}, {57, 2}, {0, 0}, {211, 3}, {9, 4}, {9, 5}, {40, 0}}}
}

func fakePlan(t *testing.T, f *fakeSource, change func(*Request)) *plan.Plan {
	t.Helper()
	table := &format.Table{Roots: []string{"in"}}
	for i, in := range f.inputs {
		table.Append(0, fmt.Sprintf("dir/file%d", i), in.n*8, int64(i))
	}
	r := Request{Input: "fake", Source: f, Args: format.OpenArgs{Table: table}, Output: fakeFormat, ShardSize: 400}
	if change != nil {
		change(&r)
	}
	p, err := MakePlan(bg, r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fakeJob(p *plan.Plan, f *fakeSource, s storage.Store) *Job {
	return &Job{Plan: p, Source: f, Sink: fakeFormat, Store: s, Pool: shardify.NewPool(1 << 20)}
}

// published is all files outside the private folder.
func published(s *memory.Store) map[string]string {
	out := map[string]string{}
	for n, b := range s.Files() {
		if !strings.HasPrefix(n, storage.Private) {
			out[n] = string(b)
		}
	}
	return out
}

// contents checks that the shards of a manifest hold exactly the wanted samples,
// in order.
func contents(t *testing.T, f *fakeSource, s *memory.Store, m *index.Manifest, want []shardify.ID) {
	t.Helper()
	var got []byte
	for _, sh := range m.Shards {
		got = append(got, s.Files()[sh.Name]...)
	}
	if len(got) != 8*len(want) {
		t.Fatalf("%d samples, want %d", len(got)/8, len(want))
	}
	for i, id := range want {
		if v := binary.LittleEndian.Uint64(got[8*i:]); v != f.value(id.Input, id.Sample) {
			t.Fatalf("sample %d is %x, want %x of input %d sample %d", i, v, f.value(id.Input, id.Sample), id.Input, id.Sample)
		}
	}
}

func everyID(f *fakeSource, except ...shardify.ID) (ids []shardify.ID) {
	for i, in := range f.inputs {
		for k := range in.n {
			if id := (shardify.ID{Input: uint32(i), Sample: k}); !slices.Contains(except, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for i := 0; i < 3000 && runtime.NumGoroutine() > before; i++ {
			time.Sleep(10 * time.Millisecond)
		}
		if n := runtime.NumGoroutine(); n > before {
			buf := make([]byte, 1<<16)
			t.Errorf("%d goroutines outlive the call:\n%s", n-before, buf[:runtime.Stack(buf, true)])
		}
	})
}

func TestSameBytesWhateverTheJobsTasksAndMemory(t *testing.T) {
	noLeaks(t)
	f := mixed()
	p := fakePlan(t, f, nil)
	var want map[string]string
	for _, jobs := range []int{1, 2, 7} {
		for _, tasks := range []int{1, 3, 100} {
			for _, budget := range []int64{1, 100 << 10, 64 << 20} {
				s := memory.New()
				j := fakeJob(p, f, s)
				j.Jobs, j.Pool = jobs, shardify.NewPool(budget)
				seen := map[int]int{}
				for task := tasks - 1; task >= 0; task-- {
					units := p.Pack.Task(task, tasks)
					for _, u := range units {
						seen[u]++
					}
					if err := j.Work(bg, units); err != nil {
						t.Fatal(err)
					}
				}
				if len(seen) != len(p.Pack.Units) {
					t.Fatalf("%d tasks cover %d of %d units", tasks, len(seen), len(p.Pack.Units))
				}
				m, err := j.Merge(bg)
				if err != nil {
					t.Fatal(err)
				}
				contents(t, f, s, m, everyID(f))
				if want == nil {
					want = published(s)
				} else if !maps.Equal(want, published(s)) {
					t.Fatalf("jobs %d, tasks %d, budget %d: other bytes", jobs, tasks, budget)
				}
			}
		}
	}
	if len(want) < 6 {
		t.Errorf("only %d files: the test wants several shards", len(want))
	}
}

func TestRunsAreNeverSharedByUnits(t *testing.T) {
	for _, change := range []func(*Request){nil, func(r *Request) { r.ShardSamples = 17 }, func(r *Request) { r.ShardSize = 1 }, func(r *Request) { r.ShardSize = 1 << 30 }} {
		p := fakePlan(t, mixed(), change)
		owner := map[uint32]int{}
		for u := range p.Pack.Units {
			for _, s := range unitSpans(p, u) {
				if o, ok := owner[s.Run]; s.Run > 0 && ok && o != u {
					t.Fatalf("run %d is in units %d and %d", s.Run, o, u)
				}
				owner[s.Run] = u
			}
		}
	}
}

func TestShardSamplesIsExact(t *testing.T) {
	f := mixed()
	p := fakePlan(t, f, func(r *Request) { r.ShardSamples = 17 })
	for i, s := range p.Pack.Shards {
		if s.Samples != 17 && i != len(p.Pack.Shards)-1 {
			t.Errorf("shard %d of %d has %d samples", i, len(p.Pack.Shards), s.Samples)
		}
	}
	s := memory.New()
	m, err := fakeJob(p, f, s).Convert(bg)
	if err != nil {
		t.Fatal(err)
	}
	contents(t, f, s, m, everyID(f))
}

func TestRangeAndLimit(t *testing.T) {
	f := mixed()
	all := everyID(f)
	for _, c := range []struct{ lo, hi, limit, from, to int64 }{
		{0, 0, 5, 0, 5}, {100, 0, 10, 100, 110}, {95, 170, 0, 95, 170}, {0, 1, 0, 0, 1}, {428, 0, 0, 428, 429}, {0, 0, 1000, 0, 429},
	} {
		p := fakePlan(t, f, func(r *Request) { r.Lo, r.Hi, r.Limit = c.lo, c.hi, c.limit })
		s := memory.New()
		m, err := fakeJob(p, f, s).Convert(bg)
		if err != nil {
			t.Fatal(err)
		}
		contents(t, f, s, m, all[c.from:c.to])
	}
	if _, err := MakePlan(bg, Request{Source: f, Output: fakeFormat, Lo: 429, Args: format.OpenArgs{Table: &format.Table{}}}); err == nil {
		t.Error("a range behind the end was accepted")
	}
}

func TestCancelNeverPublishesAShortShard(t *testing.T) {
	noLeaks(t)
	for stop := int64(1); stop < 40; stop++ {
		f := mixed()
		p := fakePlan(t, f, nil)
		ctx, cancel := context.WithCancelCause(bg)
		f.onRead = func(shardify.Span) {
			if f.reads.Load() >= stop {
				cancel(ErrStopped)
			}
		}
		s := memory.New()
		_, err := fakeJob(p, f, s).Convert(ctx)
		if !errors.Is(err, ErrStopped) {
			t.Fatalf("stop at read %d: %v", stop, err)
		}
		for n, b := range published(s) {
			i := slices.IndexFunc(p.Pack.Shards, func(x plan.Shard) bool { return int64(len(b)) == x.Samples*8 })
			if n == index.ManifestName || i < 0 {
				t.Fatalf("stop at read %d: published %s of %d bytes", stop, n, len(b))
			}
		}
		f.onRead = nil
		m, err := fakeJob(p, f, s).Convert(bg)
		if err != nil {
			t.Fatal(err)
		}
		contents(t, f, s, m, everyID(f))
		cancel(nil)
	}
}

func TestEveryFaultSurfacesAndTheNextRunEndsEqual(t *testing.T) {
	noLeaks(t)
	f := mixed()
	p := fakePlan(t, f, nil)
	clean := memory.New()
	if _, err := fakeJob(p, f, clean).Convert(bg); err != nil {
		t.Fatal(err)
	}
	points, step := 0, 1
	if testing.Short() {
		step = 13
	}
	for _, from := range []bool{false, true} {
		for at := 1; ; at += step {
			s := memory.New()
			faulty := fault.New(s, at, from)
			j := fakeJob(p, f, faulty)
			j.Jobs = 1
			if _, err := j.Convert(bg); err == nil {
				break
			} else if !errors.Is(err, fault.ErrInjected) {
				t.Fatalf("operation %d: %v", at, err)
			}
			points++
			if _, ok := s.Files()[index.ManifestName]; ok && from {
				t.Fatalf("operation %d: a manifest after a failure", at)
			}
			if _, err := fakeJob(p, f, s).Convert(bg); err != nil {
				t.Fatalf("operation %d: next run: %v", at, err)
			}
			if !maps.Equal(published(clean), published(s)) {
				t.Fatalf("operation %d: other bytes after the next run", at)
			}
		}
	}
	t.Logf("%d fault points", points)
	if points < 100/step {
		t.Errorf("only %d fault points", points)
	}
}

func TestCorruptSamplesFailOrAreSkippedAndNamed(t *testing.T) {
	bad := map[[2]int64]error{{0, 5}: shardify.Corrupt(40, "bad sum"), {0, 6}: shardify.Corrupt(40, "bad sum"), {3, 25}: shardify.Corrupt(200, "stream ends")}
	f := mixed()
	f.bad = bad
	p := fakePlan(t, f, nil)
	s := memory.New()
	if _, err := fakeJob(p, f, s).Convert(bg); !errors.Is(err, shardify.ErrCorrupt) {
		t.Fatalf("without skip: %v", err)
	}
	p = fakePlan(t, f, func(r *Request) { r.OnError = plan.OnErrorSkip })
	s = memory.New()
	m, err := fakeJob(p, f, s).Convert(bg)
	if err != nil {
		t.Fatal(err)
	}
	except := []shardify.ID{{Input: 0, Sample: 5}, {Input: 0, Sample: 6}}
	for i := int64(20); i < 30; i++ { // of a run, the span goes as a whole
		except = append(except, shardify.ID{Input: 3, Sample: i})
	}
	contents(t, f, s, m, everyID(f, except...))
	got := fmt.Sprint(m.Skipped)
	want := "[{dir/file0  5 7 bad sum: corrupt data} {dir/file3  20 30 stream ends: corrupt data}]"
	if got != want {
		t.Errorf("skipped %s\nwant    %s", got, want)
	}
	f.bad = map[[2]int64]error{{0, 5}: errors.New("input/output error")}
	p = fakePlan(t, f, func(r *Request) { r.OnError = plan.OnErrorSkip })
	if _, err := fakeJob(p, f, memory.New()).Convert(bg); err == nil {
		t.Error("an I/O error was skipped")
	}
}

func TestWholeShardSkippedHasAReceiptAndNoFile(t *testing.T) {
	f := &fakeSource{inputs: []fakeInput{{10, 0}, {10, 0}}, bad: map[[2]int64]error{}}
	for i := range int64(10) {
		f.bad[[2]int64{0, i}] = shardify.Corrupt(-1, "gone")
	}
	p := fakePlan(t, f, func(r *Request) { r.OnError, r.ShardSamples = plan.OnErrorSkip, 10 })
	s := memory.New()
	m, err := fakeJob(p, f, s).Convert(bg)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Shards) != 1 || m.Shards[0].Name != "shard-000001.raw" || m.Samples != 10 {
		t.Errorf("shards %v", m.Shards)
	}
}

func TestWrongChecksumOfAnInputIsFoundAcrossUnits(t *testing.T) {
	for i, wrong := range []uint32{1, 3, 6, 0, 1, 3, 6, 0} {
		f := mixed()
		f.wrong, f.crc32c = wrong, i > 3
		p := fakePlan(t, f, nil)
		s := memory.New()
		_, err := fakeJob(p, f, s).Convert(bg)
		if wrong == 0 {
			if err != nil {
				t.Errorf("sound inputs: %v", err)
			}
			continue
		}
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), fmt.Sprintf("dir/file%d", wrong)) {
			t.Errorf("input %d: %v", wrong, err)
		}
		if _, ok := s.Files()[index.ManifestName]; ok {
			t.Errorf("input %d: a manifest was published", wrong)
		}
	}
}

func TestAnotherPlanInTheFolderIsAConflict(t *testing.T) {
	f := mixed()
	s := memory.New()
	p := fakePlan(t, f, nil)
	if _, err := fakeJob(p, f, s).Convert(bg); err != nil {
		t.Fatal(err)
	}
	before := published(s)
	q := fakePlan(t, f, func(r *Request) { r.OnError = plan.OnErrorSkip; r.Recipe = map[string]string{"shard-size": "9"} })
	_, err := fakeJob(q, f, s).Convert(bg)
	var c *plan.Conflict
	if !errors.As(err, &c) || len(c.Diff) != 2 || !errors.Is(err, shardify.ErrExists) {
		t.Fatalf("%v", err)
	}
	if !maps.Equal(before, published(s)) {
		t.Error("the first data set was changed")
	}
	s.Set("notes.txt", []byte("mine"))
	if _, err := plan.Clear(p, s, &fakeFormat); err != nil {
		t.Fatal(err)
	}
	if left := s.Files(); len(left) != 1 || left["notes.txt"] == nil {
		t.Errorf("Clear left %v", slices.Collect(maps.Keys(left)))
	}
}

func TestDamagedReceiptOrMissingShardIsMadeAnew(t *testing.T) {
	f := mixed()
	p := fakePlan(t, f, nil)
	s := memory.New()
	if _, err := fakeJob(p, f, s).Convert(bg); err != nil {
		t.Fatal(err)
	}
	want := published(s)
	s.Set(p.Names().Receipt(0), []byte("{"))
	s.Remove(p.Names().Shard(1))
	j := fakeJob(p, f, s)
	if _, err := j.Merge(bg); !errors.Is(err, ErrIncomplete) || !strings.Contains(err.Error(), "0-1") {
		t.Errorf("merge: %v", err)
	}
	if _, err := j.Convert(bg); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(want, published(s)) {
		t.Error("other bytes")
	}
}

// encode is the file of a plan.
func encode(p *plan.Plan) ([]byte, error) {
	s := memory.New()
	if err := plan.Publish(bg, p, s); err != nil {
		return nil, err
	}
	return s.Files()[plan.FileName], nil
}

func unitSpans(p *plan.Plan, u int) []shardify.Span {
	x := p.Pack.Units[u]
	if x.Lo == x.Hi {
		return nil
	}
	return p.Pack.Spans[p.Pack.Shards[x.Lo].Lo:p.Pack.Shards[x.Hi-1].Hi]
}
