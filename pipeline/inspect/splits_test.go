package inspect

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
