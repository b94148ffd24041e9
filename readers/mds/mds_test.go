package mds

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/tests/race"
)

func openSets(columns []string, state []byte, dirs ...string) (shardify.Source, error) {
	table := &format.Table{Roots: dirs}
	for i, d := range dirs {
		st, err := storages.Files.Stat(context.Background(), filepath.Join(d, indexName))
		if err != nil {
			return nil, err
		}
		table.Append(i, indexName, st.Size, 0)
	}
	return Format.Open(context.Background(), format.OpenArgs{Table: table, Columns: columns, State: state, Jobs: 2})
}

func TestConformance(t *testing.T) {
	for _, dirs := range [][]string{{"plain", "plain"}, {"packed"}} {
		t.Run(dirs[0], func(t *testing.T) {
			var names []string
			for _, d := range dirs {
				names = append(names, filepath.Join("testdata", d))
			}
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return openSets(columns, state, names...)
			})
		})
	}
}

// TestValuesAreThoseOfStreaming compares every value with what mosaicml-streaming was given.
func TestValuesAreThoseOfStreaming(t *testing.T) {
	text, err := os.ReadFile("testdata/values.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"plain", "packed"} {
		src, err := openSets(nil, nil, filepath.Join("testdata", dir))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]any{}
		readertest.Each(t, src, readertest.Spans(t, src, 50_000), func(b *shardify.Batch) {
			for k := range b.Columns {
				c := &b.Columns[k]
				if shardify.Companion(src.Schema(), k) {
					continue
				}
				for i := range b.Samples {
					lo, hi := c.Range(i, i+1)
					var v any = hex.EncodeToString(c.Data[lo:hi])
					switch {
					case c.Ragged:
						shape, rank := []any{}, b.Columns[k+1].Elem()
						for j := range rank {
							shape = append(shape, float64(binary.LittleEndian.Uint64(b.Columns[k+1].Data[8*(i*rank+j):])))
						}
						v = map[string]any{"shape": shape, "data": v}
					case c.Levels == 2:
						list := []any{}
						for j := c.Offsets[0][i]; j < c.Offsets[0][i+1]; j++ {
							list = append(list, hex.EncodeToString(c.Data[c.Offsets[1][j]:c.Offsets[1][j+1]]))
						}
						v = list
					case c.Levels == 1 && c.Media == "":
						v = map[string]any{"shape": []any{float64(c.Offsets[0][i+1] - c.Offsets[0][i])}, "data": v}
					case len(c.Shape) > 0:
						shape := []any{}
						for _, d := range c.Shape {
							shape = append(shape, float64(d))
						}
						v = map[string]any{"shape": shape, "data": v}
					}
					got[c.Name] = append(got[c.Name], v)
				}
			}
		})
		src.Close()
		if len(got) != len(want) {
			t.Errorf("%s: %d fields, want %d", dir, len(got), len(want))
		}
		for name := range want {
			if !reflect.DeepEqual(got[name], want[name]) {
				t.Errorf("%s: field %s differs:\n%.300v\n%.300v", dir, name, got[name], want[name])
			}
		}
	}
}

func isKind(err error) bool {
	return errors.Is(err, shardify.ErrCorrupt) || errors.Is(err, shardify.ErrUnsupported) || errors.Is(err, shardify.ErrSchema)
}

