package cli

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// TestAPathThatDoesNotExist: the hint is the command with the name that was meant, or one that lists
// the folder; a file that the command line does not name has no hint.
func TestAPathThatDoesNotExist(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.MkdirAll("my data/photos", 0o755), os.Mkdir("quick-set", 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, hint string }{
		{"convert|my data/photoz|-o|out", "did you mean: shardify convert 'my data/photos' -o out"},
		{"verify|quick-sets", "did you mean: shardify verify quick-set"},
		{"bench|quick-sit/", "did you mean: shardify bench quick-set"},
		{"inspect|nix", "what is there: ls ."},
		{"inspect|my data/nix", "what is there: ls 'my data'"},
		{"inspect|nix/photos", ""},
		{"inspect|quick-set", ""},
		{"bench|quick-set", ""},
	} {
		args := append([]string{"shardify"}, strings.Split(c.args, "|")...)
		path := args[2]
		_, err := os.Stat(path)
		if args[1] == "bench" {
			path = strings.TrimSuffix(path, "/") + "/shardify.json"
			_, err = os.Stat(path)
		}
		if args[1] == "convert" {
			err = shardify.Annotate(errors.Unwrap(err), "list", path, "")
		}
		if path == "quick-set" {
			_, err = os.Stat("quick-set/other")
		}
		var text bytes.Buffer
		(&IO{Err: &text, Args: args}).Report(t.Context(), "shardify", err)
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "hint: ") })
		if got := strings.TrimPrefix(strings.Join(lines, ""), "hint: "); got != c.hint {
			t.Errorf("%s: %q, want %q", c.args, got, c.hint)
		}
	}
}
