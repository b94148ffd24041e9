package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNumbersForPeopleAreWrittenByOnePiece finds formats of floats in packages that show results.
// internal/printable has the one style; packages that are not listed here write no numbers for people, or
// the values of a sample as they are.
func TestNumbersForPeopleAreWrittenByOnePiece(t *testing.T) {
	float := regexp.MustCompile(`%[-+0-9]*(\.[0-9]*)?[efg]\b|FormatFloat`)
	leftOut := []string{"cmd/internal/trainer/events.go", "pipeline/inspect/sample.go", "pipeline/inspect/page/axis.go", "pipeline/inspect/page/bars.go"}
	for _, name := range []string{"cmd/internal/cli", "pipeline/inspect", "cmd/internal/trainer", "cmd/internal/benchcmd", "pipeline/cluster", "cmd/internal/verifycmd", "pipeline/inspect/page"} {
		files, err := filepath.Glob(filepath.Join("../..", name, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", name, len(files), err)
		}
		for _, path := range files {
			rel := name + "/" + filepath.Base(path)
			if strings.HasSuffix(rel, "_test.go") || strings.Contains(strings.Join(leftOut, " "), rel) {
				continue
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if at := float.Find(b); at != nil {
				t.Errorf("%s formats a number with %s: printable.Value, Percent, Seconds and Fixed do", rel, at)
			}
		}
	}
}
