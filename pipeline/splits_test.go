package pipeline

import (
	"archive/tar"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// tree makes files whose contents are their names.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	for _, n := range names {
		p := filepath.Join(dir, n)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(n), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// notesOf converts and returns the notes of the plan, and the manifest.
func notesOf(t *testing.T, s Settings) (*index.Manifest, []string) {
	t.Helper()
	s.Output, s.Sync = filepath.Join(t.TempDir(), "out"), "none"
	var notes []string
	r, err := Convert(WithHooks(context.Background(), Hooks{Planned: func(p *Prepared) { notes = p.Facts().Notes }}), s)
	if err != nil {
		t.Fatal(err)
	}
	return r.Manifest, notes
}

// classFiles are the members cls of a tar, as any program reads them.
func classFiles(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "shard-000000.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			return strings.Join(out, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".cls") {
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, h.Name+"="+string(b))
		}
	}
}

var imageNet = []string{"train/cat/0.jpg", "train/dog/1.jpg", "val/bird/2.jpg", "val/cat/3.jpg", "val/dog/4.jpg", "README.md"}

// TestFoldersOfSplits: folders named like splits are splits, and a class has one number in
// all of them, whether --split-from says so or not.
func TestFoldersOfSplits(t *testing.T) {
	root := tree(t, imageNet...)
	for _, from := range []string{"", "dirs"} {
		s := Settings{Inputs: []string{root}, SplitFrom: from, Output: filepath.Join(t.TempDir(), "out"), Sync: "none"}
		r, err := Convert(context.Background(), s)
		if err != nil {
			t.Fatal(err)
		}
		if m := r.Manifest; len(m.Splits) != 2 || m.Splits["train"].Samples != 2 || m.Splits["val"].Samples != 3 {
			t.Errorf("--split-from %q: splits %v", from, m.Splits)
		}
		if l := r.Manifest.Schema[shardify.FieldIndex(r.Manifest.Schema, "cls")].Labels(); !slices.Equal(l, []string{"bird", "cat", "dog"}) {
			t.Errorf("--split-from %q: classes %q", from, l)
		}
		for split, want := range map[string]string{"train": "train/cat/0.cls=1 train/dog/1.cls=2", "val": "val/bird/2.cls=0 val/cat/3.cls=1 val/dog/4.cls=2"} {
			if got := classFiles(t, filepath.Join(s.Output, split)); got != want {
				t.Errorf("--split-from %q, %s: %s, want %s", from, split, got, want)
			}
		}
	}
	for name, c := range map[string]struct {
		s      Settings
		splits int
		note   string
	}{
		"found":                     {Settings{Inputs: []string{root}}, 2, "--split-from none"},
		"INPUTs of their own":       {Settings{Inputs: []string{root + "/train", root + "/val"}}, 2, "--split-from none"},
		"none":                      {Settings{Inputs: []string{root}, SplitFrom: "none"}, 0, ""},
		"mixed and shared":          {Settings{Inputs: []string{root}, Split: "a=0.5,b=0.5", SplitFrom: "none"}, 2, ""},
		"one of several":            {Settings{Inputs: []string{root + "/val"}}, 0, "val is one of the splits in"},
		"shared, of one of several": {Settings{Inputs: []string{root + "/val"}, Split: "a=0.5,b=0.5"}, 2, ""},
		"no labels":                 {Settings{Inputs: []string{root}, Options: map[string]string{"labels": "none"}}, 2, "--split-from none"},
		"folders":                   {Settings{Inputs: []string{root}, Options: map[string]string{"labels": "folder"}}, 2, "--split-from none"},
		"without classes":           {Settings{Inputs: []string{tree(t, "train/1.jpg", "test/2.jpg")}}, 2, "--split-from none"},
		"classes called so":         {Settings{Inputs: []string{tree(t, "train/1.jpg", "test/2.jpg")}, Options: map[string]string{"labels": "folder"}}, 0, ""},
		"a class called train":      {Settings{Inputs: []string{tree(t, "train/1.jpg", "bus/2.jpg", "car/3.jpg")}}, 0, ""},
		"other folders":             {Settings{Inputs: []string{tree(t, "fold1/cat/1.jpg", "fold2/dog/2.jpg")}, SplitFrom: "dirs"}, 2, ""},
	} {
		m, notes := notesOf(t, c.s)
		if len(m.Splits) != c.splits || c.note != "" && !strings.Contains(strings.Join(notes, "\n"), c.note) || c.note == "" && len(notes) > 0 {
			t.Errorf("%s: %d splits, notes %q", name, len(m.Splits), notes)
		}
		if name == "other folders" {
			if i := shardify.FieldIndex(m.Schema, "cls"); i < 0 || !slices.Equal(m.Schema[i].Labels(), []string{"cat", "dog"}) {
				t.Errorf("%s: the folders that are splits are classes: %v", name, m.Schema)
			}
		}
	}
	_, err := Convert(context.Background(), Settings{Inputs: []string{root}, Split: "train=0.9,val=0.1", Output: filepath.Join(t.TempDir(), "out"), Sync: "none"})
	if hints := strings.Join(shardify.Hints(err), "\n"); err == nil || !strings.Contains(err.Error(), "train, val are splits already") || !strings.Contains(hints, "--split-from dirs") || !strings.Contains(hints, "--split-from none") {
		t.Errorf("%v\n%s", err, hints)
	}
	_, err = Convert(context.Background(), Settings{Inputs: []string{tree(t, "train/1.jpg", "val/2.jpg", "extra/3.jpg")}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none"})
	if err == nil || !strings.Contains(err.Error(), "some are named like splits") {
		t.Errorf("some folders are splits: %v", err)
	}
}