// copyOf is a set that may be damaged.
func copyOf(t testing.TB, from string) string {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", from))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDamageIsNamed(t *testing.T) {
	race.Sequential(t)
	read := func(dir string) error {
		_, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return openSets(nil, nil, dir) }, 1<<20, nil)
		return err
	}
	replace := func(dir, name, old, by string) {
		name = filepath.Join(dir, name)
		b, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(b, []byte(old)) {
			t.Fatal(name, old, err)
		}
		if err := os.WriteFile(name, bytes.Replace(b, []byte(old), []byte(by), 1), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, want string
		set        string
		damage     func(dir string)
	}{
		{"compression", "compressed by br", "packed", func(d string) { replace(d, indexName, `"compression": "zstd:3"`, `"compression": "br"`) }},
		{"version", "version 3", "plain", func(d string) { replace(d, indexName, `"version": 2}`, `"version": 3}`) }},
		{"samples", "samples", "plain", func(d string) { replace(d, indexName, `"samples": `, `"samples": 99`) }},
		{"no samples", "3 samples, index.json says 0", "plain", func(d string) { replace(d, indexName, `"samples": 3`, `"samples": 0`) }},
		{"no samples in a packed shard", "3 samples, index.json says 0", "packed", func(d string) { replace(d, indexName, `"samples": 3`, `"samples": 0`) }},
		{"samples null", "it says no number of samples", "plain", func(d string) { replace(d, indexName, `"samples": 3`, `"samples": null`) }},
		{"samples under another name", "it says no number of samples", "plain", func(d string) { replace(d, indexName, `"samples": 3`, `"sample_": 3`) }},
		{"outside", "../", "plain", func(d string) { replace(d, indexName, `"basename": "shard`, `"basename": "../shard`) }},
		{"other columns", "in the first shard", "plain", func(d string) {
			b, _ := os.ReadFile(filepath.Join(d, indexName))
			at := bytes.LastIndex(b, []byte(`"str_int"`))
			copy(b[at:], `"str_xxx"`)
			_ = os.WriteFile(filepath.Join(d, indexName), b, 0o666)
		}},
		{"cut", "the file has", "plain", func(d string) { _ = os.Truncate(filepath.Join(d, "shard.00001.mds"), 100) }},
		{"missing", "shard.00001.mds", "plain", func(d string) { _ = os.Remove(filepath.Join(d, "shard.00001.mds")) }},
		{"zstd", "zstd at byte", "packed", func(d string) { damage(t, d, "shard.00001.mds.zstd", 40) }},
		{"place", "place 0", "plain", func(d string) { damage(t, d, "shard.00001.mds", 5) }},
	} {
		dir := copyOf(t, c.set)
		c.damage(dir)
		if err := read(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func damage(t *testing.T, dir, name string, at int) {
	name = filepath.Join(dir, name)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		b[at+i] = 0xff
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestMergedIndexIsKnown: merge_index of Streaming writes the version first.
func TestMergedIndexIsKnown(t *testing.T) {
	for _, c := range []struct {
		head string
		want bool
	}{
		{`{"shards": [{"column_encodings": ["int"]`, true},
		{`{"version": 2, "shards": [{"column_encodings": ["int"]`, true},
		{`{"shards": [], "version": 2}`, true},
		{`{"version": 2, "shards": []}`, true},
		{`{"version": 2, "chunks": [{"column_encodings": ["int"]`, false},
		{`{"shards": []}`, false},
		{`{"shards": [{"url": "a.tar"`, false},
	} {
		if sniff([]byte(c.head), indexName) != c.want {
			t.Errorf("%s: want %t", c.head, c.want)
		}
	}
}

// TestMutations damages shards and indexes.
func TestMutations(t *testing.T) {
	race.Sequential(t)
	dir := copyOf(t, "plain")
	for _, file := range []string{indexName, "shard.00000.mds"} {
		good, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		heads := 4 + 4*8
		m := readertest.Mutants{Format: "mds", Quick: 300, Seeds: 1, Kind: func(err error) bool { return isKind(err) || errors.Is(err, os.ErrNotExist) }, Make: func(rng *rand.Rand) readertest.Mutant {
			b := bytes.Clone(good)
			for range 1 + rng.IntN(2) {
				at := rng.IntN(len(b))
				if rng.IntN(3) == 0 {
					at = rng.IntN(heads)
				}
				if file == indexName {
					b[at] = `"{}[]:,.-+e0199null `[rng.IntN(20)]
					continue
				}
				v := readertest.Interesting[rng.IntN(len(readertest.Interesting))]
				copy(b[at:], binary.LittleEndian.AppendUint64(nil, v)[:1+rng.IntN(8)])
			}
			return readertest.Mutant{Seed: file, Data: b, Read: func(string) (readertest.Walked, error) {
				if err := os.WriteFile(filepath.Join(dir, file), b, 0o666); err != nil {
					return readertest.Walked{}, err
				}
				w, err := readertest.Walk(func(context.Context) (shardify.Source, error) { return openSets(nil, nil, dir) }, 10_000, nil)
				if file == indexName {
					w.Reached = true // it has no values
				}
				return w, err
			}}
		}}
		t.Run(file, m.Run)
		if err := os.WriteFile(filepath.Join(dir, file), good, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
