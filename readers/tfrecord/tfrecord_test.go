package tfrecord

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/busy"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(columns []string, options format.Options, state []byte, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Columns: columns, Options: options, State: state, Jobs: 2})
}

// values are those of all samples, by field; missing ones are nil, lists of lists are lists.
func values(t testing.TB, src shardify.Source, target int64) map[string][]any {
	t.Helper()
	out := map[string][]any{}
	readertest.Each(t, src, readertest.Spans(t, src, target), func(b *shardify.Batch) {
		for i := range b.Columns {
			c := &b.Columns[i]
			for k := range b.Samples {
				if c.Valid != nil && c.Valid[k] == 0 {
					out[c.Name] = append(out[c.Name], nil)
					continue
				}
				lo, hi := int64(k), int64(k+1)
				for _, o := range c.Offsets[:max(0, c.Levels-1)] {
					lo, hi = o[lo], o[hi]
				}
				list := []any{}
				switch {
				case c.Levels == 0:
					list = numbersOf(c, lo, hi)
				case c.Media != "":
					o := c.Offsets[c.Levels-1]
					for ; lo < hi; lo++ {
						list = append(list, hex.EncodeToString(c.Data[o[lo]:o[lo+1]]))
					}
				case c.Levels == 1:
					list = numbersOf(c, c.Offsets[0][lo], c.Offsets[0][hi])
				default:
					for ; lo < hi; lo++ {
						list = append(list, numbersOf(c, c.Offsets[1][lo], c.Offsets[1][lo+1]))
					}
				}
				out[c.Name] = append(out[c.Name], list)
			}
		}
	})
	return out
}

func numbersOf(c *shardify.Column, lo, hi int64) []any {
	list := []any{}
	for at := int(lo) * c.ElemBytes(); at < int(hi)*c.ElemBytes(); at += c.DType.Size() {
		b := c.Data[at:]
		switch c.DType {
		case shardify.F32:
			list = append(list, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
		case shardify.F64:
			list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(b)))
		case shardify.I64, shardify.U64:
			list = append(list, int64(binary.LittleEndian.Uint64(b)))
		case shardify.I32:
			list = append(list, int64(int32(binary.LittleEndian.Uint32(b))))
		case shardify.F16:
			list = append(list, int64(binary.LittleEndian.Uint16(b)))
		default:
			list = append(list, int64(b[0]))
		}
	}
	return list
}

// expected are the values of a file of the corpus, in the same form.
func expected(t *testing.T, path string) (out []map[string]any, raw bool) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var x struct {
		Records int
		Values  []map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(string(b), "-Infinity", `"-inf"`), "Infinity", `"inf"`), "NaN", `"nan"`)), &x); err != nil {
		t.Fatal(path, err)
	}
	one := func(v json.RawMessage) any {
		var pair []json.RawMessage
		var kind string
		if json.Unmarshal(v, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[0], &kind) != nil {
			return nil
		}
		list := []any{}
		d := json.NewDecoder(strings.NewReader(string(pair[1])))
		d.UseNumber()
		if err := d.Decode(&list); err != nil {
			t.Fatal(err)
		}
		for i, v := range list {
			n, ok := v.(json.Number)
			if !ok {
				if kind == "f32" {
					list[i] = map[any]any{"nan": math.NaN(), "inf": math.Inf(1), "-inf": math.Inf(-1)}[v]
				}
				continue
			}
			if kind == "i64" {
				list[i], _ = n.Int64()
			} else {
				list[i], _ = n.Float64()
			}
		}
		return list
	}
	for _, r := range x.Values {
		m := map[string]any{}
		if c, ok := r["context"]; ok {
			var context, lists map[string]json.RawMessage
			if errors.Join(json.Unmarshal(c, &context), json.Unmarshal(r["lists"], &lists)) != nil {
				t.Fatal(path)
			}
			for k, v := range lists {
				var steps []json.RawMessage
				_ = json.Unmarshal(v, &steps)
				all := []any{}
				for _, s := range steps {
					all = append(all, one(s))
				}
				m[k] = all
			}
			r = context
		}
		for k, v := range r {
			m[k] = one(v)
		}
		out = append(out, m)
	}
	return out, x.Records > 0 && x.Values == nil
}

