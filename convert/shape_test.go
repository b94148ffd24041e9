package convert

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/fault"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/tests/race"
)

// keepEven drops samples with odd values.
type keepEven struct{}

func (keepEven) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, nil }
func (keepEven) Cost([]shardify.Field) shardify.Cost                  { return shardify.Cost{Growth: 1} }
func (keepEven) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	var rows []int32
	for i, x := range shardify.View[uint64](b.Columns[0].Data) {
		if x&1 == 0 {
			rows = append(rows, int32(i))
		}
	}
	out, err := b.Take(rows, mem)
	if err == nil {
		out.Counts = []shardify.Count{{Name: "odd", N: int64(b.Samples - len(rows))}}
	}
	return out, err
}

// addSeed adds to x what is random about a sample, times two so that even stays even.
type addSeed struct{ t *format.Table }

func (addSeed) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, nil }
func (addSeed) Cost([]shardify.Field) shardify.Cost                  { return shardify.Cost{Growth: 1} }
func (a addSeed) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	out := *b
	out.Columns = slices.Clone(b.Columns)
	data := mem.Alloc(len(b.Columns[0].Data))
	copy(data, b.Columns[0].Data)
	x := shardify.View[uint64](data)
	for i, id := range a.t.Identity(nil, b) {
		x[i] += 2 * shardify.SampleSeed(seed, id, b.ID(i).Copy)
	}
	out.Columns[0].Data = data
	return &out, nil
}

// total is a survey: it subtracts twice the sum of all x, in an order-dependent way.
type total struct {
	sum     uint64
	learned bool
	seen    int64
}

func (*total) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, nil }
func (*total) Cost([]shardify.Field) shardify.Cost                  { return shardify.Cost{Growth: 1} }
func (*total) Surveys() string                                      { return "sum of x" }
func (*total) NewSurvey() shardify.Survey                           { return &totalSurvey{} }
func (t *total) Learn(b []byte) (err error) {
	t.learned = true
	sum, n, _ := strings.Cut(string(b), " ")
	t.seen, _ = strconv.ParseInt(n, 10, 64)
	t.sum, err = strconv.ParseUint(sum, 10, 64)
	return err
}
func (t *total) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if !t.learned {
		return nil, errors.New("applied before it learned")
	}
	out := *b
	out.Columns = slices.Clone(b.Columns)
	out.Columns[0].Data = mem.Alloc(len(b.Columns[0].Data))
	x := shardify.View[uint64](out.Columns[0].Data)
	for i, v := range shardify.View[uint64](b.Columns[0].Data) {
		x[i] = v - 2*t.sum
	}
	return &out, nil
}

type totalSurvey struct{ sum, n uint64 }

func (s *totalSurvey) Add(b *shardify.Batch) error {
	for _, x := range shardify.View[uint64](b.Columns[0].Data) {
		s.sum = s.sum*31 + x // the order counts
		s.n++
	}
	return nil
}
func (s *totalSurvey) Merge(next shardify.Survey) error {
	o := next.(*totalSurvey)
	for range o.n {
		s.sum *= 31
	}
	s.sum += o.sum
	s.n += o.n
	return nil
}
func (s *totalSurvey) Result() ([]byte, error) { return fmt.Appendf(nil, "%d %d", s.sum, s.n), nil }

// compileFake knows the operations of these tests.
func compileFake(ops []plan.Op, env flow.Env) (*flow.Pipeline, error) {
	p := &flow.Pipeline{}
	for i, o := range ops {
		switch o.Name {
		case "even":
			p.Before = append(p.Before, flow.Stage{Transform: keepEven{}, Op: i})
		case "noise":
			p.After = append(p.After, flow.Stage{Transform: addSeed{env.Table}, Op: i})
		case "noise-train":
			p.After = append(p.After, flow.Stage{Transform: addSeed{env.Table}, Op: i, Splits: []string{"train"}})
		case "total":
			p.After = append(p.After, flow.Stage{Transform: &total{}, Op: i})
		case "copies":
			p.Copies, _ = strconv.Atoi(o.Text)
		case "copies-train":
			p.Copies, _ = strconv.Atoi(o.Text)
			p.CopySplits = []string{"train"}
		default:
			return nil, fmt.Errorf("operation %q", o.Name)
		}
	}
	return p, nil
}

