//go:build linux && amd64

package faulttest

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// layout is an input of several files that make samples together.
type layout struct {
	name, in string
	flags    []string
}

// layouts are images with a table of many rows for each, with a file of COCO, with lists of splits and
// in a zip, and an array of JSON, of n samples each.
func layouts(t *testing.T, n int) []layout {
	t.Helper()
	dir := t.TempDir()
	var packed, rows, train, val bytes.Buffer
	z := zip.NewWriter(&packed)
	rows.WriteString("id,x,kind\n")
	coco := map[string][]map[string]any{"categories": {{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}}}
	var messages []map[string]any
	err := os.Mkdir(filepath.Join(dir, "images"), 0o777)
	put := func(name string, b []byte) {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), b, 0o666))
	}
	for i := range n {
		name, b := fmt.Sprintf("%03d.jpg", i), bytes.Repeat([]byte{byte(i)}, 60+i*7)
		put("images/"+name, b)
		w, e := z.CreateHeader(&zip.FileHeader{Name: fmt.Sprintf("c%d/%s", i%2, name), Method: uint16(i % 2 * 8)})
		if err = errors.Join(err, e); e == nil {
			_, e = w.Write(b)
			err = errors.Join(err, e)
		}
		coco["images"] = append(coco["images"], map[string]any{"id": i, "file_name": name, "width": 9, "height": 8})
		for k := range i % 4 {
			fmt.Fprintf(&rows, "%03d,%d,cat%d\n", i*5%n, i, k)
			coco["annotations"] = append(coco["annotations"], map[string]any{"id": 100*i + k, "image_id": i * 5 % n, "category_id": 1 + k%2*6, "bbox": []int{i, k, 2, 3}, "area": 6, "iscrowd": 0})
		}
		messages = append(messages, map[string]any{"n": i, "text": fmt.Sprint("é", i), "turns": []map[string]any{{"from": "user", "value": name}}})
		if i%3 == 0 {
			fmt.Fprintln(&val, name)
		} else {
			fmt.Fprintf(&train, "images/%s\n", name)
		}
	}
	text := func(v any) []byte {
		b, e := json.Marshal(v)
		err = errors.Join(err, e)
		return b
	}
	put("rows.csv", rows.Bytes())
	put("coco.json", text(coco))
	put("messages.json", text(messages))
	put("train.txt", train.Bytes())
	put("val.txt", val.Bytes())
	err = errors.Join(err, z.Close())
	put("images.zip", packed.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	p := func(name string) string { return filepath.Join(dir, name) }
	return []layout{
		{"many-rows", p("images"), []string{"--labels", "boxes=" + p("rows.csv") + " on=id rows=many", "--missing", "fill"}},
		{"coco", p("images"), []string{"--labels", p("coco.json")}},
		{"json-array", p("messages.json"), nil},
		{"zip", p("images.zip"), nil},
		{"split-lists", p("images"), []string{"--split-from", "train=@" + p("train.txt") + ",val=@" + p("val.txt")}},
	}
}

// TestCrashAtEveryCallOfLabelsAndLayouts is TestCrashAtEveryCall of inputs whose samples come from
// several files. The short form takes every 53rd point.
func TestCrashAtEveryCallOfLabelsAndLayouts(t *testing.T) {
	NeedsTrace(t)
	step, total := 53, 0
	if Long() {
		step = 1
	}
	for i, c := range layouts(t, 12) {
		for k, format := range []string{"wds", "mmap"} {
			if !Long() && (i+k)%2 == 1 {
				continue
			}
			t.Run(c.name+"-"+format, func(t *testing.T) { total += sweep(t, c.in, format, step, c.flags) })
		}
	}
	t.Logf("%d kill points, none torn, all resumed to equal bytes", total)
}

// TestLabelsAndLayoutsMakeTheSameBytes whatever the jobs, the memory and the tasks.
func TestLabelsAndLayoutsMakeTheSameBytes(t *testing.T) {
	for i, c := range layouts(t, 40) {
		t.Run(c.name, func(t *testing.T) {
			var want Files
			same := func(what, out string) {
				t.Helper()
				got, temps := Tree(t, out)
				if want == nil {
					want = got
				}
				if len(got) < 3 || len(temps) > 0 || !maps.Equal(got, want) {
					t.Errorf("%s: %v, want %v; temporary files %v", what, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), temps)
				}
			}
			common := append([]string{"--format", []string{"wds", "mmap"}[i%2], "--shard-samples", "17"}, c.flags...)
			for _, of := range [][2]string{{"1", "64MiB"}, {"4", "64MiB"}, {"4", "2GiB"}} {
				out := filepath.Join(t.TempDir(), "out")
				Must(t, append([]string{"shardify", "convert", c.in, "-o", out, "--quiet", "--jobs", of[0], "--memory", of[1]}, common...)...)
				same("jobs "+of[0]+", memory "+of[1], out)
			}
			for _, tasks := range []int{1, 3} {
				out := filepath.Join(t.TempDir(), "out")
				Must(t, append([]string{"shardify", "plan", c.in, "-o", out}, common...)...)
				for k := tasks - 1; k >= 0; k-- {
					Must(t, "shardify", "work", out, "--task", fmt.Sprint(k), "--tasks", fmt.Sprint(tasks), "--quiet")
				}
				Must(t, "shardify", "merge", out)
				same(fmt.Sprintf("%d tasks", tasks), out)
			}
		})
	}
}
