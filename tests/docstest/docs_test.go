package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/programs"
)

// pages are run in this order, in one folder: later ones use what earlier ones
// made. docs/tutorials/recipe-hep.md has a test of its own.
var pages = []string{
	"README.md", "docs/formats/inputs.md", "docs/tutorials/prepare.md", "docs/guides/reading.md", "docs/tutorials/quickstart.md", "docs/guides/inspect.md", "docs/guides/versions.md", "docs/guides/layouts.md", "docs/guides/your-layout.md", "docs/guides/volumes.md", "docs/guides/from-webdataset.md", "docs/guides/from-numpy.md", "docs/formats/hdf5.md", "docs/formats/zarr.md", "docs/formats/root.md", "docs/formats/parquet.md", "docs/formats/tables.md", "docs/guides/shape.md", "docs/guides/shuffle-and-split.md", "docs/guides/augment.md", "docs/guides/reshard.md",
	"docs/guides/from-pytorch.md", "docs/guides/from-mosaicml.md", "docs/guides/ddp.md", "docs/guides/bench.md", "docs/guides/stage.md", "docs/guides/sizes-and-quotas.md", "docs/guides/job-failed.md", "docs/guides/troubleshooting.md", "docs/design/decisions.md",
	"docs/tutorials/recipe-calorimeter.md",
}

type block struct {
	lang, text string
	line       int
}

func blocks(t *testing.T, page string) (out []block) {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var cur *block
	for i, line := range strings.Split(string(b), "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && cur != nil:
			out, cur = append(out, *cur), nil
		case fence:
			cur = &block{lang: lang, line: i + 1}
		case cur != nil:
			cur.text += line + "\n"
		}
	}
	return out
}

// notRun says why a block is left out; "" means it runs. library is the file behind
// shardify.Loader.
func notRun(b block, python, library string) string {
	switch {
	case b.lang != "sh" && b.lang != "python":
		return "is not a program"
	case strings.Contains(b.text, "#SBATCH"):
		return "needs Slurm"
	case strings.Contains(b.text, "tar -xzf"):
		return "installs a release"
	case b.lang == "sh" && (strings.Contains(b.text, "make ") || strings.Contains(b.text, "pip install")):
		return "is a command of the source tree"
	case b.lang == "python" && python == "":
		return "python3 with numpy is not here"
	case b.lang == "python" && library == "" && (strings.Contains(b.text, "shardify.Loader") || strings.Contains(b.text, "shardify.convert")):
		return "shardify.Loader's library could not be built: it needs a C compiler"
	case b.lang == "python":
		for _, m := range []string{"torch", "webdataset", "torchvision", "PIL", "scipy", "torchvision.transforms.v2", "jax", "dm_pix", "datasets", "pyarrow", "polars", "grain", "tensorflow", "tensorflow_datasets", "array_record"} {
			if strings.Contains(b.text, "import "+m) || strings.Contains(b.text, ", "+m) || strings.Contains(b.text, "from "+m) {
				if !has(python, m) {
					return "the Python module " + m + " is not here"
				}
			}
		}
	}
	return ""
}

// has reports whether Python finds a module. It does not import it: that of torch takes seconds.
func has(python, module string) bool {
	return exec.Command(python, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('"+module+"'))").Run() == nil
}

// buildLibrary makes what shardify.Loader is a wrapper of; "" without a C compiler.
func buildLibrary(root, folder string) string {
	library := filepath.Join(folder, "_shardify.so")
	cmd := exec.Command("sh", "python/pylib.sh", library)
	cmd.Dir = root
	if cmd.Run() != nil {
		return ""
	}
	return library
}

// findPython prefers the virtual environment that the Python tests use.
func findPython(root string) string {
	for _, p := range []string{os.Getenv("SHARDIFY_PYTHON"), filepath.Join(root, "build/venv/bin/python"), "python3"} {
		if p != "" && exec.Command(p, "-c", "import numpy").Run() == nil {
			return p
		}
	}
	return ""
}

func TestDocumentedCommandsRunAsTyped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages are written for sh")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	bin := filepath.Join(work, "bin")
	command := func(dir, name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PYTHONPATH="+filepath.Join(root, "python"), "SHARDIFY_LIBRARY="+filepath.Join(bin, "_shardify.so"))
		return cmd
	}
	must := func(cmd *exec.Cmd) {
		t.Helper()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	// As a wheel installs it: without the program verify.
	if err := programs.Build(root, bin, []string{"CGO_ENABLED=0"}, "./cmd/shardify"); err != nil {
		t.Fatal(err)
	}
	demo := filepath.Join(work, "build/demo")
	must(command(root, "go", "run", "./testdata/demo", "testdata/demo/digits.npz", filepath.Join(demo, "digits")))
	give := func(from, to string) {
		b, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "examples"), filepath.Join(work, "examples")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(work, "photos"), os.DirFS(filepath.Join(demo, "digits"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"digits.npz", "digits.h5", "digits.zarr.zip", "digits.parquet", "digits.csv", "digits.jsonl", "digits.feather", "digits.db", "digits.txt", "calo.hdf5", "HZZ.root"} {
		give("testdata/demo/"+name, filepath.Join(demo, name))
	}
	give("readers/hdf5/testdata/anndata.h5ad", filepath.Join(work, "cells.h5ad"))
	give("readers/hdf5/testdata/lists.h5", filepath.Join(work, "events.h5"))
	give("readers/hdf5/testdata/items.h5", filepath.Join(work, "images.h5"))
	give("readers/hdf5/testdata/splits_names.h5", filepath.Join(work, "mnist.h5"))
	python, library := findPython(root), buildLibrary(root, bin)
	if python != "" { // as it is called in the environments that people activate
		link := "#!/bin/sh\nexec '" + python + "' \"$@\"\n"
		if err := os.WriteFile(filepath.Join(bin, "python"), []byte(link), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	ran := 0
	var script block
	for _, page := range pages {
		if python == "" && (page == "docs/guides/reshard.md" || page == "docs/guides/your-layout.md" || page == "docs/guides/from-numpy.md") {
			t.Logf("skipped: %s makes its inputs with Python or numpy, which is not here", page)
			continue
		}
		for _, b := range blocks(t, filepath.Join(root, page)) {
			if line, rest, _ := strings.Cut(b.text, "\n"); b.lang == "python" && strings.HasPrefix(line, "# ") && strings.HasSuffix(line, ".py") {
				if err := os.WriteFile(filepath.Join(work, line[2:]), []byte(rest), 0o666); err != nil {
					t.Fatal(err)
				}
				script = b // the next block runs it
				continue
			}
			why := notRun(b, python, library)
			if python == "" && strings.Contains(b.text, " layouts/") {
				why = "has inputs of docs/guides/your-layout.md, which Python makes"
			}
			if strings.Contains("\n"+b.text, "\npython ") {
				if cannot := notRun(script, python, library); cannot != "" {
					t.Logf("not all run: %s:%d %s", page, b.line, cannot)
					b.text = b.text[:strings.Index("\n"+b.text, "\npython ")]
				}
			}
			if why != "" {
				t.Logf("skipped: %s:%d %s", page, b.line, why)
				continue
			}
			cmd := command(work, "sh", "-e", "-c", b.text)
			if b.lang == "python" {
				cmd = command(work, python, "-c", b.text)
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s:%d: %v\n%s\n%s", page, b.line, err, b.text, out)
			}
			ran++
		}
	}
	t.Logf("%d blocks run", ran)
	if ran < 8 {
		t.Errorf("only %d blocks were run", ran)
	}
}
