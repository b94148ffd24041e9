package tfrecord

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
)

var byStep = format.Options{optSample: bySteps}

// part is a field of a message.
func part(n byte, b []byte) []byte {
	return append(binary.AppendUvarint([]byte{n<<3 | 2}, uint64(len(b))), b...)
}

// episodes are SequenceExamples with 0 to 9 steps, of which some have no file.
func episodes(seed uint64, records int) []byte {
	rng := rand.New(rand.NewPCG(seed, 4))
	ints := func(n ...int) []byte {
		var b []byte
		for _, v := range n {
			b = binary.AppendUvarint(b, uint64(v))
		}
		return part(3, part(1, b))
	}
	var out []byte
	for i := range records {
		n := rng.IntN(10)
		lists := map[string][][]byte{}
		for k := range n {
			lists["action"] = append(lists["action"], ints(i, k))
			lists["any"] = append(lists["any"], ints(make([]int, rng.IntN(4))...))
			lists["image"] = append(lists["image"], part(1, part(1, []byte("\x89PNG\r\n\x1a\n"+strings.Repeat("x", rng.IntN(90))))))
			lists["says"] = append(lists["says"], part(1, part(1, fmt.Appendf(nil, "step %d", k))))
		}
		var all []byte
		for _, name := range []string{"action", "any", "image", "says"} {
			var list []byte
			for _, f := range lists[name] {
				list = append(list, part(1, f)...)
			}
			all = append(all, part(1, append(part(1, []byte(name)), part(2, list)...))...)
		}
		context := feature("id", tfrecord.Ints, part(1, binary.AppendUvarint(nil, uint64(i))))
		context = append(context, feature("name", tfrecord.Bytes, part(1, fmt.Appendf(nil, "episode %d", i)))...)
		if i%3 > 0 {
			context = append(context, feature("maybe", tfrecord.Ints, part(1, []byte{7, 8}[:i%3]))...)
		}
		out = tfrecord.AppendRecord(out, append(part(1, context), part(2, all)...))
	}
	return out
}

// unrolled are the values of steps, made of those of records.
func unrolled(records map[string][]any, schema []shardify.Field, of string, isStep func(string) bool) map[string][]any {
	out := map[string][]any{}
	for _, f := range schema {
		for i, v := range records[f.Name] {
			n := 1
			if l := len(records[of][i].([]any)); isStep(f.Name) {
				list := v.([]any)
				n = len(list) / max(l, 1)
				for k := range l {
					if inner, ok := list[k*n].([]any); ok {
						out[f.Name] = append(out[f.Name], inner)
					} else {
						out[f.Name] = append(out[f.Name], list[k*n:(k+1)*n])
					}
				}
				continue
			}
			for range len(records[of][i].([]any)) {
				out[f.Name] = append(out[f.Name], v)
			}
		}
	}
	return out
}

