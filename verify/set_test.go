package verify

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/memory"
	"github.com/shardify/shardify/verify/problem"
	"github.com/shardify/shardify/writers/arrow"
	"github.com/shardify/shardify/writers/mds"
	"github.com/shardify/shardify/writers/megatron"
	"github.com/shardify/shardify/writers/mmap"
	"github.com/shardify/shardify/writers/parquet"
	"github.com/shardify/shardify/writers/tfrecord"
	"github.com/shardify/shardify/writers/wds"
	"github.com/shardify/shardify/writers/writertest"
)

// made is a source of invented samples, all in one input.
type made struct {
	writertest.Schema
	whole   *shardify.Batch
	run     uint32
	bad     int    // a sample that cannot be read; 0 for none
	shuffle string // of jobs
}

func makeSource(s writertest.Schema, samples int, seed uint64) *made {
	return &made{Schema: s, whole: writertest.Batches(s, samples, seed, max(samples, 1))[0]}
}

func (m *made) Close() error { return nil }
func (m *made) Keyed() bool  { return m.Schema.Keyed }

func (m *made) CheckKeys(int, func([]byte) error) error { return nil }

type madeSource struct{ *made }

func (m madeSource) Schema() []shardify.Field { return m.Fields }

func (m madeSource) Spans(context.Context, int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		n := int64(m.whole.Samples)
		for lo := int64(0); lo < n; lo += 3 {
			if !yield(shardify.Span{Run: m.run, Lo: lo, Hi: min(lo+3, n), Bytes: 100}, nil) {
				return
			}
		}
	}
}

func (m madeSource) Reader(uint32) (shardify.Reader, error) { return madeReader(m), nil }

type madeReader struct{ *made }

func (m madeReader) Read(_ context.Context, s shardify.Span, _ *shardify.Arena) (*shardify.Batch, error) {
	if m.bad > 0 && s.Lo <= int64(m.bad) && int64(m.bad) < s.Hi {
		return nil, shardify.Corrupt(-1, "sample %d is bad", m.bad)
	}
	b := writertest.Slice(m.whole, int(s.Lo), int(s.Hi))
	b.First = shardify.ID{Input: s.Input, Sample: s.Lo}
	return b, nil
}

// sourceFormat serves src under the name that build puts into plans.
func sourceFormat(src *made) format.Input {
	return format.Input{Name: "made", Sniff: func(_ []byte, base string) bool { return strings.HasSuffix(base, ".made") }, Open: func(context.Context, format.OpenArgs) (shardify.Source, error) { return madeSource{src}, nil }}
}

func sinkOf(t testing.TB, kind string) (format.Output, format.Options) {
	t.Helper()
	f := map[string]format.Output{"mmap": mmap.Format, "wds": wds.Format, "mds": mds.Format, "megatron": megatron.Format, "tfrecord": tfrecord.Format, "parquet": parquet.Format, "arrow": arrow.Format, "arrayrecord": tfrecord.ArrayRecord}[kind]
	given := format.Options{}
	if kind == "wds" {
		given["dali"] = "true"
	}
	o, err := format.CheckOptions(f.Options, given)
	if err != nil {
		t.Fatal(err)
	}
	return f, o
}

// job plans a conversion of src in shards of perShard samples.
func job(t testing.TB, s storage.Store, kind string, src *made, perShard int) *convert.Job {
	t.Helper()
	sink, options := sinkOf(t, kind)
	table := &format.Table{Roots: []string{"/nowhere"}}
	table.Append(0, "in.made", 100, 0)
	plan, err := convert.MakePlan(context.Background(), convert.Request{
		Input: "made", Source: madeSource{src}, Args: format.OpenArgs{Table: table},
		Output: sink, Options: options, ShardSamples: int64(perShard), OnError: plan.OnErrorSkip, Shuffle: src.shuffle,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &convert.Job{Plan: plan, Source: madeSource{src}, Sink: sink, Store: s, Pool: shardify.NewPool(1 << 30), Jobs: 1}
}

// build converts src into a data set in memory.
func build(t testing.TB, format string, src *made, perShard int) *memory.Store {
	t.Helper()
	m := memory.New()
	if _, err := job(t, m, format, src, perShard).Convert(context.Background()); err != nil {
		t.Fatal(err)
	}
	return m
}

// check verifies a store; jobs are few, so that tests say where they fail.
func check(t testing.TB, s storage.Store, change func(*Options)) *Report {
	t.Helper()
	o := Options{Store: s, Sources: []format.Input{}, Jobs: 1}
	if change != nil {
		change(&o)
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return r
}

// quick turns off the search for flipped bits in texts, which takes a while for
// each damage.
func quick(t testing.TB) {
	t.Helper()
	old := flipWork
	flipWork = 0
	t.Cleanup(func() { flipWork = old })
}

func schema(t testing.TB, name string) writertest.Schema {
	t.Helper()
	all := writertest.Schemas()
	i := slices.IndexFunc(all, func(s writertest.Schema) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no schema %q", name)
	}
	return all[i]
}

// small is one field of each kind that the format carries.
func small(t testing.TB, format string) *made {
	t.Helper()
	var s writertest.Schema
	switch format {
	case "megatron":
		s = schema(t, "tokens")
	case "mds":
		s = writertest.Schema{Name: "small", Keyed: true, Fields: append(slices.Clone(schema(t, "ragged").Fields), schema(t, "lists of texts").Fields...)}
	case "mmap":
		s = writertest.Schema{Name: "small", Fields: append(slices.Clone(schema(t, "nullable numbers").Fields), schema(t, "two levels").Fields[0],
			shardify.Field{Name: "b", DType: shardify.Bool})}
		s.Keyed = true
	default:
		s = writertest.Schema{Name: "small", Fields: append(slices.Clone(schema(t, "jagged").Fields[:1]), schema(t, "images of several types").Fields...)}
	}
	return makeSource(s, 7, 5)
}

// published are the names of the files that readers see.
func published(m *memory.Store) []string {
	var names []string
	for _, n := range slices.Sorted(maps.Keys(m.Files())) {
		if !strings.HasPrefix(n, storage.Private+"/") {
			names = append(names, n)
		}
	}
	return names
}

func has(r *Report, kind string) bool {
	return slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return p.Kind == kind && !p.Repaired })
}

func list(r *Report) string {
	var b strings.Builder
	for i := range r.Problems {
		fmt.Fprintf(&b, "\n  %s %s %s", r.Problems[i].Level, r.Problems[i].Kind, r.Problems[i].String())
	}
	return b.String()
}

func TestASoundSetHasNoProblem(t *testing.T) {
	for _, s := range writertest.Schemas() {
		for _, format := range []string{"mmap", "wds"} {
			sink, o := sinkOf(t, format)
			if sink.Check(s.Fields, s.Keyed, o) != nil {
				continue
			}
			for _, samples := range []int{1, 20} {
				t.Run(fmt.Sprintf("%s/%s/%d", format, s.Name, samples), func(t *testing.T) {
					m := build(t, format, makeSource(s, samples, 1), 8)
					r := check(t, m, nil)
					if len(r.Problems) > 0 || r.Err() != nil || r.State != StateComplete || r.Next != "" {
						t.Fatalf("%v %s next %q:%s", r.Err(), r.State, r.Next, list(r))
					}
					shards := int64(samples+7) / 8
					if n := r.Counts; n.Samples != int64(samples) || n.Shards != shards || n.ShardsRead != shards || n.BytesRead != n.Bytes || n.Bytes == 0 {
						t.Errorf("counts %+v", n)
					}
				})
			}
		}
	}
}
