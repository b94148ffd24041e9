package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	mmapreader "github.com/shardify/shardify/readers/mmap"
	wdsreader "github.com/shardify/shardify/readers/wds"
	"github.com/shardify/shardify/verify/problem"
	"github.com/shardify/shardify/writers/writertest"
)

// compareWith verifies dir against src.
func compareWith(t testing.TB, dir string, src *made, change func(*Options)) *Report {
	t.Helper()
	return check(t, nil, func(o *Options) {
		o.Store, o.Dir, o.Against = nil, dir, true
		o.Sources = []format.Input{sourceFormat(src), mmapreader.Format, wdsreader.Format}
		if change != nil {
			change(o)
		}
	})
}

// TestTrueValuesPassAndChangedOnesAreFound changes one value of one sample of
// each field in the source.
func TestTrueValuesPassAndChangedOnesAreFound(t *testing.T) {
	quick(t)
	const samples, victim = 20, 13
	for _, s := range writertest.Schemas() {
		for _, format := range []string{"mmap", "wds"} {
			sink, o := sinkOf(t, format)
			if sink.Check(s.Fields, s.Keyed, o) != nil {
				continue
			}
			t.Run(format+"/"+s.Name, func(t *testing.T) {
				src := makeSource(s, samples, 1)
				dir := onDisk(t, build(t, format, src, 8))
				r := compareWith(t, dir, src, nil)
				if r.Err() != nil || r.Counts.Compared != samples || r.Counts.Values != int64(samples*len(s.Fields)) {
					t.Fatalf("%v %+v:%s", r.Err(), r.Counts, list(r))
				}
				for i := range s.Fields {
					change(src, i, victim, func() {
						r := compareWith(t, dir, src, nil)
						if !slices.ContainsFunc(r.Problems, func(p problem.Problem) bool {
							return p.Kind == problem.KindValue && p.Field == s.Fields[i].Name && p.Sample == victim && p.File == fmt.Sprintf("shard-000001%s", sink.Ext) &&
								p.Want.Value != p.Got.Value && strings.Contains(p.Want.From, "in.made sample 13")
						}) || r.Total != 1 {
							t.Errorf("field %s:%s", s.Fields[i].Name, list(r))
						}
					})
				}
			})
		}
	}
}

// TestValuesOfShuffledSetsAreCompared: the conversion is made again; a value that is another
// one is named with its field and both sides, of formats that are not read back the shard is.
func TestValuesOfShuffledSetsAreCompared(t *testing.T) {
	quick(t)
	const samples = 20
	for _, kind := range []string{"mmap", "wds", "mds"} {
		src := makeSource(small(t, kind).Schema, samples, 1)
		src.shuffle = plan.ShuffleBlock
		if kind == "mds" {
			src.shuffle = ""
		}
		dir := onDisk(t, build(t, kind, src, 8))
		sinkM, _ := sinkOf(t, "mmap")
		sinkW, _ := sinkOf(t, "wds")
		sinkS, _ := sinkOf(t, "mds")
		sinks := func(o *Options) {
			o.Sinks, o.Scratch = []format.Output{sinkM, sinkW, sinkS}, t.TempDir()
		}
		r := compareWith(t, dir, src, sinks)
		if r.Err() != nil || r.Counts.Compared != samples {
			t.Fatalf("%s: %v, %d compared:%s", kind, r.Err(), r.Counts.Compared, list(r))
		}
		field := src.Fields[0].Name
		change(src, 0, 13, func() {
			r := compareWith(t, dir, src, sinks)
			if len(r.Problems) != 1 || r.Problems[0].Want == nil || !strings.HasPrefix(r.Problems[0].Want.From, convertedAgain) {
				t.Fatalf("%s:%s", kind, list(r))
			}
			p := r.Problems[0]
			if kind != "mds" && (p.Kind != problem.KindValue || p.Field != field || p.Want.Value == p.Got.Value) || kind == "mds" && p.Kind != problem.KindDigest {
				t.Errorf("%s: %+v", kind, p)
			}
		})
	}
}

// change flips a bit of field i of a sample while f runs; a field without a
// value there is left out.
func change(m *made, i, sample int, f func()) {
	c := &m.whole.Columns[i]
	if !valid(c.Valid, sample) || len(sampleData(c, sample)) == 0 {
		return
	}
	b := sampleData(c, sample)
	b[len(b)-1] ^= 1
	f()
	b[len(b)-1] ^= 1
}