// flat makes one list of lists of lists.
func flat(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := []any{}
	for _, x := range list {
		if inner, ok := x.([]any); ok {
			out = append(out, inner...)
		} else {
			out = append(out, x)
		}
	}
	return out
}

func TestTheCorpusIsReadAsTensorFlowReadsIt(t *testing.T) {
	dir := corpus.Dir(t, "records")
	names, err := filepath.Glob(filepath.Join(dir, "*tfrecord*.json"))
	if err != nil || len(names) < 12 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		base := strings.TrimSuffix(filepath.Base(name), ".json")
		want, raw := expected(t, name)
		o := format.Options{"missing-parts": "ignore"}
		if raw {
			o["records"] = "bytes"
		}
		src, err := openFiles(nil, o, nil, filepath.Join(dir, base))
		if base == "kinds.tfrecord" || base == "empty.tfrecord" {
			if base == "empty.tfrecord" && !errors.Is(err, shardify.ErrUnsupported) || base == "kinds.tfrecord" && !strings.Contains(err.Error(), "feature a is i64 in record 0 of kinds.tfrecord, and f32 in record 1") {
				t.Errorf("%s: %v", base, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		got := values(t, src, 1000)
		left := map[string]bool{}
		for _, l := range src.(format.Reporter).Leftovers() {
			left[l.Name] = true
		}
		src.Close()
		fields := map[string]bool{}
		for i, r := range want {
			for k, v := range r {
				fields[k] = true
				if left[k] {
					if v != nil && k != "word" {
						t.Errorf("%s: feature %s is left out", base, k)
					}
					continue
				}
				if len(got[k]) != len(want) {
					t.Fatalf("%s: %d values of %s for %d records", base, len(got[k]), k, len(want))
				}
				if a, b := fmt.Sprint(flat(got[k][i])), fmt.Sprint(flat(v)); a != b {
					t.Errorf("%s: record %d, %s: %.200s, want %.200s", base, i, k, a, b)
				}
			}
			for k := range got {
				if _, ok := r[k]; !ok && got[k][i] != nil && !raw {
					t.Errorf("%s: record %d has a value of %s", base, i, k)
				}
			}
		}
		for k := range got {
			if !fields[k] && !raw {
				t.Errorf("%s: a field %s", base, k)
			}
		}
	}
}

func TestBadFilesOfTheCorpusAreRefusedAtTheRecord(t *testing.T) {
	dir := corpus.Dir(t, "records/bad")
	for name, want := range map[string]string{
		"cut.tfrecord.gz": "sample 9 ", "cut_data.tfrecord": "sample 39 at byte 10091:", "cut_header.tfrecord": "sample 40 at byte 10350: the file ends inside",
		"field0.tfrecord": "sample 0 at byte 0: it is no tf.train.Example (field number 0)", "flip_crc1.tfrecord": "sample 0 at byte 0: the checksum of the length",
		"flip_data.tfrecord": "sample 0 at byte 12: the checksum of the data", "flip_length.tfrecord": "sample 0 at byte 0: the checksum of the length",
		"floats.tfrecord": "packed floats of 6 bytes", "huge_length.tfrecord": "sample 0 at byte 0: a record of 4611686018427387904 bytes", "not_example.tfrecord": "no tf.train.Example",
		"text.tfrecord": "no tf.train.Example", "unmasked.tfrecord": "sample 0 at byte 0: the checksum", "varint.tfrecord": "sample 0 ", "wire_type.tfrecord": "wire type 7", "zeros.tfrecord": "sample 0 at byte 0: the checksum",
	} {
		_, err := openFiles(nil, nil, nil, filepath.Join(dir, name))
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// feature is the bytes of a map entry.
func feature(key string, kind tfrecord.Kind, list []byte) []byte {
	part := func(n byte, b []byte) []byte {
		return append(binary.AppendUvarint([]byte{n<<3 | 2}, uint64(len(b))), b...)
	}
	value := part(byte(kind), list)
	if kind == tfrecord.None {
		value = nil
	}
	return part(1, append(part(1, []byte(key)), part(2, value)...))
}

// random are records with features of every kind.
func random(seed uint64, records int) []byte {
	rng := rand.New(rand.NewPCG(seed, 3))
	packed := func(b []byte) []byte { return append(binary.AppendUvarint([]byte{0x0a}, uint64(len(b))), b...) }
	floats := func(n int) []byte {
		var b []byte
		for range n {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(rng.Float32()))
		}
		return packed(b)
	}
	ints := func(n int) []byte {
		var b []byte
		for range n {
			b = binary.AppendUvarint(b, uint64(rng.Int64()>>rng.IntN(64)))
		}
		return packed(b)
	}
	var out []byte
	for range records {
		m := feature("id", tfrecord.Ints, ints(1))
		m = append(m, feature("x", tfrecord.Floats, floats(3))...)
		m = append(m, feature("tokens", tfrecord.Ints, ints(rng.IntN(9)))...)
		m = append(m, feature("text", tfrecord.Bytes, packed([]byte(strings.Repeat("äb", rng.IntN(20)))))...)
		if rng.IntN(3) > 0 {
			m = append(m, feature("maybe", tfrecord.Kind(2*rng.IntN(2)), floats(1))...)
		}
		out = tfrecord.AppendRecord(out, packed(m))
	}
	return out
}

func TestConformance(t *testing.T) {
	for name, files := range map[string][]string{
		"plain":          {readertest.Put(t, "a.tfrecord", string(random(1, 200))), readertest.Put(t, "b.tfrec", string(random(2, 150))), readertest.Put(t, "c.tfrecords", "")},
		"packed":         {readertest.Put(t, "a.tfrecord.gz", string(readertest.Gzip(random(3, 200)))), readertest.Put(t, "b.tfrecord", string(random(4, 100)))},
		"several pieces": {readertest.Put(t, "a.tfrecord", string(random(5, 30000)))},
	} {
		t.Run(name, func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return openFiles(columns, nil, state, files...)
			})
		})
	}
}

