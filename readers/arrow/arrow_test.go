package arrow

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/race"
)

func openFiles(items string, files ...string) (shardify.Source, error) {
	return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(files...), Options: format.Options{"null-items": items}, Jobs: 2})
}

func testdata(name string) string { return filepath.Join("testdata", name) }

func TestConformance(t *testing.T) {
	for _, files := range [][]string{{"types_uncompressed.feather", "types_lz4.feather"}, {"types_zstd.feather", "stream.arrows"}, {"deltas.arrows"}, {"polars.arrow", "polars.arrow"}} {
		t.Run(files[0], func(t *testing.T) {
			var names []string
			for _, f := range files {
				names = append(names, testdata(f))
			}
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(names...), Columns: columns, State: state, Jobs: 2})
			})
		})
	}
}

// item is a value as make.py writes it.
func item(c *shardify.Column, level int, k int64) any {
	if level < len(c.Offsets) {
		lo, hi := c.Offsets[level][k], c.Offsets[level][k+1]
		if level == len(c.Offsets)-1 && c.Media == "txt" {
			return string(c.Data[lo:hi])
		}
		if level == len(c.Offsets)-1 && c.Media != "" {
			return hex.EncodeToString(c.Data[lo:hi])
		}
		list := []any{}
		for j := lo; j < hi; j++ {
			list = append(list, item(c, level+1, j))
		}
		return list
	}
	size := int64(c.DType.Size())
	one := func(b []byte) any {
		v := int64(0)
		for i := range size {
			v |= int64(b[i]) << (8 * i)
		}
		switch c.DType {
		case shardify.Bool:
			return v == 1
		case shardify.I8, shardify.I16, shardify.I32:
			v = v << (64 - 8*size) >> (64 - 8*size)
		case shardify.U64, shardify.F64:
			return fmt.Sprint(uint64(v))
		}
		return fmt.Sprint(v)
	}
	if len(c.Shape) == 0 {
		return one(c.Data[k*size:])
	}
	list := []any{}
	for j := range int64(c.Elem()) {
		list = append(list, one(c.Data[(k*int64(c.Elem())+j)*size:]))
	}
	return list
}

func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return v
}

// TestEqualsPyarrow compares all values of the files of testdata, which pyarrow and polars wrote.
func TestEqualsPyarrow(t *testing.T) {
	names, _ := filepath.Glob("testdata/*.json")
	fields := 0
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]any{}
		d := json.NewDecoder(bytes.NewReader(b))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		src, err := openFiles("fail", strings.TrimSuffix(name, ".json"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, target := range []int64{1 << 40, 1500, 1} {
			got := map[string][]any{}
			if strings.Contains(name, "blocks") { // too long for a list
				if target == 1<<40 {
					compareBlocks(t, src)
				}
				continue
			}
			readertest.Each(t, src, readertest.Spans(t, src, target), func(b *shardify.Batch) {
				for i := range b.Columns {
					c := &b.Columns[i]
					for k := range b.Samples {
						v := item(c, 0, int64(k))
						if c.Valid != nil && c.Valid[k] == 0 {
							v = nil
						}
						got[c.Name] = append(got[c.Name], v)
					}
				}
			})
			for n, list := range want {
				fields++
				for i := range list {
					if list[i] = numbers(list[i]); i >= len(got[n]) || !reflect.DeepEqual(got[n][i], list[i]) {
						t.Fatalf("%s in spans of %d: %s of row %d: %v, want %v", name, target, n, i, got[n][i:min(i+1, len(got[n]))], list[i])
					}
				}
				delete(got, n)
			}
			for n := range got {
				t.Errorf("%s: there is a field %s", name, n)
			}
		}
		src.Close()
	}
	t.Logf("%d files, %d fields: no difference", len(names), fields)
}