func load(t *testing.T, o format.Options, target int64, files ...string) (map[string][]any, []shardify.Field) {
	t.Helper()
	src, err := openFiles(nil, o, nil, files...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	return values(t, src, target), src.Schema()
}

// TestStepsAreSamples: steps have the values that records have in lists, in spans of any length.
func TestStepsAreSamples(t *testing.T) {
	plain := readertest.Put(t, "a.tfrecord", string(episodes(1, 40)))
	packed := readertest.Put(t, "b.tfrecord", string(readertest.Gzip(episodes(2, 30))))
	tfds := func(split string) string {
		return filepath.Join(corpus.Dir(t, "records"), "tfds", "b-"+split+".tfrecord-00000-of-00001")
	}
	lists := func(name string) bool { return strings.Contains("action any image says", name) }
	group := func(name string) bool { return strings.HasPrefix(name, "steps/") }
	for _, c := range []struct {
		files        []string
		of           string
		step         func(string) bool
		lists, steps string
	}{
		{[]string{plain, packed}, "says", lists, "action i64[2] 1, any i64[] 2, id i64[] 0, image u8[] 2png, maybe i64[] 1, name u8[] 1txt, says u8[] 2txt",
			"action i64[2] 0, any i64[] 1, id i64[] 0, image u8[] 1png, maybe i64[] 1, name u8[] 1txt, says u8[] 1txt"},
		{[]string{tfds("train")}, "steps/is_last", group, "", "steps/img u8[] 1png, steps/is_last bool[] 0, steps/obs f32[2] 0, steps/reward f32[] 0, u8 u8[4] 0"},
		{[]string{tfds("test")}, "steps/is_last", group, "", "steps/img u8[] 1png, steps/is_last bool[] 0, steps/obs f32[2] 0, steps/reward f32[] 0, u8 u8[4] 0"},
	} {
		records, schema := load(t, nil, 1<<20, c.files...)
		if got := list(schema); c.lists != "" && got != c.lists {
			t.Errorf("records: %s, want %s", got, c.lists)
		}
		want := unrolled(records, schema, c.of, c.step)
		for _, target := range []int64{1, 100, 1 << 20} {
			got, steps := load(t, byStep, target, c.files...)
			if text := list(steps); !strings.HasSuffix(text, c.steps) || len(steps) != len(schema) {
				t.Errorf("steps: %s, want %s", text, c.steps)
			}
			for name := range want {
				if g, w := fmt.Sprint(got[name]), fmt.Sprint(want[name]); g != w || len(want[name]) == 0 {
					t.Errorf("%s, spans of %d bytes: %.300s, want %.300s", name, target, g, w)
				}
			}
		}
	}
}

// list is a schema as a text.
func list(schema []shardify.Field) string {
	var all []string
	for _, f := range schema {
		all = append(all, fmt.Sprintf("%s %s%v %d%s", f.Name, f.DType, f.Shape, f.Levels, f.Media))
	}
	return strings.Join(all, ", ")
}

func TestConformanceOfSteps(t *testing.T) {
	for name, files := range map[string][]string{
		"plain":  {readertest.Put(t, "a.tfrecord", string(episodes(3, 100))), readertest.Put(t, "b.tfrecord", string(episodes(4, 20)))},
		"packed": {readertest.Put(t, "a.tfrecord.gz", string(readertest.Gzip(episodes(5, 60))))},
		"tfds":   {filepath.Join(corpus.Dir(t, "records"), "tfds", "b-train.tfrecord-00000-of-00001")},
	} {
		t.Run(name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return openFiles(columns, byStep, state, files...)
			})
		})
	}
}

// TestStepsOfChosenFields: steps are counted where no field of them is wanted, too.
func TestStepsOfChosenFields(t *testing.T) {
	file := readertest.Put(t, "a.tfrecord", string(episodes(6, 30)))
	all, _ := load(t, byStep, 1<<20, file)
	for _, name := range []string{"id", "maybe", "image", "any"} {
		src, err := openFiles([]string{name}, byStep, nil, file)
		if err != nil {
			t.Fatal(err)
		}
		got := values(t, src, 50)
		src.Close()
		if len(got) != 1 || fmt.Sprint(got[name]) != fmt.Sprint(all[name]) {
			t.Errorf("%s: %.300s, want %.300s", name, fmt.Sprint(got), fmt.Sprint(all[name]))
		}
	}
}

