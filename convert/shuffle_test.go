package convert_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	readmmap "github.com/shardify/shardify/readers/mmap"
	"github.com/shardify/shardify/readers/synth"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/writers/mmap"
)

// numbered is a source of samples that carry their own numbers.
func numbered(t testing.TB, n int, schema string) (shardify.Source, format.OpenArgs) {
	t.Helper()
	o, err := format.CheckOptions(synth.Format.Options, format.Options{"samples": fmt.Sprint(n), "schema": schema})
	if err != nil {
		t.Fatal(err)
	}
	a := format.OpenArgs{Table: &format.Table{}, Options: o}
	src, err := synth.Format.Open(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return src, a
}

// ordinal puts the number of a sample into the field "i".
type ordinal struct{}

func (ordinal) Schema(in []shardify.Field) ([]shardify.Field, error) { return in, nil }
func (ordinal) Cost([]shardify.Field) shardify.Cost                  { return shardify.Cost{} }
func (ordinal) Apply(b *shardify.Batch, _ uint64, _ *shardify.Arena) (*shardify.Batch, error) {
	for i, v := range shardify.View[int64](b.Columns[0].Data) {
		_ = v
		binary.LittleEndian.PutUint64(b.Columns[0].Data[8*i:], uint64(b.ID(i).Sample))
	}
	return b, nil
}

func compileOrdinal([]plan.Op, flow.Env) (*flow.Pipeline, error) {
	return &flow.Pipeline{Before: []flow.Stage{{Transform: ordinal{}}}}, nil
}

type shuffleRun struct {
	samples int
	memory  int64
	schema  string
	shuffle string
	jobs    int
	change  func(*convert.Request)
}

func (r shuffleRun) convert(t testing.TB, out string) *convert.Job {
	t.Helper()
	src, args := numbered(t, r.samples, r.schema)
	opts, err := format.CheckOptions(mmap.Format.Options, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := convert.Request{
		Input: "synth", Source: src, Args: args, Output: mmap.Format, Options: opts, Shuffle: r.shuffle, Seed: 1,
		Ops: []plan.Op{{Name: "ordinal"}}, Compile: compileOrdinal,
	}
	if r.change != nil {
		r.change(&q)
	}
	p, err := convert.MakePlan(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	j := &convert.Job{Plan: p, Source: src, Sink: mmap.Format, Store: local.NewDir(out, local.SyncNone), Pool: shardify.NewPool(r.memory), Jobs: r.jobs, Compile: q.Compile}
	if _, err := j.Convert(context.Background()); err != nil {
		t.Fatal(err)
	}
	return j
}

// order reads the field "i" of a set, which must be the largest of its type by name.
func order(t *testing.T, dir string) (out []int64) {
	t.Helper()
	table := &format.Table{Roots: []string{dir}}
	table.Append(0, index.ManifestName, 0, 0)
	src, err := readmmap.Open(context.Background(), format.OpenArgs{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pool := shardify.NewPool(64 << 20)
	for s, err := range src.Spans(context.Background(), 1<<20) {
		if err != nil {
			t.Fatal(err)
		}
		mem, err := pool.Grant(context.Background(), s.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.Read(context.Background(), s, mem)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, shardify.View[int64](b.Columns[0].Data)...)
		mem.Release()
	}
	return out
}

// TestGlobalShuffleIsUniform: each sample once; chi-square of where the samples of each
// part of the input end up; and no correlation between neighbours.
func TestGlobalShuffleIsUniform(t *testing.T) {
	race.Sequential(t)
	r := shuffleRun{samples: 300_000, memory: 600_000, schema: "i:i64", shuffle: plan.ShuffleGlobal, jobs: 2}
	if os.Getenv("SHARDIFY_LONG") != "" {
		r.samples, r.memory = 10_000_000, 20_000_000
		r.schema = "i:i64,x:f64"
	}
	r.change = func(q *convert.Request) { q.ShardSize = int64(r.samples) * 8 / 5 }
	dir := filepath.Join(t.TempDir(), "out")
	start := time.Now()
	r.convert(t, dir)
	took := time.Since(start)
	got := order(t, dir)
	n := len(got)
	if n != r.samples {
		t.Fatalf("%d samples of %d", n, r.samples)
	}
	seen := make([]bool, n)
	const parts = 100
	var table [parts][parts]float64
	var sum float64
	mean := float64(n-1) / 2
	variance := (float64(n)*float64(n) - 1) / 12
	runs := 0
	for at, v := range got {
		if v < 0 || v >= int64(n) || seen[v] {
			t.Fatalf("place %d has sample %d, which is there already or never was", at, v)
		}
		seen[v] = true
		table[v*parts/int64(n)][at*parts/n]++
		if at > 0 {
			sum += (float64(got[at-1]) - mean) * (float64(v) - mean)
			if v == got[at-1]+1 {
				runs++
			}
		}
	}
	expected := float64(n) / parts / parts
	chi := 0.0
	for i := range table {
		for k := range table[i] {
			d := table[i][k] - expected
			chi += d * d / expected
		}
	}
	// Both margins are fixed: (parts-1)^2 degrees of freedom; 5 sigma of the normal
	// approximation, both ways: too even would be no chance either.
	df := float64((parts - 1) * (parts - 1))
	z := (chi - df) / math.Sqrt(2*df)
	serial := sum / variance / float64(n-1) * math.Sqrt(float64(n))
	t.Logf("%d samples, %d bytes in memory for %d of data, %v: chi-square %.0f of %.0f (%+.2f sigma), serial correlation %+.2f sigma, %d neighbours kept", n, r.memory, n*8*(1+len(r.schema)/8), took, chi, df, z, serial, runs)
	if math.Abs(z) > 5 || math.Abs(serial) > 5 || runs > 12 {
		t.Fatal("the order is not that of chance")
	}
}

// BenchmarkShuffle compares the cost of the orders.
func BenchmarkShuffle(b *testing.B) {
	for _, schema := range []string{"i:i64,x:f64", "i:i64,x:f32[64]", "i:i64,j:f32*20[4],k:f32*"} {
		for _, shuffle := range []string{plan.ShuffleNone, plan.ShuffleBlock, plan.ShuffleGlobal} {
			b.Run(schema+"/"+shuffle, func(b *testing.B) {
				var bytes int64
				for i := range b.N {
					r := shuffleRun{samples: 1_000_000, memory: 64 << 20, schema: schema, shuffle: shuffle, jobs: 1}
					j := r.convert(b, filepath.Join(b.TempDir(), fmt.Sprint(i)))
					bytes = j.Plan.Pack.DecodedBytes
				}
				b.SetBytes(bytes)
			})
		}
	}
}