func split(t *testing.T, text string) *splits.Rule {
	t.Helper()
	s, err := splits.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shapes are conversions that do something to samples.
func shapes(t *testing.T) map[string]func(*Request) {
	return map[string]func(*Request){
		"where":       func(r *Request) { r.Ops = []plan.Op{{Name: "even"}} },
		"copies":      func(r *Request) { r.Ops = []plan.Op{{Name: "copies", Text: "3"}, {Name: "noise"}} },
		"split":       func(r *Request) { r.Split = split(t, "train=0.8,val=0.1,test=0.1") },
		"split rest":  func(r *Request) { r.Split = split(t, "train=rest,val=37"); r.Ops = []plan.Op{{Name: "even"}} },
		"split count": func(r *Request) { r.Split = split(t, "train=100,val=37") },
		"survey": func(r *Request) {
			r.Split = split(t, "train=0.5,val=0.5")
			r.Ops = []plan.Op{{Name: "even"}, {Name: "noise"}, {Name: "total"}}
		},
		"block": func(r *Request) { r.Shuffle = plan.ShuffleBlock },
		"global": func(r *Request) {
			r.Shuffle = plan.ShuffleGlobal
			r.Ops = []plan.Op{{Name: "noise"}}
		},
		"global exact": func(r *Request) { r.Shuffle = plan.ShuffleGlobal; r.ShardSize, r.ShardSamples = 0, 37 },
		"all of it": func(r *Request) {
			r.Shuffle, r.Split = plan.ShuffleGlobal, split(t, "train=0.7,val=0.3")
			r.Ops = []plan.Op{{Name: "even"}, {Name: "copies-train", Text: "2"}, {Name: "noise-train"}, {Name: "total"}}
		},
		"exact splits": func(r *Request) {
			r.Shuffle, r.Split = plan.ShuffleGlobal, split(t, "train=0.7,val=0.3")
			r.ShardSize, r.ShardSamples = 0, 50
		},
		"block split": func(r *Request) { r.Shuffle, r.Split = plan.ShuffleBlock, split(t, "train=0.7,val=0.3") },
	}
}

func shapedPlan(t *testing.T, f *fakeSource, change func(*Request)) *plan.Plan {
	t.Helper()
	return fakePlan(t, f, func(r *Request) {
		r.Compile, r.Seed = compileFake, 5
		change(r)
	})
}

func shapedJob(p *plan.Plan, f *fakeSource, s storage.Store) *Job {
	j := fakeJob(p, f, s)
	j.Compile = compileFake
	return j
}

func TestShapedBytesAreTheSameWhateverTheJobsTasksAndMemory(t *testing.T) {
	noLeaks(t)
	for name, change := range shapes(t) {
		t.Run(name, func(t *testing.T) {
			f := mixed()
			p := shapedPlan(t, f, change)
			b, err := encode(p)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]string
			for _, jobs := range []int{1, 2, 7} {
				for _, tasks := range []int{1, 10} {
					for _, budget := range []int64{1, 20 << 10, 64 << 20} {
						q, err := plan.Decode(b) // as every task does
						if err != nil {
							t.Fatal(err)
						}
						s := memory.New()
						runTasks(t, q, f, s, jobs, tasks, budget)
						m, err := shapedJob(q, f, s).Merge(bg)
						if err != nil {
							t.Fatal(err)
						}
						checkBalance(t, s, q, m)
						if left := fragmentsIn(s); len(left) > 0 {
							t.Fatalf("fragments stay: %v", left)
						}
						if want == nil {
							want = published(s)
						} else if got := published(s); !maps.Equal(want, got) {
							t.Fatalf("jobs %d, tasks %d, memory %d: other bytes", jobs, tasks, budget)
						}
					}
				}
			}
		})
	}
}

