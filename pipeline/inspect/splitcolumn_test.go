package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/readers"
)

// TestColumnsOfSplitNamesAreFacts, if their values are such names.
func TestColumnsOfSplitNamesAreFacts(t *testing.T) {
	for text, want := range map[string]string{
		"x,split\n1,train\n2,val\n3,\n": "field split has names of splits (train, val): --split-from column=split",
		"x,split\n1,train\n2,train\n":   "",
		"x,split\n1,train\n2,cat\n":     "",
		"x,name\n1,train\n2,val\n":      "",
		"x,fold\n1,0\n2,1\n":            "",
	} {
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		f, _ := readers.Lookup("csv")
		rep, err := Inputs(t.Context(), Request{Inputs: []string{path}, Format: f, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(rep.Ways) != 1+len(want[:min(len(want), 1)]) {
			t.Errorf("%q: %d ways", text, len(rep.Ways))
		}
		if facts := strings.Join(rep.Facts, "\n"); want != "" && !strings.Contains(facts, want) || want == "" && strings.Contains(facts, "names of splits") {
			t.Errorf("%q: %s", text, facts)
		}
	}
}
