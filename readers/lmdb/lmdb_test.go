package lmdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/lmdb/mdb"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

// object is the named database to read where a file has several.
var object = map[string]string{"dupsort.lmdb": "many", "subs.lmdb": "val", "subs_mixed.lmdb": "db1"}

func files(t testing.TB) (all []string) {
	names, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "lmdb"), "*.*db"))
	for _, n := range names {
		if b := filepath.Base(n); b != "pickle.lmdb" && b != "empty.mdb" {
			all = append(all, n)
		}
	}
	atoms, _ := filepath.Glob(filepath.Join(corpus.Dir(t, "atoms"), "*.aselmdb"))
	return append(all, atoms...)
}

func openFile(name string, state []byte, columns []string, o format.Options) (shardify.Source, error) {
	all := format.Options{}
	if db := object[filepath.Base(name)]; db != "" {
		all[optObject] = db
	}
	if strings.HasSuffix(name, ".aselmdb") {
		all[format.NullItems.Name] = "fill"
		if columns == nil {
			columns = []string{"!tags"}
		}
	}
	for k, v := range o {
		all[k] = v
	}
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(name), State: state, Columns: columns, Options: all, Jobs: 2})
}

func TestConformance(t *testing.T) {
	for _, name := range files(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return openFile(name, state, columns, nil)
			})
		})
	}
}

// texts are the values of a field of texts or bytes.
func texts(t testing.TB, src shardify.Source, field string) (all []string) {
	t.Helper()
	defer src.Close()
	readertest.Each(t, src, readertest.Spans(t, src, 1<<10), func(b *shardify.Batch) {
		for i := range b.Columns {
			c := &b.Columns[i]
			for k := 0; c.Name == field && k < b.Samples; k++ {
				if c.Levels > 0 {
					all = append(all, string(c.Data[c.Offsets[0][k]:c.Offsets[0][k+1]]))
				} else {
					n := c.ElemBytes()
					all = append(all, string(c.Data[k*n:(k+1)*n]))
				}
			}
		}
	})
	return all
}

// TestValuesAreThoseOfTheEntries: read as bytes, in the order of the tree, with the keys.
func TestValuesAreThoseOfTheEntries(t *testing.T) {
	for _, name := range files(t) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		db, err := mdb.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		tree := db.Main()
		names, trees, _, err := db.Named(10)
		if err != nil {
			t.Fatal(err)
		}
		for i := range names {
			if len(names) == 1 || names[i] == object[filepath.Base(name)] {
				tree = trees[i]
			}
		}
		want := map[string]int{}
		n := 0
		for c := db.Cursor(tree); c.Next(); {
			v, err := c.Load()
			if err != nil {
				t.Fatal(err)
			}
			if k := string(c.Key); !strings.HasPrefix(k, "__") && k != "length" && k != "nextid" && k != "deleted_ids" && k != "num-samples" {
				want[string(v)]++
				n++
			}
		}
		src, err := openFile(name, nil, []string{"*"}, format.Options{optType: "bytes"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, f := range src.Schema() {
			if f.Media == "bin" {
				src, err := openFile(name, nil, []string{f.Name}, format.Options{optType: "bytes"})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, texts(t, src, f.Name)...)
			}
		}
		src.Close()
		for _, v := range got {
			want[v]--
		}
		for v, k := range want {
			if k != 0 || len(got) != n {
				t.Errorf("%s: %d values of %d; %.40q is there %d times too few", name, len(got), n, v, k)
				break
			}
		}
	}
}

func TestNumericOrderAndTypes(t *testing.T) {
	dir := corpus.Dir(t, "lmdb")
	src, err := openFile(filepath.Join(dir, "floats.lmdb"), nil, nil, format.Options{optType: "f32[2,3]"})
	if err != nil {
		t.Fatal(err)
	}
	if f := src.Schema()[0]; f.DType != shardify.F32 || fmt.Sprint(f.Shape) != "[2 3]" {
		t.Errorf("%+v", f)
	}
	if v := texts(t, src, "value"); len(v) != 12 || fmt.Sprintf("%x", v[2]) != "2b6d8ebe037d1cbff37fcb3f549ad43edcf2c3be705c153e" {
		t.Errorf("sample 2 is not the entry of the key 2: %x", v)
	}
	if _, err := openFile(filepath.Join(dir, "floats.lmdb"), nil, nil, format.Options{optType: "f33"}); !errors.Is(err, shardify.ErrUsage) {
		t.Error(err)
	}
	_, err = openFile(filepath.Join(dir, "pickle.lmdb"), nil, nil, nil)
	if !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "pickle") {
		t.Error(err)
	}
}

func TestNamedDatabasesAreAsked(t *testing.T) {
	for _, name := range []string{"subs.lmdb", "subs_mixed.lmdb"} {
		_, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(filepath.Join(corpus.Dir(t, "lmdb"), name))})
		if a, ok := errors.AsType[*format.Ambiguous](err); !ok || len(a.Ways) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAValueOfAnotherKindIsAnError: one damaged value among the first ones does not make bytes of all; nor does the mark of a
