package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/programs"
)

// recipeExample is a part of a page of docs: an example with its recipe, which is on that page,
// too.
func recipeExample(t *testing.T, name, page string) (python, folder, recipe, work string, run func(name string, args ...string) string) {
	root, python, work, run := example(t)
	folder = filepath.Join(root, "examples", name)
	text, err := os.ReadFile(filepath.Join(folder, "recipe.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	recipe = string(text)
	if !slices.ContainsFunc(blocks(t, filepath.Join(root, "docs", page)), func(b block) bool { return b.lang == "yaml" && b.text == recipe }) {
		t.Errorf("the recipe of %s is not in docs/%s", folder, page)
	}
	return python, folder, recipe, work, run
}

// example is what runs commands in a folder with the program.
func example(t *testing.T) (root, python, work string, run func(name string, args ...string) string) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if python = findPython(root); python == "" {
		t.Skip("python3 with numpy is not here")
	}
	work = t.TempDir()
	if err := programs.Build(root, work, []string{"CGO_ENABLED=0"}, "./cmd/shardify"); err != nil {
		t.Fatal(err)
	}
	return root, python, work, func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "PATH="+work+":"+os.Getenv("PATH"), "PYTHONPATH="+filepath.Join(root, "python"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
}

// TestPulsesTrain runs the part about IceCube: on Parquet files where pyarrow is there to write
// them, else on NPZ files.
func TestPulsesTrain(t *testing.T) {
	python, folder, recipe, work, run := recipeExample(t, "icecube", "tutorials/recipe-events.md")
	form := "parquet"
	if !has(python, "pyarrow") {
		form = "npz"
	}
	run(python, filepath.Join(folder, "make.py"), "icecube", "--events", "300", "--format", form)
	text := strings.ReplaceAll(recipe, ".parquet", "."+form)
	if err := os.WriteFile(filepath.Join(work, "recipe.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out := run("./shardify", "convert", "--recipe", "recipe.yaml")
	for _, want := range []string{"are 300 samples by event_id", "pick pulses: samples cut"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if why := untrained(python); why != "" {
		t.Skip(why)
	}
	if out := run(python, filepath.Join(folder, "train.py"), "icecube-shards", "3"); !strings.Contains(out, "3 steps, loss") {
		t.Error(out)
	}
}

// untrained says why no example is trained; "" if it is.
func untrained(python string) string {
	if testing.Short() || !has(python, "torch") {
		return "without training: it is long, or the Python module torch is not here"
	}
	if _, err := os.Stat("../../python/shardify/_shardify.so"); err != nil {
		return "shardify.Loader's library is not built: sh python/pylib.sh"
	}
	return ""
}

// TestTracksAreCounted runs the part about TrackML: what was invented is in the data set.
func TestTracksAreCounted(t *testing.T) {
	python, folder, _, _, run := recipeExample(t, "trackml", "tutorials/recipe-events.md")
	want := run(python, filepath.Join(folder, "make.py"), "trackml", "--events", "5")
	run(python, filepath.Join(folder, "tables.py"), "trackml")
	run("./shardify", "convert", "--recipe", filepath.Join(folder, "recipe.yaml"))
	if have := run(python, filepath.Join(folder, "tracks.py"), "trackml-shards"); have != want {
		t.Errorf("in the data set are %s, invented were %s", have, want)
	}
}