func compareBlocks(t *testing.T, src shardify.Source) {
	readertest.Each(t, src, readertest.Spans(t, src, 1<<40), func(b *shardify.Batch) {
		for k, x := range shardify.View[int64](b.Columns[0].Data) {
			if x != int64(k%5000) || item(&b.Columns[1], 0, int64(k)) != fmt.Sprintf("word %d", k%7) {
				t.Fatalf("row %d is %d %v", k, x, item(&b.Columns[1], 0, int64(k)))
			}
		}
	})
}

// TestCorpus reads the files of the corpus of events, or refuses them.
func TestCorpus(t *testing.T) {
	dir := corpus.Dir(t, "events")
	for name, want := range map[string]string{
		"feather_v1.feather": "Feather of version 1", "ipc_bad_footer.feather": "footer", "ipc_cut.feather": "footer",
		"ipc_lz4.feather": "", "ipc_zstd.feather": "", "ipc_none.feather": "", "ipc_polars_view.arrow": "", "ipc_stream.arrows": "",
	} {
		src, err := openFiles("fill", filepath.Join(dir, name))
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		readertest.ReadAll(t, src, 1)
		src.Close()
	}
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

func walk(name string) (readertest.Walked, error) {
	return readertest.Walk(func(ctx context.Context) (shardify.Source, error) {
		return Format.Open(ctx, format.OpenArgs{Table: readertest.TableOf(name), Options: format.Options{"null-items": "fill"}, Jobs: 1})
	}, 4<<10, nil)
}

// seeds are files of testdata.
func seeds(t testing.TB) (all [][]byte) {
	for _, name := range []string{"types_uncompressed.feather", "types_lz4.feather", "types_zstd.feather", "stream.arrows", "deltas.arrows", "polars.arrow"} {
		b, err := os.ReadFile(testdata(name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// TestMutatedFilesGiveErrorsOnly reads damaged files: no panic, no hang, little memory, and
// errors of a kind. SHARDIFY_MUTATIONS is their number.
func TestMutatedFilesGiveErrorsOnly(t *testing.T) {
	race.Sequential(t)
	all := seeds(t)
	m := readertest.Mutants{Format: "arrow", Quick: 2000, Seeds: len(all), Kind: isKind, Make: func(rng *rand.Rand) readertest.Mutant {
		b := bytes.Clone(all[rng.IntN(len(all))])
		for range 1 + rng.IntN(3)*rng.IntN(2) {
			at := rng.IntN(len(b))
			switch rng.IntN(7) {
			case 0, 1:
				b[at] ^= 1 << rng.IntN(8)
			case 2:
				b[at] = byte(rng.Uint32())
			case 3: // a length
				v := binary.LittleEndian.AppendUint64(nil, readertest.Interesting[rng.IntN(len(readertest.Interesting))])
				copy(b[at&^7:], v[:1<<rng.IntN(4)])
			case 4: // a piece of another file
				o := all[rng.IntN(len(all))]
				k := rng.IntN(len(o))
				copy(b[at:], o[k:min(k+1+rng.IntN(64), len(o))])
			case 5: // one place as another
				k := rng.IntN(len(b))
				copy(b[at:], bytes.Clone(b[k:min(k+1+rng.IntN(64), len(b))]))
			case 6:
				if rng.IntN(12) == 0 {
					b = b[:at+1]
				}
			}
		}
		return readertest.Mutant{Seed: "m.arrow", Data: b, Read: walk}
	}}
	m.Run(t)
}

// FuzzFile reads files from the first byte to the last value.
func FuzzFile(f *testing.F) {
	for _, b := range seeds(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "f.arrow")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := walk(name); err != nil && !isKind(err) {
			t.Errorf("error of no kind: %v", err)
		}
	})
}

// FuzzState opens damaged states beside intact files.
func FuzzState(f *testing.F) {
	table := readertest.TableOf(testdata("types_lz4.feather"), testdata("stream.arrows"))
	readertest.FuzzState(f, 1, func(_ int, state []byte) (shardify.Source, error) {
		return Format.Open(context.Background(), format.OpenArgs{Table: table, State: state})
	})
}
