package docstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardify/shardify/tests/corpus"
	"github.com/shardify/shardify/tests/programs"
)

// TestSignalAndBackgroundTrain runs docs/tutorials/recipe-hep.md on files of the ROOT corpus.
func TestSignalAndBackgroundTrain(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := corpus.Path("root")
	work := t.TempDir()
	for to, from := range map[string]string{"sig/ttbar.root": "nanoAOD_2015_CMS_Open_Data_ttbar.root", "bg/dy.root": "nano_dy.root"} {
		if err := programs.Copy(filepath.Join(folder, "ttree", from), filepath.Join(work, to)); err != nil {
			t.Skipf("a file of the ROOT corpus is not here: %v", err)
		}
	}
	bin := filepath.Join(work, "bin")
	run := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PYTHONPATH="+filepath.Join(root, "python"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if err := programs.Build(root, bin, []string{"CGO_ENABLED=0"}, "./cmd/shardify"); err != nil {
		t.Fatal(err)
	}
	python := findPython(root)
	counted := false
	for _, b := range blocks(t, filepath.Join(root, "docs/tutorials/recipe-hep.md")) {
		switch b.lang {
		case "yaml":
			if err := os.WriteFile(filepath.Join(work, "recipe.yaml"), []byte(b.text), 0o666); err != nil {
				t.Fatal(err)
			}
		case "sh":
			out := run(work, "sh", "-e", "-c", b.text)
			for _, want := range []string{"kept: 165 of 240 samples", "pad jets: elements cut", "where    nJet >= 2", "not kept nJet"} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in\n%s", want, out)
				}
			}
		case "python":
			checkHEP(t, work, python, run)
			counted = true
			if python == "" || !has(python, "torch") {
				t.Log("training skipped: python3 with torch is not here")
				continue
			}
			t.Log(run(work, python, "-c", b.text))
		}
	}
	if !counted {
		t.Error("the page has no training")
	}
}

// checkHEP holds the data set to what numpy makes of the same files by hand.
func checkHEP(t *testing.T, work, python string, run func(dir, name string, args ...string) string) {
	t.Helper()
	if python == "" {
		t.Log("values not checked: python3 with numpy is not here")
		return
	}
	got := run(work, python, "-c", `
import numpy as np, shardify
n = {}
for split in ("train", "val"):
    ds = shardify.open("hep-shards", split=split)
    assert ds.fields == ["event", "jets", "label", "features", "jets_mask"], ds.fields
    for s in ds:
        m = s["jets_mask"]
        k = m.sum()
        assert s["jets"].shape == (8, 4) and m[:k].all() and not m[k:].any() and not s["jets"][k:].any()
        assert (np.diff(s["Jet_pt"][:k]) <= 0).all()
        if k < 8:
            assert np.isclose(s["ht"], s["Jet_pt"].sum()), (s["ht"], s["Jet_pt"].sum())
        assert s["label"] in (0, 1)
        n[split, int(s["label"])] = n.get((split, int(s["label"])), 0) + 1
labels = np.asarray(shardify.open("hep-shards", split="train").column("label"))
assert np.count_nonzero(np.diff(labels)) > 5, labels
print(n)
`)
	t.Log(strings.TrimSpace(got))
}
