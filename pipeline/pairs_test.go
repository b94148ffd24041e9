package pipeline

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/verify"
)

// TestPairsAsProposed: inspect proposes the pairs of each common layout first, and what it proposes
// makes that set, the same bytes by any number of jobs.
func TestPairsAsProposed(t *testing.T) {
	for name, c := range map[string]struct {
		files   []string
		members map[string]string // by split
	}{
		"images and masks": {[]string{"images/a/1.jpg", "images/2.jpg", "masks/a/1.png", "masks/2.png", "README.md"},
			map[string]string{"": "2.image.jpg=images/2.jpg 2.mask.png=masks/2.png a/1.image.jpg=images/a/1.jpg a/1.mask.png=masks/a/1.png"}},
		"a suffix": {[]string{"images/1.jpg", "images/2.jpg", "masks/1_mask.png", "masks/2_mask.png"},
			map[string]string{"": "1.image.jpg=images/1.jpg 1.mask.png=masks/1_mask.png 2.image.jpg=images/2.jpg 2.mask.png=masks/2_mask.png"}},
		"YOLO": {[]string{"data.yaml", "images/train/1.jpg", "images/val/2.jpg", "labels/train/1.txt", "labels/val/2.txt"},
			map[string]string{"train": "train/1.image.jpg=images/train/1.jpg train/1.label.txt=labels/train/1.txt", "val": "val/2.image.jpg=images/val/2.jpg val/2.label.txt=labels/val/2.txt"}},
		"YOLO, splits first": {[]string{"data.yaml", "train/images/1.jpg", "valid/images/2.jpg", "train/labels/1.txt", "valid/labels/2.txt"},
			map[string]string{"train": "train/1.image.jpg=train/images/1.jpg train/1.label.txt=train/labels/1.txt", "valid": "valid/2.image.jpg=valid/images/2.jpg valid/2.label.txt=valid/labels/2.txt"}},
		"KITTI": {[]string{"image_2/0.png", "label_2/0.txt", "velodyne/0.bin", "image_2/1.png", "label_2/1.txt", "velodyne/1.bin"},
			map[string]string{"": "0.image_2.png=image_2/0.png 0.label_2.txt=label_2/0.txt 0.velodyne.bin=velodyne/0.bin 1.image_2.png=image_2/1.png 1.label_2.txt=label_2/1.txt 1.velodyne.bin=velodyne/1.bin"}},
		"nnU-Net": {[]string{"dataset.json", "imagesTr/a_0000.nii.gz", "imagesTr/a_0001.nii.gz", "imagesTs/b_0000.nii.gz", "labelsTr/a.nii.gz"},
			map[string]string{"": "a.image_0000.nii.gz=imagesTr/a_0000.nii.gz a.image_0001.nii.gz=imagesTr/a_0001.nii.gz a.label.nii.gz=labelsTr/a.nii.gz"}},
		"VOC": {[]string{"Annotations/1.xml", "Annotations/2.xml", "ImageSets/Main/train.txt", "JPEGImages/1.jpg", "JPEGImages/2.jpg"},
			map[string]string{"": "1.annotation.xml=Annotations/1.xml 1.image.jpg=JPEGImages/1.jpg 2.annotation.xml=Annotations/2.xml 2.image.jpg=JPEGImages/2.jpg"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, c.files...)
			var volumes []string // and their names
			for _, f := range c.files {
				if strings.HasSuffix(f, ".nii.gz") {
					volumes = append(volumes, oneVoxel(t, root, f), f)
				}
			}
			r, err := InspectRequest(t.Context(), Settings{}, []string{root}, false)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := inspect.Inputs(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			given := rep.Ways[0].Given
			if given["pair"] == "" {
				t.Fatalf("inspect proposes %v", given)
			}
			var before map[string]string
			for _, jobs := range []int{1, 3} {
				s := Settings{Inputs: []string{root}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Options: maps.Clone(given), Jobs: jobs, ShardSize: 1 << 10}
				if _, err := Convert(context.Background(), s); err != nil {
					t.Fatal(err)
				}
				now := map[string]string{}
				for split, want := range c.members {
					maps.Copy(now, prefixed(split, files(t, filepath.Join(s.Output, split))))
					if got := strings.NewReplacer(volumes...).Replace(tarMembers(t, filepath.Join(s.Output, split))); got != want {
						t.Errorf("%d jobs, split %q: %s, want %s", jobs, split, got, want)
					}
				}
				if before != nil && !maps.Equal(now, before) {
					t.Error("the bytes depend on the number of jobs")
				}
				before = now
			}
		})
	}
}

func prefixed(prefix string, m map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		out[prefix+"/"+k] = v
	}
	return out
}

