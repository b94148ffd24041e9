package sets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/race"
	"github.com/shardify/shardify/verify"
	"github.com/shardify/shardify/writers"
	"github.com/shardify/shardify/writers/writertest"
)

// first writes a data set of two shards with random values.
func first(t testing.TB, format string, s writertest.Schema, seed uint64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), fmt.Sprint("set", seed))
	f, _ := writers.Lookup(format)
	a, b := writertest.Batches(s, 23, seed, 23)[0], writertest.Batches(s, 8, seed+100, 8)[0]
	if s.Keyed {
		prefix(a.Keys, fmt.Sprint("a", seed, "-"))
		prefix(b.Keys, fmt.Sprint("b", seed, "-"))
	}
	b.First.Sample = int64(a.Samples)
	m := writertest.WriteSet(t, f, s, dir, a, b)
	finish(t, dir, f, m)
	return dir
}

// prefix makes names unique over several calls of writertest.Batches.
func prefix(keys *shardify.Column, with string) {
	var data []byte
	off := []int64{0}
	for i := range len(keys.Offsets[0]) - 1 {
		data = append(append(data, with...), keys.Data[keys.Offsets[0][i]:keys.Offsets[0][i+1]]...)
		off = append(off, int64(len(data)))
	}
	keys.Data, keys.Offsets[0] = data, off
}

func finish(t testing.TB, dir string, f format.Output, m *index.Manifest) {
	t.Helper()
	var err error
	options, _ := format.CheckOptions(f.Options, nil)
	if f.Members != nil {
		m.Members, err = f.Members(m.Schema, options)
	}
	if err == nil && f.Finish != nil {
		m.Files, err = f.Finish(context.Background(), local.NewDir(dir, local.SyncNone), format.FinishedSet{Schema: m.Schema, Keyed: m.Keyed, Shards: m.Shards, Options: options})
	}
	if err != nil {
		t.Fatal(err)
	}
	m.Inputs = index.Inputs{Format: "npz", Count: 1, Digest: index.DigestOf([]byte(dir)), Names: []string{filepath.Base(dir)}}
	writertest.WriteManifest(t, dir, m)
}

// open opens data sets as one source, until the test ends.
func open(t testing.TB, dirs []string) (format.Input, *readers.Opened) {
	t.Helper()
	ctx := context.Background()
	in, _, err := readers.Choose(ctx, nil, "", dirs)
	if err != nil {
		t.Fatal(err)
	}
	o, err := readers.Open(ctx, in, readers.Request{Inputs: dirs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Source.Close() })
	return in, o
}

// converted is a conversion of whole data sets.
func converted(t testing.TB, to string, samples int64, dirs ...string) string {
	t.Helper()
	ctx := context.Background()
	in, o := open(t, dirs)
	f, _ := writers.Lookup(to)
	options, _ := format.CheckOptions(f.Options, nil)
	plan, err := convert.MakePlan(ctx, convert.Request{Input: in.Name, Source: o.Source, Args: o.Args, Output: f, Options: options, ShardSamples: samples})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	job := convert.Job{Plan: plan, Source: o.Source, Sink: f, Store: local.NewDir(out, local.SyncNone), Pool: shardify.NewPool(1 << 28), Jobs: 2}
	if _, err := job.Convert(ctx); err != nil {
		t.Fatal(err)
	}
	return out
}

// content is all samples of data sets, in order, and their schema.
func content(t testing.TB, dirs ...string) (*shardify.Batch, []shardify.Field) {
	t.Helper()
	_, o := open(t, dirs)
	return writertest.ReadAll(t, o.Source, 900), o.Source.Schema()
}

func sound(t testing.TB, dir string) {
	t.Helper()
	r, err := verify.Run(context.Background(), verify.Options{Dir: dir})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		t.Fatalf("verify %s: %v %+v", dir, err, r)
	}
}

// both calls f for every schema that mmap and wds carry.
func both(t *testing.T, f func(t *testing.T, s writertest.Schema)) {
	mmap, _ := writers.Lookup(index.FormatMmap)
	wds, _ := writers.Lookup(index.FormatWDS)
	n := 0
	for _, s := range writertest.Schemas() {
		if mmap.Check(s.Fields, s.Keyed, nil) == nil && wds.Check(s.Fields, s.Keyed, nil) == nil {
			n++
			t.Run(s.Name, func(t *testing.T) { f(t, s) })
		}
	}
	if n < 8 {
		t.Errorf("only %d schemas", n)
	}
}