// runTasks does all tasks, each as a process of its own would, until none waits.
func runTasks(t *testing.T, p *plan.Plan, f *fakeSource, s storage.Store, jobs, tasks int, budget int64) {
	t.Helper()
	for round := range 3 {
		waiting := 0
		for task := tasks - 1; task >= 0; task-- {
			j := shapedJob(p, f, s)
			j.Jobs, j.Pool = jobs, shardify.NewPool(budget)
			var w *Waiting
			if err := j.Task(bg, task, tasks); errors.As(err, &w) && round == 0 {
				waiting++
			} else if err != nil {
				t.Fatal(err)
			}
			if j.flow != nil && !j.flow.Plain && j.Pool.Limit() > 1<<20 && j.Pool.Peak() > j.Pool.Limit() {
				t.Fatalf("pool of %d held %d", j.Pool.Limit(), j.Pool.Peak())
			}
		}
		if waiting == 0 {
			return
		}
	}
}

func fragmentsIn(s *memory.Store) (out []string) {
	for n := range s.Files() {
		if strings.HasSuffix(n, plan.FragmentSuffix) {
			out = append(out, n)
		}
	}
	return out
}

// checkBalance: the law of receipts, over the whole set.
func checkBalance(t *testing.T, s *memory.Store, p *plan.Plan, m *index.Manifest) {
	t.Helper()
	var skipped int64
	for _, k := range m.Skipped {
		skipped += k.Hi - k.Lo
	}
	if p.Pack.Samples+m.Copied != m.Samples+m.Dropped+skipped {
		t.Fatalf("%d read and %d copied, %d written, %d dropped, %d skipped", p.Pack.Samples, m.Copied, m.Samples, m.Dropped, skipped)
	}
	var n int64
	for name, want := range m.Splits {
		one, err := index.DecodeManifest(s.Files()[name+"/"+index.ManifestName])
		if err != nil {
			t.Fatal(err)
		}
		if one.Samples != want.Samples || one.Digest != want.Digest {
			t.Fatalf("split %s has %d samples, the root says %d", name, one.Samples, want.Samples)
		}
		n += one.Samples
	}
	if len(m.Splits) > 0 && n != m.Samples {
		t.Fatalf("splits have %d samples, the root says %d", n, m.Samples)
	}
}

// valuesOf reads the shards of a set, in order.
func valuesOf(t *testing.T, s *memory.Store, dir string) (out []uint64) {
	t.Helper()
	m, err := index.DecodeManifest(s.Files()[dir+index.ManifestName])
	if err != nil {
		t.Fatal(err)
	}
	for _, sh := range m.Shards {
		b := s.Files()[dir+sh.Name]
		if int64(len(b)) != sh.Samples*8 {
			t.Fatalf("shard %s has %d bytes for %d samples", sh.Name, len(b), sh.Samples)
		}
		for ; len(b) > 0; b = b[8:] {
			out = append(out, binary.LittleEndian.Uint64(b))
		}
	}
	return out
}