// tarMembers are the members of all tars of a set, sorted.
func tarMembers(t *testing.T, dir string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range list {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for r := tar.NewReader(f); ; {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, h.Name+"="+string(b))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestGlobsOfSplitsAndPairs: a glob that takes a file of a sample takes the sample; files of one sample in
// two splits, and samples of no split, are errors. Further inputs may lack a split.
func TestGlobsOfSplitsAndPairs(t *testing.T) {
	root := tree(t, "README.md", "images/train/a1.jpg", "images/train/a2.jpg", "images/val/b1.jpg", "labels/train/a1.txt", "labels/train/a2.txt", "labels/val/b1.txt")
	for _, c := range []struct{ globs, want string }{
		{"train=train/*,val=val/*", ""},
		{"train=images/train/*,val=images/val/*", ""},
		{"train=labels/train/*,val=images/val/*", ""},
		{"train=a*.jpg,val=b*", ""},
		{"train=images/*/*,val=labels/*/*", "images/train/a1.jpg and labels/train/a1.txt are files of one sample, and in two splits"},
		{"train=a1.*,val=b1.*", "no glob takes 2 inputs, the first is images/train/a2.jpg"},
		{"train=train/*,val=val/*,test=test/*", "no input matches test/*"},
	} {
		s := Settings{Inputs: []string{root}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", SplitFrom: c.globs, Options: map[string]string{"pair": "image=images,label=labels"}}
		_, err := Convert(t.Context(), s)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", c.globs, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.globs, err)
			continue
		}
		m, _ := manifestOf(t, s.Output)
		if m.Splits["train"].Samples != 2 || m.Splits["val"].Samples != 1 {
			t.Errorf("%s: %d and %d samples", c.globs, m.Splits["train"].Samples, m.Splits["val"].Samples)
		}
	}
	s := Settings{Inputs: []string{root}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", SplitFrom: "dirs", Options: map[string]string{"pair": "image=images,label=labels"}}
	if _, err := Convert(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	more := tree(t, "images/train/c.jpg", "labels/train/c.txt")
	if _, err := Extend(t.Context(), s.Output, Settings{Inputs: []string{more}, Sync: "none"}, false); err != nil {
		t.Fatal(err)
	}
	m, _ := manifestOf(t, s.Output)
	if m.Splits["train"].Samples != 3 || m.Splits["val"].Samples != 1 {
		t.Errorf("%d and %d samples", m.Splits["train"].Samples, m.Splits["val"].Samples)
	}
	if v, err := Verify(t.Context(), []string{s.Output}, verify.Options{}, Hooks{}); err != nil || v.Err() != nil {
		t.Error(err, v)
	}
	other := tree(t, "images/test/c.jpg", "labels/test/c.txt")
	if _, err := Extend(t.Context(), s.Output, Settings{Inputs: []string{other}, Dry: true}, false); err == nil || !strings.Contains(err.Error(), "the set has no split test") {
		t.Errorf("a split that the set has not: %v", err)
	}
}

// pack makes a tar of files, which hold their names.
func pack(t *testing.T, name string, files ...string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, n := range files {
		if err := w.WriteHeader(&tar.Header{Name: n, Size: int64(len(n)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPairsOfTarsAsProposed: inspect proposes the pairs of tars that hold parts of the same samples, and what it
// proposes makes the set. Classes in tars are no parts, and neither are tars of other names.
func TestPairsOfTarsAsProposed(t *testing.T) {
	for name, c := range map[string]struct {
		tars []string // with their members
		want string   // "" if there are no pairs
	}{
		"images and masks": {[]string{"images.tar 1.jpg 2.jpg", "masks.tar 1.png 2.png"}, "1.image.jpg=1.jpg 1.mask.png=1.png 2.image.jpg=2.jpg 2.mask.png=2.png"},
		"of one type":      {[]string{"images.tar 1.png", "masks.tar 1.png"}, "1.image.png=1.png 1.mask.png=1.png"},
		"several":          {[]string{"images-0.tar 1.jpg", "images-1.tar 2.jpg", "labels.tar 1.txt 2.txt"}, "1.image.jpg=1.jpg 1.label.txt=1.txt 2.image.jpg=2.jpg 2.label.txt=2.txt"},
		"other stems":      {[]string{"images.tar 1.jpg 2.jpg", "masks.tar 3.png 4.png"}, ""},
		"one is missing":   {[]string{"images.tar 1.jpg 2.jpg", "masks.tar 1.png"}, ""},
		"classes":          {[]string{"cat.tar 1.jpg", "dog.tar 1.jpg"}, ""},
		"shards":           {[]string{"images-0.tar 1.jpg", "images-1.tar 2.jpg"}, ""},
		"splits":           {[]string{"train.tar 1.jpg", "val.tar 1.jpg"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, line := range c.tars {
				words := strings.Fields(line)
				pack(t, filepath.Join(root, words[0]), words[1:]...)
			}
			r, err := InspectRequest(t.Context(), Settings{}, []string{root}, false)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := inspect.Inputs(t.Context(), r)
			given := ""
			if err == nil {
				given = rep.Ways[0].Given["pair"]
			}
			if c.want == "" || given == "" {
				if c.want != given {
					t.Errorf("inspect proposes %q (%v)", given, err)
				}
				return
			}
			s := Settings{Inputs: []string{root}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Options: maps.Clone(rep.Ways[0].Given)}
			if _, err := Convert(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if got := tarMembers(t, s.Output); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestPairsInTars: a pair may be a folder, a tar, or several, and the bytes are those of any number of
// jobs and tasks, and of any memory. Splits and labels go by the names in the tars.
func TestPairsInTars(t *testing.T) {
	root := tree(t, "depth/train/cat/1.npy", "depth/train/dog/2.npy", "depth/val/cat/3.npy")
	pack(t, filepath.Join(root, "images-0.tar"), "train/cat/1.jpg", "val/cat/3.jpg")
	pack(t, filepath.Join(root, "images-1.tar"), "./train/dog/2.jpg")
	pack(t, filepath.Join(root, "masks.tar"), "masks/train/dog/2_m.png", "masks/val/cat/3_m.png", "masks/train/cat/1_m.png", "masks/about.txt")
	table := filepath.Join(root, "rows.csv")
	if err := os.WriteFile(table, []byte("name,color\n1,red\n3,blue\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"train": "train/cat/1.color.txt=red train/cat/1.depth.npy=depth/train/cat/1.npy train/cat/1.image.jpg=train/cat/1.jpg train/cat/1.mask.png=masks/train/cat/1_m.png",
		"val":   "val/cat/3.color.txt=blue val/cat/3.depth.npy=depth/val/cat/3.npy val/cat/3.image.jpg=val/cat/3.jpg val/cat/3.mask.png=masks/val/cat/3_m.png",
	}
	var before map[string]string
	for _, how := range []struct {
		jobs, tasks int
		memory      int64
	}{{1, 0, 0}, {3, 0, 0}, {1, 0, 64 << 20}, {1, 2, 0}} {
		s := Settings{
			Inputs: []string{root}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Jobs: how.jobs, Memory: how.memory, ShardSize: 1 << 10, SplitFrom: "dirs",
			Options: map[string]string{"pair": "image=images-*.tar,mask=masks.tar/masks:_m,depth=depth", "labels": table, "key": "name", "missing": "drop"},
		}
		convertBy(t, s, how.tasks)
		now := map[string]string{}
		for split, members := range want {
			maps.Copy(now, prefixed(split, files(t, filepath.Join(s.Output, split))))
			if got := tarMembers(t, filepath.Join(s.Output, split)); got != members {
				t.Errorf("%+v, split %q: %s, want %s", how, split, got, members)
			}
		}
		if before != nil && !maps.Equal(now, before) {
			t.Errorf("%+v makes other bytes", how)
		}
		before = now
	}
}

// TestTarsThatAreNoFolders: a compressed tar is refused with what helps, and a tar that is itself the
// value of a pair stays one.
func TestTarsThatAreNoFolders(t *testing.T) {
	root := tree(t, "images/1.jpg", "masks.tar.gz")
	at := func(pair string) Settings {
		return Settings{Inputs: []string{root}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Options: map[string]string{"pair": pair}}
	}
	_, err := Convert(t.Context(), at("image=images,mask=masks.tar.gz"))
	if err == nil || !strings.Contains(err.Error(), "compressed tar") {
		t.Errorf("a compressed tar: %v", err)
	}
	root = tree(t, "images/1.jpg", "raw/1.tar")
	s := at("image=images,raw=raw:.tar")
	convertBy(t, s, 0)
	if got := tarMembers(t, s.Output); got != "1.image.jpg=images/1.jpg 1.raw.tar=raw/1.tar" {
		t.Errorf("tars as values: %s", got)
	}
}

// oneVoxel writes a NIfTI-1 file of one u8, and returns its bytes.
func oneVoxel(t *testing.T, root, name string) string {
	t.Helper()
	b := make([]byte, 353)
	for at, v := range map[int]uint16{0: 348, 40: 3, 42: 1, 44: 1, 46: 1, 70: 2, 72: 8} {
		binary.LittleEndian.PutUint16(b[at:], v)
	}
	binary.LittleEndian.PutUint32(b[108:], math.Float32bits(352))
	copy(b[344:], "n+1\x00")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Name = name
	w.Write(b)
	if err := errors.Join(w.Close(), os.WriteFile(filepath.Join(root, name), packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}
