package pipeline

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
)

// namesIn are the names of the samples in the tars of a folder, in order.
func namesIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	shards, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range shards {
		f, err := os.Open(shard)
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(f); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			dir, base := filepath.Split(h.Name)
			stem, _, _ := strings.Cut(base, ".")
			out = append(out, dir+stem)
		}
		f.Close()
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestSplitsOfLists: names in whatever form find their samples; what is in no list is left out and counted.
func TestSplitsOfLists(t *testing.T) {
	voc := []string{"JPEGImages/1.jpg", "JPEGImages/2.jpg", "JPEGImages/3.jpg", "Annotations/1.xml", "Annotations/2.xml", "Annotations/3.xml"}
	one := []string{"a/1.jpg", "a/2.jpg", "a/3.jpg", "a/1.txt", "a/2.txt", "a/3.txt"}
	deep := []string{"x/images/a/1.jpg", "x/images/b/1.jpg", "x/images/b/2.jpg", "x/labels/a/1.txt", "x/labels/b/1.txt", "x/labels/b/2.txt"}
	for _, c := range []struct {
		name       string
		files      []string
		pair       string
		train, val string
		want       string // train | val
		notes      string // one of them
		err        string
	}{
		{name: "stems", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1\n3\n", val: "2\n", want: "1 3 | 2"},
		{name: "windows", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "\ufeff1\r\n\r\n 3 \r\n", val: `JPEGImages\2.jpg`, want: "1 3 | 2"},
		{name: "classes", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1  1\n3 -1\n", val: "2\t0\n", want: "1 3 | 2", notes: "list of a class"},
		{name: "left out", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1\n", val: "2\n", want: "1 | 2", notes: "1 sample in no list: left out"},
		{name: "no sample", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1\n3\n8\n9\n", val: "2\n", want: "1 3 | 2", notes: "train.txt: 2 of 4 names are of no sample; the first is 8"},
		{name: "again", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1\n3\n1\n", val: "2\n", want: "1 3 | 2", notes: "1 name is once more"},
		{name: "other extension", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1.png\n3.png\n", val: "2.png\n", want: "1 3 | 2"},
		{name: "paths", files: one, train: "a/1.jpg\na/3.jpg\n", val: "a/2.jpg\n", want: "a/1 a/3 | a/2"},
		{name: "paths from elsewhere", files: one, train: "/home/me/data/a/1.jpg\n../data/a/3.jpg\n", val: "./a/2.jpg\n", want: "a/1 a/3 | a/2"},
		{name: "paths above", files: one, train: "root/a/1.jpg\nroot/a/3.jpg\n", val: "root/a/2.jpg\n", want: "a/1 a/3 | a/2"},
		{name: "other folders", files: one, train: "b/1.jpg\n", val: "a/2.jpg\n", err: "no name in it is that of a sample: the first is b/1.jpg, and the first of the inputs a/1.jpg"},
		{name: "deep", files: deep, pair: "image=images,label=labels", train: "images/a/1.jpg\nlabels/b/2.txt\n", val: "x/images/b/1.jpg\n", want: "x/a/1 x/b/2 | x/b/1"},
		{name: "keys", files: deep, pair: "image=images,label=labels", train: "x/a/1\nb/2\n", val: "x/b/1\n", want: "x/a/1 x/b/2 | x/b/1"},
		{name: "ambiguous", files: deep, pair: "image=images,label=labels", train: "1\n", val: "x/b/1\n", err: "the name 1 is that of two samples, x/images/a/1.jpg and x/images/b/1.jpg"},
		{name: "the shorter path", files: []string{"1.jpg", "2.jpg", "b/1.jpg"}, train: "1\n", val: "b/1\n", want: "1 | b/1", notes: "1 sample in no list: left out"},
		{name: "dots", files: []string{"a/v1.5.jpg", "a/v1.6.jpg", "b/v1.5.png", "b/v1.6.png"}, pair: "image=a,mask=b", train: "v1.5\n", val: "v1.6.jpg\n", want: "v1%2E5 | v1%2E6"},
		{name: "two lists", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1\n3\n", val: "2\n3\n", err: "3.xml is in two lists"},
		{name: "empty", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1\n", val: "\n", err: "val.txt: no name in it"},
		{name: "no text", files: voc, pair: "image=JPEGImages,xml=Annotations", train: "1\n", val: "2\n\x00\n", err: "line 2 has a zero byte"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := tree(t, c.files...)
			dir := t.TempDir()
			for name, text := range map[string]string{"train.txt": c.train, "val.txt": c.val} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			s := Settings{Inputs: []string{in}, SplitFrom: "train=@" + dir + "/train.txt,val=@" + dir + "/val.txt", Options: map[string]string{"labels": "none", "keys": "path"}, Sync: "none"}
			if c.pair != "" {
				s.Options["pair"] = c.pair
				delete(s.Options, "labels")
			}
			if c.err != "" {
				s.Output = filepath.Join(dir, "out")
				if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %s", err, c.err)
				}
				return
			}
			s.Output = filepath.Join(dir, "out")
			s.Shuffle = "global"
			if _, err := Convert(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(namesIn(t, s.Output+"/train"), " ") + " | " + strings.Join(namesIn(t, s.Output+"/val"), " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			s.Shuffle = ""
			m, notes := notesOf(t, s)
			if all := strings.Join(notes, "\n"); !strings.Contains(all, c.notes) || c.notes == "" && strings.Contains(all, "list") {
				t.Errorf("notes %s, want %s", all, c.notes)
			}
			left := int64(1)
			if c.notes != "" && strings.HasSuffix(c.notes, "left out") && m.Dropped != left {
				t.Errorf("%d dropped, want %d", m.Dropped, left)
			}
		})
	}
	in := tree(t, voc...)
	for from, want := range map[string]string{
		"train=@nowhere.txt,val=@none.txt": "nowhere.txt",
		"train=@train.txt,val=JPEGImages":  "globs, or lists of names",
	} {
		_, err := Convert(t.Context(), Settings{Inputs: []string{in}, SplitFrom: from, Options: map[string]string{"pair": "image=JPEGImages,xml=Annotations"}, Output: filepath.Join(t.TempDir(), "o"), Sync: "none"})
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, shardify.ErrUsage) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want %s", from, err, want)
		}
	}
}

// TestListsOfManyNames: samples drawn at random are in the splits that their lists say.
func TestListsOfManyNames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var files []string
	want, lists := [3][]string{}, [2]strings.Builder{}
	for i := range 3000 {
		key := fmt.Sprintf("%c/%d", 'a'+r.IntN(3), i/2)
		if i%2 == 1 {
			key = fmt.Sprintf("%c/%d", 'd'+r.IntN(3), i/2) // one stem in two folders
		}
		files = append(files, "images/"+key+".jpg", "masks/"+key+".png")
		k := r.IntN(3)
		want[k] = append(want[k], key)
		if k < 2 {
			fmt.Fprintf(&lists[k], "%s%s%s\n", []string{"", "images/", "/data/set/images/"}[r.IntN(3)], key, []string{"", ".jpg"}[r.IntN(2)])
		}
	}
	in, dir := tree(t, files...), t.TempDir()
	for k, name := range []string{"train.txt", "val.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(lists[k].String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s := Settings{Inputs: []string{in}, SplitFrom: "train=@" + dir + "/train.txt,val=@" + dir + "/val.txt", Options: map[string]string{"pair": "image=images,mask=masks"}, Output: filepath.Join(dir, "out"), Sync: "none", ShardSamples: 100}
	res, err := Convert(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for k, name := range []string{"train", "val"} {
		slices.Sort(want[k])
		if got := namesIn(t, filepath.Join(s.Output, name)); !slices.Equal(got, want[k]) {
			t.Errorf("%s has %d samples, want %d", name, len(got), len(want[k]))
		}
	}
	if res.Manifest.Dropped != int64(len(want[2])) {
		t.Errorf("%d dropped, want %d", res.Manifest.Dropped, len(want[2]))
	}
}