// TestThereAndBack: from one format into the other and back, in other shards, the
// values, names and attributes are those of the beginning.
func TestThereAndBack(t *testing.T) {
	race.Sequential(t)
	both(t, func(t *testing.T, s writertest.Schema) {
		for _, way := range [][]string{{"wds", "mmap", "wds"}, {"wds", "wds", "mmap", "mmap", "wds"}, {"mmap", "mmap", "wds", "mmap"}} {
			if way[0] == "mmap" && s.Name == "nullable bytes" {
				continue // a tar has one form for empty and missing
			}
			dir := first(t, way[0], s, 1)
			want, schema := content(t, dir)
			for i, to := range way[1:] {
				dir = converted(t, to, int64(5+3*i), dir)
				sound(t, dir)
			}
			got, again := content(t, dir)
			writertest.Compare(t, want, got, s.Keyed)
			if !reflect.DeepEqual(schema, again) {
				t.Errorf("%v: schema %+v, want %+v", way, again, schema)
			}
			if want.Keys != nil && !slices.Equal(want.Keys.Data, got.Keys.Data) {
				t.Errorf("%v: other names", way)
			}
		}
	})
}

// TestMergedIsBothInOrder: of any schema, the merged set holds what both hold, in
// shards of the same bytes where nothing changes, and is sound.
func TestMergedIsBothInOrder(t *testing.T) {
	for _, format := range []string{"mmap", "wds"} {
		both(t, func(t *testing.T, s writertest.Schema) {
			a, b := first(t, format, s, 1), first(t, format, s, 2)
			want, _ := content(t, a, b)
			for _, link := range []bool{false, true} {
				out := filepath.Join(t.TempDir(), "c")
				m, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: out, Link: link, Sync: local.SyncNone})
				if err != nil {
					t.Fatal(err)
				}
				sound(t, out)
				got, _ := content(t, out)
				writertest.Compare(t, want, got, s.Keyed)
				if m.Samples != 62 || len(m.Shards) != 4 || len(m.Parts) != 2 || m.Parts[1].Shards != 2 || m.Inputs.Count != 2 {
					t.Errorf("manifest: %+v", m)
				}
				same := sameFile(t, filepath.Join(a, m.Shards[0].Name), filepath.Join(out, m.Shards[0].Name))
				if same != link {
					t.Errorf("link %v: the first shard is the same file: %v", link, same)
				}
				keys := map[string]bool{}
				if got.Keys != nil {
					o := got.Keys.Offsets[0]
					for i := range got.Samples {
						keys[string(got.Keys.Data[o[i]:o[i+1]])] = true
					}
					if len(keys) != got.Samples {
						t.Errorf("%d names for %d samples", len(keys), got.Samples)
					}
				}
				again, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: out, Link: link, Sync: local.SyncNone})
				if err != nil || again.Digest != m.Digest {
					t.Errorf("the same again: %v", err)
				}
			}
		})
	}
}

func sameFile(t *testing.T, a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(x, y)
}

// labelled is a set with a class field.
func labelled(t *testing.T, format, labels string, seed uint64) string {
	f := shardify.Field{Name: "cls", DType: shardify.I64}
	if labels != "" {
		f.Attrs = map[string]string{"labels": strings.ReplaceAll(labels, ",", "\n")}
	}
	return first(t, format, writertest.Schema{Fields: []shardify.Field{f, {Name: "x", DType: shardify.F32}}}, seed)
}

// TestLabelsGrowOrAreRefused: codes keep their meaning in every shard.
func TestLabelsGrowOrAreRefused(t *testing.T) {
	race.Sequential(t)
	for _, format := range []string{"mmap", "wds"} {
		for _, c := range []struct{ a, b, want, err string }{
			{"cat,dog", "cat,dog", "cat,dog", ""}, {"cat,dog", "cat,dog,owl", "cat,dog,owl", ""}, {"cat,dog,owl", "cat", "cat,dog,owl", ""},
			{"cat,dog", "cat,owl", "", `field cls: code 1 is "owl" here, "dog" there`}, {"cat", "", "", "one of the sets has labels"},
		} {
			a, b := labelled(t, format, c.a, 1), labelled(t, format, c.b, 2)
			out := filepath.Join(t.TempDir(), "c")
			_, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: out, Sync: local.SyncNone})
			if c.err != "" {
				if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s and %s: %v", c.a, c.b, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			sound(t, out)
			got, schema := content(t, out)
			if l := strings.Join(schema[0].Labels(), ","); l != c.want {
				t.Errorf("%s and %s: labels %s", c.a, c.b, l)
			}
			x, _ := content(t, a)
			y, _ := content(t, b)
			if string(got.Columns[0].Data) != string(x.Columns[0].Data)+string(y.Columns[0].Data) {
				t.Errorf("%s and %s: other codes", c.a, c.b)
			}
		}
	}
}

