package pipeline

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packTree writes a zip of the files below a folder, one way or the other by turns, or all one way.
func packTree(t *testing.T, dir, to string, methods ...uint16) {
	t.Helper()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	w, n := zip.NewWriter(f), 0
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, p)
		out, err := w.CreateHeader(&zip.FileHeader{Name: filepath.ToSlash(name), Method: methods[n%len(methods)]})
		if n++; err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err == nil {
			_, err = out.Write(data)
		}
		return err
	})
	if err == nil {
		err = w.Close()
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shards are the bytes of the shards of a set and its splits, by name; not the manifests, which name the inputs.
func shards(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	for name, bytes := range allFiles(t, dir) {
		if base := filepath.Base(name); base != "shardify.json" && base != "index.json" && !strings.HasPrefix(name, ".") {
			out[name] = bytes
		}
	}
	return out
}

// allFiles is the bytes of all files below a folder.
func allFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, p)
		data, err := os.ReadFile(p)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSetOfZipIsThatOfItsTree: a zip gives the shards that the folder gives to which it unpacks.
func TestSetOfZipIsThatOfItsTree(t *testing.T) {
	root := t.TempDir()
	put := func(name, text string) {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	labels := "file_name,score\n"
	for i := range 40 {
		split, class := []string{"train", "val"}[i/30], []string{"cat", "dog", "é"}[i%3]
		name := fmt.Sprintf("%s/%s/%03d", split, class, i)
		put("classes/"+name+".jpg", strings.Repeat("\xff\xd8"+name, i))
		put("pairs/images/"+name+".jpg", "\xff\xd8"+name)
		put("pairs/masks/"+name+".png", "\x89PNG\r\n\x1a\n"+name)
		put("labels/"+fmt.Sprintf("%03d.jpg", i), "\xff\xd8"+name)
		labels += fmt.Sprintf("%03d.jpg,%d\n", i, i)
	}
	put("labels/metadata.csv", labels)
	for _, c := range []struct {
		name    string
		options map[string]string
		more    func(s *Settings)
	}{
		{"classes", nil, func(*Settings) {}},
		{"classes", map[string]string{"labels": "folder"}, func(s *Settings) { s.Shuffle = "global" }},
		{"pairs", map[string]string{"pair": "image=images,mask=masks"}, func(*Settings) {}},
		{"labels", nil, func(*Settings) {}},
	} {
		dir := filepath.Join(root, c.name)
		set := func(in string) (map[string]string, int64) {
			s := Settings{Inputs: []string{in}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Options: c.options, ShardSamples: 7}
			c.more(&s)
			r, err := Convert(t.Context(), s)
			if err != nil {
				t.Fatalf("%s %v: %v", in, c.options, err)
			}
			return shards(t, s.Output), r.Manifest.Samples
		}
		want, n := set(dir)
		if len(want) == 0 {
			t.Fatal("no shards")
		}
		for _, methods := range [][]uint16{{zip.Store}, {zip.Deflate}, {zip.Store, zip.Deflate}} {
			archive := filepath.Join(root, c.name+".zip")
			packTree(t, dir, archive, methods...)
			if got, m := set(archive); n != m || !maps.Equal(want, got) {
				t.Errorf("%s, methods %v: %d samples of %d, and %d files of %d", c.name, methods, m, n, len(got), len(want))
			}
		}
	}
}
