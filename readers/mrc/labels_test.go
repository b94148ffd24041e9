package mrc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrayfile/arrayfiletest"
	"github.com/shardify/shardify/readers/readertest"
)

// again opens a source by the state and the pages of another one.
func again(t *testing.T, src shardify.Source, a format.OpenArgs) shardify.Source {
	t.Helper()
	var err error
	if a.State, err = src.(format.Stater).State(); err != nil {
		t.Fatal(err)
	}
	a.Page = src.(format.Pager).Page
	out, err := Format.Open(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return out
}

// TestStar: rows of a STAR table go to the sections that they name. The corpus says which are which: 1, 2, 3, 5 and 8 of the
// stack, with these values.
func TestStar(t *testing.T) {
	stack, err := os.ReadFile("testdata/stack.mrcs")
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("testdata/particles.star")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	job := filepath.Join(root, "Extract", "job1")
	if err := os.MkdirAll(job, 0o777); err != nil {
		t.Fatal(err)
	}
	put := func(name string, b []byte) string {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return name
	}
	file := put(filepath.Join(job, "stack.mrcs"), stack)
	for _, text := range []string{string(table), strings.ReplaceAll(string(table), "@stack", "@Extract/job1/stack"), strings.ReplaceAll(strings.ReplaceAll(string(table), "\n00000", "\n"), "@stack", "@job1/stack")} {
		star := put(filepath.Join(root, "particles.star"), []byte(text))
		a := format.OpenArgs{Table: readertest.TableOf(file), Options: format.Options{"labels": star, "missing": "drop"}, Columns: []string{"image", "rlnDefocusU"}, Jobs: 2}
		src, err := Format.Open(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		whole, err := arrayfiletest.Open(Format, nil, nil, file)
		if err != nil {
			t.Fatal(err)
		}
		defer whole.Close()
		all, err := readertest.Load(whole, 1000)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		each := len(all.ByName["image"].Data) / 8
		for _, k := range []int{1, 2, 3, 5, 8} {
			want = append(want, all.ByName["image"].Data[(k-1)*each:k*each]...)
		}
		for _, s := range []shardify.Source{src, again(t, src, a)} {
			for _, target := range []int64{1, 300, 1 << 20} {
				c, err := readertest.Load(s, target)
				if err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprint(shardify.View[float64](c.ByName["rlnDefocusU"].Data)); got != "[10012.5 10025 10037.5 10062.5 10100]" || !bytes.Equal(c.ByName["image"].Data, want) || len(c.ByName) != 2 {
					t.Errorf("%d samples: %s", c.Samples, got)
				}
			}
			if left := fmt.Sprint(s.(format.Reporter).Leftovers()); !strings.Contains(left, "000004@stack") {
				t.Errorf("left out: %s", left)
			}
		}
	}
	star := put(filepath.Join(root, "particles.star"), table)
	if _, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(file), Options: format.Options{"labels": star}}); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "000004@stack") {
		t.Errorf("sections without a row: %v", err)
	}
	filled, err := Format.Open(context.Background(), format.OpenArgs{Table: readertest.TableOf(file), Options: format.Options{"labels": star, "missing": "fill"}})
	if err != nil {
		t.Fatal(err)
	}
	defer filled.Close()
	if c, err := readertest.Load(filled, 1000); err != nil || c.Samples != 8 || fmt.Sprint(c.ByName["rlnClassNumber"].Valid) != "[1 1 1 0 1 0 0 1]" {
		t.Errorf("filled: %v", err)
	}
}