// TestWhatDiffersIsNamed: field, both sides, both folders.
func TestWhatDiffersIsNamed(t *testing.T) {
	f := func(name string, d shardify.DType) shardify.Field { return shardify.Field{Name: name, DType: d} }
	base := writertest.Schema{Fields: []shardify.Field{f("x", shardify.F32), f("y", shardify.I64)}}
	unit := f("x", shardify.F32)
	unit.Attrs = map[string]string{"unit": "GeV"}
	a := first(t, "mmap", base, 1)
	for want, fields := range map[string][]shardify.Field{
		"field y is only in": {f("x", shardify.F32)}, "field z is not in": {f("x", shardify.F32), f("y", shardify.I64), f("z", shardify.F32)},
		`"dtype":"f64"`: {f("x", shardify.F64), f("y", shardify.I64)}, "another position": {f("y", shardify.I64), f("x", shardify.F32)}, `"unit":"GeV"`: {unit, f("y", shardify.I64)},
	} {
		b := first(t, "mmap", writertest.Schema{Fields: fields}, 2)
		_, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: filepath.Join(t.TempDir(), "c")})
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), a) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for want, b := range map[string]string{"format is wds": first(t, "wds", base, 2), "given twice": a} {
		_, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: filepath.Join(t.TempDir(), "c")})
		if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestEqualNamesAreRefused: a name is that of one sample.
func TestEqualNamesAreRefused(t *testing.T) {
	race.Sequential(t)
	s := writertest.Schema{Keyed: true, Fields: []shardify.Field{{Name: "x", DType: shardify.F32}}}
	for _, format := range []string{"mmap", "wds"} {
		a, b := first(t, format, s, 1), first(t, format, s, 1)
		_, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: filepath.Join(t.TempDir(), "c")})
		if err == nil || !strings.Contains(err.Error(), "given twice") && !strings.Contains(err.Error(), "names must differ") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestDamageGetsNoSecondHome: a flipped bit of an input is found before anything is
// published.
func TestDamageGetsNoSecondHome(t *testing.T) {
	race.Sequential(t)
	s := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.F32, Shape: []int{50}}}}
	for _, format := range []string{"mmap", "wds"} {
		a, b := first(t, format, s, 1), first(t, format, s, 2)
		set, err := Open(b)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(b, set.Manifest.Shards[1].Name)
		data, _ := os.ReadFile(name)
		data[len(data)-1200] ^= 4
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "c")
		if _, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: out}); !errors.Is(err, convert.ErrIncomplete) {
			t.Errorf("%s: %v", format, err)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was published", format)
		}
	}
}

// TestOthersFilesStay: the output must be new.
func TestOthersFilesStay(t *testing.T) {
	s := writertest.Schema{Fields: []shardify.Field{{Name: "x", DType: shardify.F32}}}
	a, b, c := first(t, "mmap", s, 1), first(t, "mmap", s, 2), first(t, "mmap", s, 3)
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, "mine"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: out}); !errors.Is(err, shardify.ErrExists) {
		t.Errorf("a folder with a file: %v", err)
	}
	out = filepath.Join(t.TempDir(), "c")
	if _, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: out}); err != nil {
		t.Fatal(err)
	}
	if _, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, c}, Output: out}); !errors.Is(err, shardify.ErrExists) {
		t.Errorf("another merge: %v", err)
	}
	if _, err := Merge(context.Background(), MergeOptions{Inputs: []string{a, b}, Output: a}); !errors.Is(err, shardify.ErrUnsupported) {
		t.Errorf("into an input: %v", err)
	}
}

// Merge plans and runs a merge.
func Merge(ctx context.Context, o MergeOptions) (*index.Manifest, error) {
	m, err := PlanMerge(ctx, o)
	if err != nil {
		return nil, err
	}
	return m.Run(ctx)
}
