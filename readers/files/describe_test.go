package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/walk"
)

// TestSourceSaysItsRule: each set of names says by which rule they are samples, once.
func TestSourceSaysItsRule(t *testing.T) {
	for _, c := range []struct{ names, stem, want string }{
		{"a.png a.txt", "auto", "up to the first dot (--stem first)"},
		{"a.png a.txt", "last", "up to the last dot (--stem last)"},
		{"a.png a.txt", "number", "without a digit behind it (--stem number)"},
		{"a.1.png a.1.txt a.2.png a.2.txt", "auto", "part of a sample's name"},
	} {
		dir := t.TempDir()
		for _, n := range strings.Fields(c.names) {
			if err := os.WriteFile(filepath.Join(dir, n), []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		table, _, err := walk.Walk(t.Context(), walk.Request{Inputs: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		src, err := open(t.Context(), format.OpenArgs{Table: table, Options: format.Options{optStem: c.stem}})
		if err != nil {
			t.Fatal(err)
		}
		got := src.Describe()
		if n := strings.Count(strings.Join(got, "\n"), "sample"); len(got) != 1 || n != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s, --stem %s: %q", c.names, c.stem, got)
		}
		src.Close()
	}
}