func TestEveryFlippedBitIsFound(t *testing.T) {
	race.Sequential(t)
	good := random(7, 4)
	path := readertest.Put(t, "a.tfrecord", string(good))
	for at := range good {
		for bit := range 8 {
			b := append([]byte(nil), good...)
			b[at] ^= 1 << bit
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			if _, err := openFiles(nil, nil, nil, path); !errors.Is(err, shardify.ErrCorrupt) {
				t.Fatalf("bit %d of byte %d: %v", bit, at, err)
			}
		}
	}
	// After the plan, too: readers check for themselves.
	if err := os.WriteFile(path, good, 0o666); err != nil {
		t.Fatal(err)
	}
	src, err := openFiles(nil, nil, nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	spans := readertest.Spans(t, src, 1<<20)
	for at := range good {
		b := append([]byte(nil), good...)
		b[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := readOne(src, spans[0]); !errors.Is(err, shardify.ErrCorrupt) {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
}

func readOne(src shardify.Source, sp shardify.Span) error {
	r, err := src.Reader(sp.Run)
	if err != nil {
		return err
	}
	defer r.Close()
	mem, err := shardify.NewPool(256<<20).Grant(context.Background(), sp.Bytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	_, err = r.Read(context.Background(), sp, mem)
	return err
}

func TestFoldersOfTensorFlowDatasets(t *testing.T) {
	dir := corpus.Dir(t, "records")
	b, err := os.ReadFile(filepath.Join(dir, "tfds.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Train, Test []map[string]json.RawMessage }
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	for split, records := range map[string][]map[string]json.RawMessage{"train": want.Train, "test": want.Test} {
		src, err := openFiles(nil, nil, nil, filepath.Join(dir, "tfds", "b-"+split+".tfrecord-00000-of-00001"))
		if err != nil {
			t.Fatal(err)
		}
		var schema []string
		for _, f := range src.Schema() {
			schema = append(schema, fmt.Sprint(f.Name, " ", f.DType, f.Shape, f.Levels, f.Media))
		}
		if got, w := strings.Join(schema, ", "), "f16 f16 [2] 0, f64 f64 [2] 0, flag bool [] 0, image u8 [] 1png, label i64 [] 0, m f32 [2 3] 0, nested/a i64 [] 0, nested/b u8 [] 1txt, ragged i32 [] 1, rr i64 [2] 1, seq/name u8 [] 2txt, seq/x f32 [] 1, steps/img u8 [] 2png, steps/is_last bool [] 1, steps/obs f32 [2] 1, steps/reward f32 [] 1, u8 u8 [4] 0"; got != w {
			t.Errorf("schema %s, want %s", got, w)
		}
		for _, f := range src.Schema() {
			if f.Name == "label" && !reflect.DeepEqual(f.Labels(), []string{"cat", "dog", "eel"}) {
				t.Errorf("labels %q", f.Labels())
			}
			if strings.HasPrefix(f.Name, "steps/") && f.Media == "" && f.Counter != "steps/is_last" {
				t.Errorf("%s has the counter %s", f.Name, f.Counter)
			}
		}
		got := values(t, src, 1<<20)
		src.Close()
		type array struct {
			DType  string
			Values any
		}
		for i, r := range records {
			for name, v := range r {
				var a array
				if json.Unmarshal(v, &a) != nil || a.DType == "" || a.DType == "float16" || name == "image" {
					continue
				}
				if g, w := fmt.Sprint(got[name][i]), fmt.Sprint(a.Values); g != strings.ReplaceAll(w, "true", "1") && g != strings.ReplaceAll(strings.ReplaceAll(w, "true", "1"), "false", "0") {
					t.Errorf("%s %d %s: %s, want %s", split, i, name, g, w)
				}
			}
		}
		if len(got["label"]) != len(records) {
			t.Errorf("%s: %d records, want %d", split, len(got["label"]), len(records))
		}
	}
	both := []string{filepath.Join(dir, "tfds", "b-test.tfrecord-00000-of-00001"), filepath.Join(dir, "tfds", "b-train.tfrecord-00000-of-00001")}
	if _, err := openFiles(nil, nil, nil, both...); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "several splits (test, train)") {
		t.Errorf("both splits: %v", err)
	}
}

func TestPartsAreReadInOrderAndTogether(t *testing.T) {
	dir := corpus.Dir(t, "records")
	var files []string
	var ids []any
	for i := range 3 {
		files = append(files, filepath.Join(dir, fmt.Sprintf("train.tfrecord-0000%d-of-00003", i)))
		want, _ := expected(t, files[i]+".json")
		for _, r := range want {
			ids = append(ids, r["label"])
		}
	}
	src, err := openFiles(nil, nil, nil, files...)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if got := values(t, src, 1<<20)["label"]; fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("%v, want %v", got, ids)
	}
	_, err = openFiles(nil, nil, nil, files[0], files[2])
	if !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "part 1 is missing; --missing-parts ignore") {
		t.Errorf("a missing part: %v", err)
	}
	if _, err = openFiles(nil, format.Options{"missing-parts": "ignore"}, nil, files[0], files[2]); err != nil {
		t.Error(err)
	}
}

func TestHostileRecordsAreRefusedAtOnce(t *testing.T) {
	race.Sequential(t)
	deep := []byte{0x0a}
	groups := bytes.Repeat([]byte{0x0b}, 1<<20)
	deep = append(binary.AppendUvarint(deep, uint64(len(groups))), groups...)
	nested := []byte{0x0a, 0}
	for range 20000 {
		nested = append(binary.AppendUvarint([]byte{0x0a}, uint64(len(nested))), nested...)
	}
	head := func(n uint64) []byte {
		b := tfrecord.AppendRecord(nil, binary.LittleEndian.AppendUint64(nil, n))
		b = append(b[12:20:20], b[20:]...) // the length with its checksum
		return append(b, make([]byte, 100)...)
	}
	cut := binary.AppendUvarint([]byte{0x0a}, 1<<63)
	for name, b := range map[string][]byte{
		"nested groups": tfrecord.AppendRecord(nil, deep), "a length of 2^63": head(1 << 63), "a length of 2^64-1": head(math.MaxUint64), "a length of 2^64-4": head(math.MaxUint64 - 3),
		"a length of 2^40": head(1 << 40), "a field of 2^63": tfrecord.AppendRecord(nil, cut), "packed 2^63": []byte(readertest.Gzip(head(1 << 62))),
		"packed zeros": []byte(readertest.Gzip(append(head(1<<30), make([]byte, 100<<20)...))),
	} {
		path := readertest.Put(t, "a.tfrecord", string(b))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := busy.Processor()
		_, err := openFiles(nil, nil, nil, path)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, shardify.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
		if took, bytes := busy.Processor()-begin, after.TotalAlloc-before.TotalAlloc; took > time.Second || bytes > 64<<20 {
			t.Errorf("%s: %v, %d bytes", name, took, bytes)
		}
	}
	if _, err := openFiles(nil, nil, nil, readertest.Put(t, "a.tfrecord", string(tfrecord.AppendRecord(nil, nested)))); err == nil {
		t.Error("nested messages are no Example")
	}
}

// TestMutatedFilesGiveErrorsOnly reads files with damaged bytes, and with damaged records whose checksums are right.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	kinds := []error{shardify.ErrCorrupt, shardify.ErrUnsupported, shardify.ErrSchema, shardify.ErrUsage}
	m := readertest.Mutants{Format: "tfrecord", Quick: 500, Seeds: 2, Make: func(rng *rand.Rand) readertest.Mutant {
		good, options := random(rng.Uint64(), 1+rng.IntN(4)), format.Options(nil)
		if rng.IntN(2) == 0 {
			good, options = episodes(rng.Uint64(), 1+rng.IntN(4)), byStep
		}
		walk := func(name string) (readertest.Walked, error) {
			return readertest.Walk(func(context.Context) (shardify.Source, error) { return openFiles(nil, options, nil, name) }, 1<<12, nil)
		}
		damage := func(b []byte) []byte {
			switch at := rng.IntN(len(b)); rng.IntN(8) {
			case 0:
				return slices.Insert(b, at, byte(rng.Uint32()))
			case 1:
				return slices.Delete(b, at, at+1)
			default:
				b[at] ^= byte(1 + rng.IntN(255))
			}
			return b
		}
		if rng.IntN(8) == 0 {
			return readertest.Mutant{Seed: "a.tfrecord", Data: damage(good), Read: walk}
		}
		var out []byte
		for s := tfrecord.NewScanner(bytes.NewReader(good), 0, int64(len(good))); ; {
			rec, err := s.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if rec = bytes.Clone(rec); len(rec) > 0 && rng.IntN(3) == 0 {
				rec = damage(rec)
			}
			out = tfrecord.AppendRecord(out, rec)
		}
		return readertest.Mutant{Seed: "a.tfrecord", Data: out, Read: walk}
	}, Kind: func(err error) bool {
		return slices.ContainsFunc(kinds, func(k error) bool { return errors.Is(err, k) })
	}}
	m.Run(t)
}

func FuzzRead(f *testing.F) {
	f.Add(random(1, 3))
	f.Add([]byte(readertest.Gzip(random(2, 2))))
	f.Add(episodes(3, 3))
	dir := f.TempDir()
	path := filepath.Join(dir, "a.tfrecord")
	f.Fuzz(func(t *testing.T, b []byte) {
		// The record is the fuzzed bytes, so that the checksums are right.
		for _, whole := range [][]byte{b, tfrecord.AppendRecord(nil, b)} {
			if err := os.WriteFile(path, whole, 0o666); err != nil {
				t.Fatal(err)
			}
			for _, o := range []format.Options{nil, byStep} {
				src, err := openFiles(nil, o, nil, path)
				if err != nil {
					continue
				}
				for sp, err := range src.Spans(context.Background(), 1<<20) {
					if err != nil {
						t.Fatal(err)
					}
					if err := readOne(src, sp); err != nil && !errors.Is(err, shardify.ErrUnsupported) && (sp.Run == 0 || o != nil) {
						t.Fatalf("planned, then: %v", err)
					}
				}
				src.Close()
			}
		}
	})
}

// TestAFileThatIsCutWhileItIsRead: what is gone is an error.
func TestAFileThatIsCutWhileItIsRead(t *testing.T) {
	whole := random(9, 60000)
	path := readertest.Put(t, "a.tfrecord", string(whole))
	src, err := openFiles(nil, nil, nil, path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	spans := readertest.Spans(t, src, 1<<20)
	if len(spans) < 3 {
		t.Fatalf("%d spans", len(spans))
	}
	r, err := src.Reader(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := func(sp shardify.Span) error {
		mem, err := shardify.NewPool(256<<20).Grant(context.Background(), sp.Bytes)
		if err != nil {
			return err
		}
		defer mem.Release()
		_, err = r.Read(context.Background(), sp, mem)
		return err
	}
	if err := read(spans[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(whole)/2)); err != nil {
		t.Fatal(err)
	}
	if err := read(spans[len(spans)-1]); !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrChanged) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}