// named database make its record a sample.
func TestAValueOfAnotherKindIsAnError(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "testdata", "mutate", "named.lmdb"))
	if err != nil {
		t.Fatal(err)
	}
	change := func(was, is string) string {
		if bytes.Count(b, []byte(was)) == 0 {
			t.Fatalf("there is no %q", was)
		}
		return readertest.Put(t, "a.lmdb", string(bytes.ReplaceAll(b, []byte(was), []byte(is))))
	}
	json := change(`{"id": 11,`, `["id": 11,`)
	for file, want := range map[string]string{json: `the value of the key "k11" is text, those of most other keys are json`, change("\x02\x00\x04\x00data", "\x00\x00\x04\x00data"): `the key "data" is the record of a named database`} {
		if _, err := openFile(file, nil, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	src, err := openFile(json, nil, nil, format.Options{optType: "bytes"})
	if err != nil {
		t.Fatal(err)
	}
	if v := texts(t, src, "value"); len(v) != 24 || !strings.HasPrefix(strings.Join(v, ""), `{"id": 0`) {
		t.Errorf("%d values: %.100q", len(v), v)
	}
}

// TestAWriterIsFoundOut: a transaction between the plan and a read is an error.
func TestAWriterIsFoundOut(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(corpus.Dir(t, "lmdb"), "padded.lmdb"))
	if err != nil {
		t.Fatal(err)
	}
	name := readertest.Put(t, "a.lmdb", string(b))
	src, err := openFile(name, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	later := bytes.Clone(b)
	at := 144
	if binary.LittleEndian.Uint64(later[4096+144:]) > binary.LittleEndian.Uint64(later[144:]) {
		at += 4096
	}
	later[at] += 2
	if err := os.WriteFile(name, later, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = readertest.Walk(func(context.Context) (shardify.Source, error) { return src, nil }, 1<<10, nil)
	if !errors.Is(err, shardify.ErrChanged) {
		t.Error(err)
	}
}

func isKind(err error) bool {
	for _, k := range []error{shardify.ErrCorrupt, shardify.ErrUnsupported, shardify.ErrSchema, shardify.ErrChanged, shardify.ErrUsage} {
		if errors.Is(err, k) {
			return true
		}
	}
	return false
}

// TestOneDamagedValueMakesNoBytesOfTheOthers: a value that is no atoms, where others are, is an error, or is left out.
func TestOneDamagedValueMakesNoBytesOfTheOthers(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "testdata", "mutate", "atoms.aselmdb"))
	if err != nil {
		t.Fatal(err)
	}
	keys := bytes.ReplaceAll(data, []byte("\x01\x007x\x9c"), []byte("\x01\x00sx\x9c"))
	if src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(readertest.Put(t, "s.aselmdb", string(keys))), Jobs: 1}); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "not all keys are numbers") {
		t.Errorf("a key that is no number: %v %v", src, err)
	}
	packed, refused := []byte{0x78, 0x9c}, 0
	for n := range bytes.Count(data, packed) {
		at := 0
		for range n + 1 {
			at += bytes.Index(data[at:], packed) + len(packed)
		}
		b := bytes.Clone(data)
		b[at+20] ^= 0x10
		name := readertest.Put(t, fmt.Sprintf("%d.aselmdb", n), string(b))
		for _, skip := range []bool{false, true} {
			src, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(name), SkipDamaged: skip, Jobs: 1})
			if errors.Is(err, shardify.ErrCorrupt) {
				refused++
			} else if err != nil {
				t.Errorf("value %d: %v", n, err)
			} else {
				if shardify.FieldIndex(src.Schema(), "value") >= 0 {
					t.Errorf("value %d: fields %v", n, src.Schema())
				}
				src.Close()
			}
		}
	}
	if refused < 8 {
		t.Errorf("%d refused", refused)
	}
}

func walk(name string) (readertest.Walked, error) {
	return readertest.Walk(func(context.Context) (shardify.Source, error) { return openFile(name, nil, nil, nil) }, 1<<12, nil)
}

// TestMutatedFilesGiveErrorsOnly reads damaged files. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	var seeds [][]byte
	for _, name := range files(t) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	m := readertest.Mutants{Format: "lmdb", Quick: 1000, Seeds: len(seeds), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		data := bytes.Clone(seeds[rng.IntN(len(seeds))])
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(data))
			if rng.IntN(2) == 0 { // heads of pages are damaged more often
				at = at&^4095 + rng.IntN(160)
			}
			data[min(at, len(data)-1)] ^= byte(1 + rng.IntN(255))
		}
		return readertest.Mutant{Seed: "a.lmdb", Data: data, Read: walk}
	}}
	m.Run(t)
}

// FuzzFile reads files from the first page to the last value.
func FuzzFile(f *testing.F) {
	for _, name := range files(f) {
		if b, err := os.ReadFile(name); err == nil && len(b) < 20000 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := walk(readertest.Put(t, "f.lmdb", string(data))); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	all := files(f)
	readertest.FuzzState(f, len(all), func(which int, state []byte) (shardify.Source, error) {
		return openFile(all[which], state, nil, nil)
	})
}