// convertFake converts in one go.
func convertFake(t *testing.T, f *fakeSource, change func(*Request)) (*memory.Store, *index.Manifest) {
	t.Helper()
	s := memory.New()
	m, err := shapedJob(shapedPlan(t, f, change), f, s).Convert(bg)
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func (f *fakeSource) all() (out []uint64) {
	for _, id := range everyID(f) {
		out = append(out, f.value(id.Input, id.Sample))
	}
	return out
}

func sorted(v []uint64) []uint64 { v = slices.Clone(v); slices.Sort(v); return v }

func TestSplitsHaveEverySampleOnce(t *testing.T) {
	smallSurveys(t)
	f := mixed()
	for _, c := range []struct {
		text   string
		counts []int
	}{{"train=0.8,val=0.1,test=0.1", nil}, {"train=rest,val=37,test=5", []int{429 - 42, 37, 5}}, {"a=0.5,b=rest", nil}} {
		for _, shuffle := range []string{"", plan.ShuffleBlock, plan.ShuffleGlobal} {
			s, _ := convertFake(t, f, func(r *Request) { r.Split, r.Shuffle = split(t, c.text), shuffle })
			var got []uint64
			for i, part := range split(t, c.text).Parts {
				v := valuesOf(t, s, part.Name+"/")
				if c.counts != nil && len(v) != c.counts[i] {
					t.Errorf("%s: %s has %d samples, want %d", c.text, part.Name, len(v), c.counts[i])
				}
				got = append(got, v...)
			}
			if !slices.Equal(sorted(got), sorted(f.all())) {
				t.Errorf("%s: the splits together are not the input", c.text)
			}
		}
	}
}

func TestWhereDropsAndCounts(t *testing.T) {
	f := mixed()
	s, m := convertFake(t, f, func(r *Request) { r.Ops = []plan.Op{{Name: "even"}} })
	var want []uint64
	for _, v := range f.all() {
		if v&1 == 0 {
			want = append(want, v)
		}
	}
	if got := valuesOf(t, s, ""); !slices.Equal(got, want) {
		t.Fatalf("%d samples, want the %d even ones in order", len(got), len(want))
	}
	odd := int64(len(f.all()) - len(want))
	if m.Dropped != odd || !slices.Equal(m.Counts, []shardify.Count{{Name: "even: dropped", N: odd}, {Name: "odd", N: odd}}) {
		t.Fatalf("dropped %d, counts %v, want %d", m.Dropped, m.Counts, odd)
	}
}

func TestShuffledSetHoldsTheSamplesInAnotherOrder(t *testing.T) {
	f := mixed()
	for _, shuffle := range []string{plan.ShuffleBlock, plan.ShuffleGlobal} {
		s, m := convertFake(t, f, func(r *Request) { r.Shuffle = shuffle })
		got := valuesOf(t, s, "")
		if !slices.Equal(sorted(got), sorted(f.all())) {
			t.Fatalf("%s: other samples than went in", shuffle)
		}
		if slices.Equal(got, f.all()) {
			t.Fatalf("%s: the order is that of the input", shuffle)
		}
		if len(m.Shards) < 3 {
			t.Fatalf("%s: %d shards", shuffle, len(m.Shards))
		}
	}
	s, m := convertFake(t, f, func(r *Request) { r.Shuffle, r.ShardSize, r.ShardSamples = plan.ShuffleGlobal, 0, 37 })
	for i, sh := range m.Shards {
		if want := min(37, 429-37*int64(i)); sh.Samples != want {
			t.Fatalf("shard %d has %d samples, want %d", i, sh.Samples, want)
		}
	}
	// Cutting elsewhere leaves the order as it is.
	other, _ := convertFake(t, f, func(r *Request) { r.Shuffle = plan.ShuffleGlobal })
	if !slices.Equal(valuesOf(t, s, ""), valuesOf(t, other, "")) {
		t.Fatal("the order depends on the size of the shards")
	}
}

func TestCopiesDifferAndStayInTheirSplit(t *testing.T) {
	f := mixed()
	s, m := convertFake(t, f, func(r *Request) {
		r.Split, r.Ops = split(t, "train=0.5,val=0.5"), []plan.Op{{Name: "copies-train", Text: "3"}, {Name: "noise-train"}}
	})
	train, val := valuesOf(t, s, "train/"), valuesOf(t, s, "val/")
	if len(train) != 3*(429-len(val)) || m.Copied != int64(len(train)/3*2) {
		t.Fatalf("%d in train, %d in val, %d copied", len(train), len(val), m.Copied)
	}
	if u := slices.Compact(sorted(train)); len(u) != len(train) {
		t.Fatalf("%d of %d copies differ", len(u), len(train))
	}
	plain, _ := convertFake(t, f, func(r *Request) { r.Split = split(t, "train=0.5,val=0.5") })
	if !slices.Equal(val, valuesOf(t, plain, "val/")) {
		t.Fatal("copies of train have changed val")
	}
}

// TestCopiesAreShuffledApart: each copy has a place of its own.
func TestCopiesAreShuffledApart(t *testing.T) {
	f := mixed()
	for _, shuffle := range []string{plan.ShuffleBlock, plan.ShuffleGlobal} {
		s, _ := convertFake(t, f, func(r *Request) {
			r.Shuffle, r.Ops, r.ShardSize = shuffle, []plan.Op{{Name: "copies", Text: "2"}}, 1<<20
		})
		v := valuesOf(t, s, "")
		together := 0
		for i := 1; i < len(v); i++ {
			if v[i] == v[i-1] {
				together++
			}
		}
		if len(v) != 2*429 || together > 20 {
			t.Errorf("%s: %d of %d copies are adjacent", shuffle, together, len(v)/2)
		}
	}
}

func TestSurveySeesTrainAlone(t *testing.T) {
	f := mixed()
	p := shapedPlan(t, f, func(r *Request) { r.Split, r.Ops = split(t, "train=0.5,val=0.5"), []plan.Op{{Name: "total"}} })
	s := memory.New()
	if _, err := shapedJob(p, f, s).Convert(bg); err != nil {
		t.Fatal(err)
	}
	_, n, _ := strings.Cut(p.Steps.Findings[0].Result, " ")
	if got := len(valuesOf(t, s, "train/")); fmt.Sprint(got) != n {
		t.Fatalf("the survey saw %s samples, train has %d", n, got)
	}
	// An earlier plan spares the survey; other operations do not.
	reads := f.reads.Load()
	q := shapedPlan(t, f, func(r *Request) {
		r.Split, r.Ops, r.Known = split(t, "train=0.5,val=0.5"), []plan.Op{{Name: "total"}}, p
	})
	if f.reads.Load() != reads || q.Digest() != p.Digest() {
		t.Fatal("the survey was made again, or differs")
	}
	shapedPlan(t, f, func(r *Request) {
		r.Split, r.Ops, r.Known = split(t, "train=0.6,val=0.4"), []plan.Op{{Name: "total"}}, p
	})
	if f.reads.Load() == reads {
		t.Fatal("another split took the survey of this one")
	}
}

// smallSurveys has surveys of several parts.
func smallSurveys(t *testing.T) {
	old := surveyPart
	surveyPart = 300
	t.Cleanup(func() { surveyPart = old })
}

func TestSurveyIsTheSameWhateverTheJobs(t *testing.T) {
	smallSurveys(t)
	f := mixed()
	f.onRead = func(s shardify.Span) { time.Sleep(time.Duration(shardify.Mix(uint64(s.Lo))%3) * time.Millisecond) }
	want := ""
	for _, jobs := range []int{1, 2, 7} {
		p := shapedPlan(t, f, func(r *Request) { r.Ops, r.Jobs, r.Pool = []plan.Op{{Name: "total"}}, jobs, shardify.NewPool(1<<20) })
		if want == "" {
			want = p.Steps.Findings[0].Result
		}
		if got := p.Steps.Findings[0].Result; got != want {
			t.Fatalf("%d jobs found %s, one job %s", jobs, got, want)
		}
		if n := len(surveyParts(p.Pack.Spans)); n < 5 {
			t.Fatalf("%d parts", n)
		}
	}
}

func TestDamagedSamplesAreSkippedOnTheWay(t *testing.T) {
	race.Sequential(t)
	f := mixed()
	f.bad = map[[2]int64]error{{0, 17}: shardify.Corrupt(3, "made so"), {6, 39}: shardify.Corrupt(4, "made so")}
	for name, change := range shapes(t) {
		if name == "split count" {
			continue
		}
		s, m := convertFake(t, f, func(r *Request) { change(r); r.OnError = plan.OnErrorSkip })
		_ = s
		if len(m.Skipped) != 2 {
			t.Errorf("%s: skipped %v", name, m.Skipped)
		}
	}
}

func TestEveryFailureLeavesAConversionThatGoesOn(t *testing.T) {
	f := mixed()
	change := shapes(t)["all of it"]
	want, _ := convertFake(t, f, change)
	p := shapedPlan(t, f, change)
	step := 4
	if long() {
		step = 1
	} else if testing.Short() {
		step = 37
	}
	for i := 1; ; i += step {
		mem := memory.New()
		fault := fault.New(mem, i, true)
		j := shapedJob(p, f, fault)
		j.Jobs = 1
		_, err := j.Convert(bg)
		if err == nil {
			if i < 100 {
				t.Fatalf("done after %d operations", i)
			}
			t.Logf("%d operations failed, one by one", i/step)
			return
		}
		after := mem.Clone() // what a crash would leave
		if _, err := shapedJob(p, f, after).Convert(bg); err != nil {
			t.Fatalf("operation %d: %v, and then: %v", i, err, err)
		}
		if !maps.Equal(published(after), published(want)) {
			t.Fatalf("operation %d failed: the conversion went on to other bytes", i)
		}
		if left := fragmentsIn(after); len(left) > 0 {
			t.Fatalf("operation %d: fragments stay: %v", i, left)
		}
	}
}
