package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/tests/race"
)

// expected is what pyarrow reads in a file: testdata/make.py writes it.
type expected struct {
	Rows   int
	Fields map[string]expectedField
	Left   map[string]string
}

type expectedField struct {
	DType   string
	Shape   []int
	Lengths [][]int64
	Values  string // base64
	Valid   []byte // as numbers
}

func (e *expectedField) UnmarshalJSON(b []byte) error {
	var x struct {
		DType   string
		Shape   []int
		Lengths [][]int64
		Values  string
		Valid   []int
	}
	if err := json.Unmarshal(b, &x); err != nil {
		return err
	}
	*e = expectedField{DType: x.DType, Shape: x.Shape, Lengths: x.Lengths, Values: x.Values}
	for _, v := range x.Valid {
		e.Valid = append(e.Valid, byte(v))
	}
	return nil
}

// gathered is a column of a whole file.
type gathered struct {
	field   shardify.Field
	data    []byte
	lengths [][]int64
	valid   []byte
	holes   bool
}

func (g *gathered) add(c *shardify.Column, samples int) {
	g.field = c.Field
	g.data = append(g.data, c.Data...)
	if g.lengths == nil {
		g.lengths = make([][]int64, len(c.Offsets))
	}
	for l, o := range c.Offsets {
		for i := 1; i < len(o); i++ {
			g.lengths[l] = append(g.lengths[l], o[i]-o[i-1])
		}
	}
	for i := range samples {
		v := byte(1)
		if c.Valid != nil {
			v = c.Valid[i]
		}
		g.holes = g.holes || v == 0
		g.valid = append(g.valid, v)
	}
}

func gather1(t *testing.T, src shardify.Source, target int64) map[string]*gathered {
	t.Helper()
	all := map[string]*gathered{}
	err := read(t, src, target, func(b *shardify.Batch) {
		for i := range b.Columns {
			c := &b.Columns[i]
			if all[c.Name] == nil {
				all[c.Name] = &gathered{field: c.Field}
			}
			all[c.Name].add(c, b.Samples)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// differ says in what a column is not the expected one.
func (g *gathered) differ(e *expectedField) error {
	want, err := base64.StdEncoding.DecodeString(e.Values)
	switch {
	case err != nil:
		return err
	case g.field.DType.String() != e.DType:
		return fmt.Errorf("is %s, want %s", g.field.DType, e.DType)
	case !slices.Equal(g.field.Shape, e.Shape):
		return fmt.Errorf("has shape %v, want %v", g.field.Shape, e.Shape)
	case g.field.Levels != len(e.Lengths):
		return fmt.Errorf("has %d levels, want %d", g.field.Levels, len(e.Lengths))
	case g.holes != (e.Valid != nil) || e.Valid != nil && !bytes.Equal(g.valid, e.Valid):
		return fmt.Errorf("valid is %v, want %v", g.valid, e.Valid)
	}
	for l, n := range e.Lengths {
		var have []int64
		if len(g.lengths) > l {
			have = g.lengths[l]
		}
		if !slices.Equal(have, n) {
			return fmt.Errorf("level %d has lengths %v, want %v", l, have, n)
		}
	}
	if !bytes.Equal(g.data, want) {
		return fmt.Errorf("has other values: %x, want %x", g.data[:min(len(g.data), 64)], want[:min(len(want), 64)])
	}
	return nil
}

// TestCorpusEqualsPyarrow reads every file of testdata, and of the folder that
// SHARDIFY_CORPUS_PARQUET names, that has expected values beside it.
func TestCorpusEqualsPyarrow(t *testing.T) {
	race.Sequential(t)
	files, fields := 0, 0
	for _, dir := range []string{"testdata", os.Getenv("SHARDIFY_CORPUS_PARQUET")} {
		names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		for _, name := range names {
			if dir == "" {
				continue
			}
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var want expected
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			files++
			fields += len(want.Fields)
			t.Run(filepath.Base(name), func(t *testing.T) { compare(t, strings.TrimSuffix(name, ".json")+".parquet", &want) })
		}
	}
	t.Logf("%d files, %d fields: no difference", files, fields)
}

func compare(t *testing.T, file string, want *expected) {
	opts := format.Options{}
	if filepath.Base(file) == "holes.parquet" {
		opts["null-items"] = "fill"
	}
	src, err := openFiles(opts, nil, file)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for _, target := range []int64{1 << 40, 3000, 1} {
		got := gather1(t, src, target)
		for name, e := range want.Fields {
			g := got[name]
			if g == nil && want.Rows == 0 && shardify.FieldIndex(src.Schema(), name) >= 0 {
				continue
			}
			if g == nil {
				t.Errorf("no field %s; left out: %v", name, src.(format.Reporter).Leftovers())
				continue
			}
			if err := g.differ(&e); err != nil {
				t.Errorf("spans of %d: field %s %v", target, name, err)
			}
		}
		for name := range got {
			if _, ok := want.Fields[name]; !ok {
				t.Errorf("there is a field %s", name)
			}
		}
		if t.Failed() {
			return
		}
	}
	left := map[string]bool{}
	for _, l := range src.(format.Reporter).Leftovers() {
		left[l.Name] = true
		if _, ok := want.Left[l.Name]; !ok {
			t.Errorf("left out: %+v", l)
		}
	}
	for name := range want.Left {
		if !left[name] {
			t.Errorf("%s is not in the list of left out columns", name)
		}
	}
}