func TestValuesOfRunsAndOfSetsWithSkipsAreCompared(t *testing.T) {
	quick(t)
	for _, run := range []uint32{0, 1} {
		src := makeSource(schema(t, "jagged"), 20, 1)
		src.run, src.bad = run, 7
		if run > 0 {
			src.bad = 19
		}
		dir := onDisk(t, build(t, "mmap", src, 5))
		src.bad = 0 // by now it can be read
		r := compareWith(t, dir, src, nil)
		want := int64(19)
		if run > 0 {
			want = 18 // the span of two samples
		}
		if r.Err() != nil || r.Counts.Compared != want {
			t.Errorf("run %d: %v, %d compared:%s", run, r.Err(), r.Counts.Compared, list(r))
		}
		os.RemoveAll(filepath.Join(dir, ".shardify", "receipts"))
		if r = compareWith(t, dir, src, nil); r.Err() != nil || r.Counts.Compared != want {
			t.Errorf("run %d, skips from the manifest: %v, %d compared:%s", run, r.Err(), r.Counts.Compared, list(r))
		}
	}
}

func TestComparisonSaysWhatItCannotDo(t *testing.T) {
	quick(t)
	src := makeSource(schema(t, "jagged"), 20, 1)
	m := build(t, "mmap", src, 5)
	dir := onDisk(t, m)
	missing := int64(0)
	fails := func(what string, src *made, change func(*Options)) {
		o := Options{Dir: dir, Against: true, Jobs: 1, Sources: []format.Input{sourceFormat(src), mmapreader.Format}}
		if change != nil {
			change(&o)
		}
		r, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Uncompared == "" || r.Total != missing || r.Counts.Compared != 0 || !errors.Is(r.Err(), convert.ErrIncomplete) || missing == 0 && !strings.Contains(r.Err().Error(), "values were not compared: ") {
			t.Errorf("%s: %v, %d compared:%s", what, r.Err(), r.Counts.Compared, list(r))
		}
	}
	two := []string{filepath.Join(t.TempDir(), "a.made"), filepath.Join(t.TempDir(), "b.made")}
	if _, err := Run(context.Background(), Options{Dir: dir, Against: true, Inputs: two, Sources: []format.Input{sourceFormat(src), mmapreader.Format}}); err == nil {
		t.Error("inputs that are not there: no error")
	}
	for _, name := range two {
		if err := os.WriteFile(name, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	fails("two inputs for one", src, func(o *Options) { o.Inputs = two })
	fails("other fields", makeSource(schema(t, "scalars"), 20, 1), nil)
	fails("no such format", src, func(o *Options) { o.Sources = o.Sources[1:] })

	// A source that cannot be read, and a data set that cannot.
	src.bad = 3
	r := compareWith(t, dir, src, nil)
	if r.Total != 0 || r.Counts.Compared != 18 || !strings.Contains(r.Uncompared, "sample 3 is bad") || r.Err() == nil {
		t.Errorf("%d compared, %q:%s", r.Counts.Compared, r.Uncompared, list(r))
	}
	src.bad = 0
	os.Remove(filepath.Join(dir, "shard-000002.safetensors"))
	if r = compareWith(t, dir, src, nil); !finds(r, problem.KindMissing, "shard-000002.safetensors") || r.Total < 2 {
		t.Errorf("data set that does not open:%s", list(r))
	}
	os.Remove(filepath.Join(dir, filepath.FromSlash(plan.FileName)))
	missing = 1
	fails("no plan", src, nil)
}

func TestAPartOfTheValuesIsCompared(t *testing.T) {
	quick(t)
	src := makeSource(schema(t, "scalars"), 20, 1)
	dir := onDisk(t, build(t, "mmap", src, 5))
	p, _ := ParsePart("2/2")
	if r := compareWith(t, dir, src, func(o *Options) { o.Read = p }); r.Err() != nil || r.Counts.Compared != 10 {
		t.Errorf("%d compared:%s", r.Counts.Compared, list(r))
	}
}

func TestNumbersAreWrittenAsTheirType(t *testing.T) {
	for _, c := range []struct {
		d    shardify.DType
		b    []byte
		want string
	}{
		{shardify.F32, []byte{0, 0, 0xc0, 0x3f}, "1.5"},
		{shardify.F64, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, "-1.5"},
		{shardify.BF16, []byte{0xc0, 0x3f}, "1.5"},
		{shardify.I8, []byte{0xff}, "-1"},
		{shardify.I16, []byte{0xfe, 0xff}, "-2"},
		{shardify.I64, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "-1"},
		{shardify.U64, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "18446744073709551615"},
		{shardify.U8, []byte{200}, "200"},
		{shardify.Bool, []byte{1}, "1"},
	} {
		if got := number(c.d, c.b); got != c.want {
			t.Errorf("%s % x: %s, want %s", c.d, c.b, got, c.want)
		}
	}
}
