package inspect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/dataset/stats"
)

// TestSplitsStandSideBySide: a page of splits has a section for each field, with the chart of each
// split in the order of the splits, of one kind, and names the splits without samples.
func TestSplitsStandSideBySide(t *testing.T) {
	split := func(name, head string, rows int) SplitReport {
		file := filepath.Join(t.TempDir(), name+".csv")
		text := head + "\n"
		for i := range rows {
			text += strings.Repeat(fmt.Sprintf(",%d", i*i), strings.Count(head, ",")+1)[1:] + "\n"
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return SplitReport{Split: name, Report: statistics(t, file)}
	}
	train, val := split("train", "a", 500), split("val", "a,only", 10)
	if asClasses(&train.Fields[0]) || !asClasses(&val.Fields[0]) {
		t.Fatal("both splits have charts of one kind by themselves")
	}
	var b bytes.Buffer
	if err := SplitsPage("Statistics of set", nil, []SplitReport{train, val}, []string{"test"}).Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	at := -1
	for _, want := range []string{"train, samples", "<dd>500</dd>", "val, samples", "<dd>10</dd>", "test, samples", "<dd>0</dd>", "<h2>Fields</h2>", "train", "val", "<h2>a</h2>", "<h3>train</h3>", "<svg", "<h3>val</h3>", "<svg", "<h2>only</h2>", "<h3>val</h3>"} {
		k := strings.Index(page[at+1:], want)
		if k < 0 {
			t.Fatalf("%q is not behind byte %d of\n%s", want, at, page)
		}
		at += 1 + k
	}
	if i := strings.Index(page, "<h2>only"); strings.Count(page, "<h3>") != 3 || strings.Contains(page[:i], "Classes") {
		t.Errorf("other columns, or charts of two kinds:\n%s", page)
	}
}

// TestSplitsShareAChart: the lines of the splits have the area of the values that they show.
func TestSplitsShareAChart(t *testing.T) {
	field := func(lo, step, above float64, counts ...float64) stats.Field {
		h := &stats.Histogram{Lo: lo, Hi: lo + step*float64(len(counts)), Step: step, Counts: counts, Above: above}
		return stats.Field{Name: "x", Values: &stats.Summary{Histogram: h}}
	}
	all := []SplitReport{{Split: "train"}, {Split: "none"}, {Split: "val"}}
	fields := []stats.Field{field(0, 2, 10, 10, 20, 0), {}, field(-1, 0.5, 0, 1, 1)}
	l := together(fields, all)
	if len(l.Series) != 2 || l.Series[0].Name != "train" || l.Series[1].Name != "val" || l.Series[0].Tone == l.Series[1].Tone {
		t.Fatalf("%+v", l)
	}
	if s := l.Series[0]; !slices.Equal(s.X, []float64{0, 2, 4, 6}) || !slices.Equal(s.Y, []float64{0.125, 0.25, 0}) {
		t.Errorf("train: %v, %v", s.X, s.Y)
	}
	if s := l.Series[1]; !slices.Equal(s.X, []float64{-1, -0.5, 0}) || !slices.Equal(s.Y, []float64{1, 1}) {
		t.Errorf("val: %v, %v", s.X, s.Y)
	}
	for _, whole := range []bool{true, false} {
		for i := range all {
			if all[i].Report = new(stats.Report); fields[i].Name != "" {
				all[i].Fields = fields[i : i+1]
			}
		}
		if !whole {
			all = all[:1]
		}
		var b bytes.Buffer
		if err := SplitsPage("x", nil, all, nil).Write(&b); err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(b.String(), "All splits"); has != whole {
			t.Errorf("a chart of %d splits: %v", len(all), has)
		}
	}
}
