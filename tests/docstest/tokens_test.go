package docstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBabyLlamaTrains runs examples/babyllama: a run that goes on from a checkpoint has the losses of
// one that did not stop.
func TestBabyLlamaTrains(t *testing.T) {
	python, folder, recipe, work, run := recipeExample(t, "babyllama", "guides/tokenize.md")
	run(python, filepath.Join(folder, "make.py"), "babyllama")
	if err := os.WriteFile(filepath.Join(work, "recipe.yaml"), []byte(recipe), 0o666); err != nil {
		t.Fatal(err)
	}
	if out := run("./shardify", "convert", "--recipe", "recipe.yaml"); !strings.Contains(out, "sequences text: documents:") {
		t.Error(out)
	}
	if testing.Short() || !has(python, "torch") {
		t.Skip("without training: it is long, or the Python module torch is not here")
	}
	if _, err := os.Stat("../../python/shardify/_shardify.so"); err != nil {
		t.Skip("shardify.Loader's library is not built: sh python/pylib.sh")
	}
	last := func(out string) string {
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[len(lines)-1]
	}
	train := filepath.Join(folder, "train.py")
	want := last(run(python, train, "babyllama-shards", "8"))
	run(python, train, "babyllama-shards", "5", "checkpoint.pt")
	if have := last(run(python, train, "babyllama-shards", "8", "checkpoint.pt")); have != want || !strings.HasPrefix(want, "8 steps, loss 6.2") {
		t.Errorf("resumed: %s, want %s", have, want)
	}
}
