package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/internal/programs"
)

// TestPulsesTrain runs docs/recipe-events.md with the files of examples/icecube: on Parquet
// files where pyarrow is there to write them, else on NPZ files.
func TestPulsesTrain(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	python := findPython(root)
	if python == "" {
		t.Skip("python3 with numpy is not here")
	}
	recipe, err := os.ReadFile(filepath.Join(root, "examples/icecube/recipe.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	shown := ""
	for _, b := range blocks(t, filepath.Join(root, "docs/recipe-events.md")) {
		if b.lang == "yaml" {
			shown = b.text
		}
	}
	if shown != string(recipe) {
		t.Error("the recipe of docs/recipe-events.md is not that of examples/icecube")
	}
	work := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(root, "python"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := programs.Build(root, work, []string{"CGO_ENABLED=0"}, "./cmd/shardify"); err != nil {
		t.Fatal(err)
	}
	form := "parquet"
	if !has(python, "pyarrow") {
		form = "npz"
	}
	example := filepath.Join(root, "examples/icecube")
	run(python, filepath.Join(example, "make.py"), "icecube", "--events", "300", "--format", form)
	text := strings.ReplaceAll(shown, ".parquet", "."+form)
	if err := os.WriteFile(filepath.Join(work, "recipe.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out := run("./shardify", "convert", "--recipe", "recipe.yaml")
	for _, want := range []string{"are 300 samples by event_id", "pick pulses: samples cut"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if testing.Short() || !has(python, "torch") {
		t.Skip("without training: it is long, or the Python module torch is not here")
	}
	if _, err := os.Stat(filepath.Join(root, "python/shardify/_shardify.so")); err != nil {
		t.Skip("shardify.Loader's library is not built: sh python/pylib.sh")
	}
	if out := run(python, filepath.Join(example, "train.py"), "icecube-shards", "3"); !strings.Contains(out, "3 steps, loss") {
		t.Error(out)
	}
}
