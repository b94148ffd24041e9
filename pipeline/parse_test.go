package pipeline

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestParse: annotation files become lists with one table of classes, the same bytes by any number of jobs and by tasks.
// A damaged file is an error with its line, or left out.
func TestParse(t *testing.T) {
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
	names := []string{"dog", "cat", "bird"}
	for i := range 30 {
		split := []string{"train", "val"}[i/20]
		key := fmt.Sprintf("%s/%d", split, i)
		put("voc/JPEGImages/"+key+".jpg", "jpg"+key)
		put("voc/Annotations/"+key+".xml", "<annotation><object><name>"+names[i/12]+"</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox></object></annotation>")
		put("yolo/images/"+key+".jpg", "jpg"+key)
		if i%5 > 0 {
			put("yolo/labels/"+key+".txt", strings.Repeat("1 .5 .5 .25 .25\n", i%5))
		}
	}
	put("yolo/data.yaml", "names: {0: a, 1: b}")
	for _, c := range []struct {
		name, pair, missing, parse, where string
		labels                            string
	}{
		{"voc", "image=JPEGImages,label=Annotations", "fail", "label=voc", `any(label_class != "cat")`, "bird cat dog"},
		{"yolo", "image=images,label=labels", "fill", "label=yolo names=" + filepath.Join(root, "yolo/data.yaml"), "len(label_class) < 4", "a b"},
	} {
		settings := func(jobs int) Settings {
			return Settings{Inputs: []string{filepath.Join(root, c.name)}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Jobs: jobs, ShardSamples: 7, Format: "mmap",
				Options: map[string]string{"pair": c.pair, "missing": c.missing}, Parse: []string{c.parse}, Where: []string{c.where}}
		}
		sets := func(s Settings) map[string]string {
			out := map[string]string{}
			for _, split := range []string{"train", "val"} {
				maps.Copy(out, prefixed(split, files(t, filepath.Join(s.Output, split))))
			}
			return out
		}
		var want map[string]string
		for _, jobs := range []int{1, 3} {
			s := settings(jobs)
			if _, err := Convert(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			if got := sets(s); want != nil && !maps.Equal(want, got) {
				t.Errorf("%s: the bytes depend on the number of jobs", c.name)
			} else {
				want = got
			}
			for _, split := range []string{"train", "val"} {
				m, _ := manifestOf(t, filepath.Join(s.Output, split))
				for _, f := range m.Schema {
					if f.Name == "label_class" && strings.Join(f.Labels(), " ") != c.labels {
						t.Errorf("%s, %s: classes %q", c.name, split, f.Labels())
					}
				}
			}
		}
		s := settings(1)
		p, err := Plan(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
		if err := os.Rename(filepath.Join(root, "yolo/data.yaml"), filepath.Join(root, "moved.yaml")); err != nil && c.name == "yolo" {
			t.Fatal(err)
		}
		for i := range 3 {
			if _, err := Work(t.Context(), s.Output, Task{Task: i, Tasks: 3}, Settings{Jobs: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Merge(t.Context(), s.Output, Settings{}); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(root, "moved.yaml"), filepath.Join(root, "yolo/data.yaml")); err != nil && c.name == "yolo" {
			t.Fatal(err)
		}
		if got := sets(s); !maps.Equal(want, got) {
			t.Errorf("%s: tasks make other bytes", c.name)
		}
	}
	put("voc/Annotations/val/25.xml", "<annotation>\n<object>")
	s := Settings{Inputs: []string{filepath.Join(root, "voc")}, Output: filepath.Join(t.TempDir(), "out"), Sync: "none", Options: map[string]string{"pair": "image=JPEGImages,label=Annotations"}, Parse: []string{"label=voc"}}
	if _, err := Convert(t.Context(), s); err == nil || !strings.Contains(err.Error(), "parse val/25 label sample 0: line 2: XML: unexpected EOF") {
		t.Errorf("a file that is cut: %v", err)
	}
	s.OnError, s.Fresh = "skip", true
	r, err := Convert(t.Context(), s)
	if r == nil || r.Manifest.Samples != 29 {
		t.Errorf("%+v, %v", r, err)
	}
}