func TestRecordsWithoutStepsAreRefused(t *testing.T) {
	two := part(1, append(part(1, []byte("a")), part(2, append(part(1, part(3, part(1, []byte{1}))), part(1, part(3, part(1, []byte{2})))...))...))
	one := part(1, append(part(1, []byte("b")), part(2, part(1, part(3, part(1, []byte{1}))))...))
	folder := t.TempDir()
	features, err := os.ReadFile(filepath.Join(corpus.Dir(t, "records"), "tfds", "features.json"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	bytes := format.Options{optSample: bySteps, optRecords: "bytes"}
	for _, c := range []struct {
		options  format.Options
		file     string
		features string
		want     string
		is       error
	}{
		{byStep, string(random(1, 5)), "", "names no sequence of steps", shardify.ErrUnsupported},
		{byStep, string(sequence(listed("a"), listed("b"))), "", "no list of features in the records has a value", shardify.ErrUnsupported},
		{bytes, string(random(1, 5)), "", "--records bytes takes records as they are", shardify.ErrUsage},
		{byStep, string(tfrecord.AppendRecord(nil, part(2, append(two, one...)))), "", "2 steps of a, and 1 of b", shardify.ErrCorrupt},
		{byStep, string(random(1, 5)), strings.ReplaceAll(string(features), `"steps"`, `"episodes"`), "which are steps", shardify.ErrUnsupported},
		{byStep, string(tfrecord.AppendRecord(nil, part(1, feature("steps/obs", tfrecord.Floats, part(1, make([]byte, 12)))))), string(features), "3 values of steps/obs, 2 a step", shardify.ErrCorrupt},
	} {
		if c.features != "" {
			write("features.json", []byte(c.features))
		}
		_, err := openFiles(nil, c.options, nil, write("a.tfrecord", []byte(c.file)))
		if !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// listed is a list of features of a SequenceExample: i64, or texts.
func listed(name string, values ...any) []byte {
	var list []byte
	for _, v := range values {
		f := part(1, part(1, fmt.Append(nil, v)))
		if n, ok := v.(int); ok {
			f = part(3, part(1, binary.AppendUvarint(nil, uint64(n))))
		}
		list = append(list, part(1, f)...)
	}
	return part(1, append(part(1, []byte(name)), part(2, list)...))
}

func sequence(lists ...[]byte) []byte {
	return tfrecord.AppendRecord(nil, part(2, slices.Concat(lists...)))
}

// TestAFieldThatARecordLacksIsMissingInItsSteps: of lists, and of what features.json says.
func TestAFieldThatARecordLacksIsMissingInItsSteps(t *testing.T) {
	lists := readertest.Put(t, "a.tfrecord", string(slices.Concat(
		sequence(listed("a", 1, 2), listed("b", 3, 4), listed("c", "x", "y")),
		sequence(listed("a", 5, 6, 7)),
		sequence(listed("a"), listed("b"), listed("c")),
		sequence(listed("a", 8), listed("b", 9), listed("c", "z")),
	)))
	features, err := os.ReadFile(filepath.Join(corpus.Dir(t, "records"), "tfds", "features.json"))
	if err != nil {
		t.Fatal(err)
	}
	ints := func(name string, n ...byte) []byte { return feature(name, tfrecord.Ints, part(1, n)) }
	floats := func(name string, n int) []byte { return feature(name, tfrecord.Floats, part(1, make([]byte, 4*n))) }
	none := part(1, append(part(1, []byte("steps/reward")), part(2, nil)...))
	var records []byte
	for _, r := range [][]byte{
		slices.Concat(ints("steps/is_last", 0, 1), floats("steps/reward", 2), floats("steps/obs", 4)),
		slices.Concat(ints("steps/is_last", 0, 0, 1), none),
		slices.Concat(ints("steps/is_last", 1), floats("steps/reward", 1)),
	} {
		records = append(records, tfrecord.AppendRecord(nil, part(1, r))...)
	}
	folder := t.TempDir()
	named := filepath.Join(folder, "a.tfrecord")
	if err := errors.Join(os.WriteFile(named, records, 0o600), os.WriteFile(filepath.Join(folder, "features.json"), features, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, want string }{
		{lists, "map[a:[[1] [2] [5] [6] [7] [8]] b:[[3] [4] <nil> <nil> <nil> [9]] c:[[78] [79] <nil> <nil> <nil> [7a]]]"},
		{named, "map[steps/is_last:[[0] [1] [0] [0] [1] [1]] steps/obs:[[0 0] [0 0] <nil> <nil> <nil> <nil>] steps/reward:[[0] [0] <nil> <nil> <nil> [0]]]"},
	} {
		for _, target := range []int64{1, 1 << 20} {
			got, schema := load(t, byStep, target, c.file)
			if fmt.Sprint(got) != c.want || schema[0].Nullable || !schema[1].Nullable || !schema[2].Nullable {
				t.Errorf("%v %v, want %s", got, schema, c.want)
			}
		}
	}
}

// TestRecordsWithUnevenStepsAreLeftOut: the others of the file stay, and the record is listed.
func TestRecordsWithUnevenStepsAreLeftOut(t *testing.T) {
	for name, pack := range map[string]func([]byte) []byte{"a.tfrecord": func(b []byte) []byte { return b }, "a.tfrecord.gz": readertest.Gzip[[]byte]} {
		file := readertest.Put(t, name, string(pack(slices.Concat(
			sequence(listed("a", 1, 2), listed("b", 3, 4)), sequence(listed("a", 5, 6), listed("b", 7)), sequence(listed("a", 8), listed("b", 9)),
			tfrecord.AppendRecord(nil, []byte{0xff}), sequence(listed("a", 10), listed("b", 11)),
		))))
		args := format.OpenArgs{Table: readertest.TableOf(file), Options: byStep, SkipDamaged: true}
		src, err := Format.Open(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		skipped := src.(format.Skipper).Skipped()
		if len(skipped) != 2 || skipped[0].Object != "record 1" || skipped[0].Lo != 4 || !strings.HasPrefix(skipped[0].Reason, "2 steps of a, and 1 of b") || skipped[1].Object != "record 3" {
			t.Errorf("%+v", skipped)
		}
		const want = "map[a:[[1] [2] [8] [10]] b:[[3] [4] [9] [11]]]"
		if args.State, err = src.(format.Stater).State(); err != nil {
			t.Fatal(err)
		}
		again, err := Format.Open(t.Context(), args)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		for _, s := range []shardify.Source{src, again} {
			for _, target := range []int64{1, 1 << 20} {
				if got := fmt.Sprint(values(t, s, target)); got != want {
					t.Errorf("%s: %s, want %s", name, got, want)
				}
			}
		}
		args.SkipDamaged, args.State = false, nil
		if _, err := Format.Open(t.Context(), args); !errors.Is(err, shardify.ErrCorrupt) {
			t.Error(err)
		}
	}
}

// TestALongEpisodeIsParsedOnce: the spans behind the first one look neither at the head of the record nor at steps that were read.
func TestALongEpisodeIsParsedOnce(t *testing.T) {
	var a, b []any
	for i := range 1000 {
		a, b = append(a, i), append(b, fmt.Sprint("text ", i))
	}
	src, err := openFiles(nil, byStep, nil, readertest.Put(t, "a.tfrecord", string(sequence(listed("a", a...), listed("b", b...)))))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var spans []shardify.Span
	for sp, err := range src.Spans(t.Context(), 100) {
		if err != nil {
			t.Fatal(err)
		}
		spans = append(spans, sp)
	}
	r, err := src.Reader(spans[0].Run)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	own, pool := r.(*reader), shardify.NewPool(1<<40)
	n := 0
	for _, sp := range spans {
		mem, _ := pool.Grant(t.Context(), 1<<20)
		batch, err := r.Read(t.Context(), sp, mem)
		if err != nil {
			t.Fatalf("%v after %d steps: %v", sp, n, err)
		}
		for k := range batch.Samples {
			x, y := &batch.Columns[0], &batch.Columns[1]
			if v, s := binary.LittleEndian.Uint64(x.Data[8*k:]), y.Data[y.Offsets[0][k]:y.Offsets[0][k+1]]; v != uint64(n) || string(s) != fmt.Sprint("text ", n) {
				t.Fatalf("step %d: %d, %s", n, v, s)
			}
			n++
		}
		own.last[0] = 0xff // a message that cannot be parsed again
		mem.Release()
	}
	if n != 1000 || len(spans) < 20 {
		t.Errorf("%d steps in %d spans", n, len(spans))
	}
}
