package docstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBlendTrains runs examples/blend: three corpora, the weights of their tokens, and a loop that
// sees as much of each as they say.
func TestBlendTrains(t *testing.T) {
	root, python, work, run := example(t)
	folder := filepath.Join(root, "examples", "blend")
	run(python, filepath.Join(folder, "make.py"), "blend")
	if out := run("sh", filepath.Join(folder, "convert.sh")); !strings.Contains(out, "sums: 26,597 tokens in 1 pair, 34.7 % of all that is seen (epochs 3)") {
		t.Error(out)
	}
	list, err := os.ReadFile(filepath.Join(work, "blend.txt"))
	if err != nil || strings.Count(string(list), "\n") != 3 {
		t.Fatalf("%q, %v", list, err)
	}
	if _, err := os.Stat("../../python/shardify/_shardify.so"); err != nil {
		t.Skip("shardify.Loader's library is not built: sh python/pylib.sh")
	}
	out := run(python, filepath.Join(folder, "train.py"), "blend.txt", "100")
	for _, want := range []string{"code: 0.137 of the samples, 0.137 asked for", "stories: 0.516 of the samples, 0.516 asked for", "sums: 0.347 of the samples, 0.347 asked for", "100 steps, loss 5.549 to 2.2"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
