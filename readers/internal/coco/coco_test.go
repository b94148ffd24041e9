package coco

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/tests/race"
)

type image struct {
	ID     int    `json:"id"`
	File   string `json:"file_name"`
	Height int    `json:"height"`
}

type annotation struct {
	ID           int       `json:"id"`
	Image        int       `json:"image_id"`
	Category     int       `json:"category_id"`
	Box          []float32 `json:"bbox"`
	Crowd        int       `json:"iscrowd"`
	Segmentation any       `json:"segmentation"`
	Caption      string    `json:"caption"`
}

type category struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

type set struct {
	Images      []image      `json:"images"`
	Annotations []annotation `json:"annotations"`
	Categories  []category   `json:"categories"`
}

// random makes a file: ids in no order, images without annotations, crowds.
func random(seed uint64) (s set) {
	rng := rand.New(rand.NewPCG(seed, 9))
	for _, id := range rng.Perm(1 + rng.IntN(9)) {
		s.Categories = append(s.Categories, category{7 * id, fmt.Sprint("c", id)})
	}
	for _, id := range rng.Perm(1 + rng.IntN(20)) {
		s.Images = append(s.Images, image{11 * id, fmt.Sprintf("%d.jpg", id), 480})
	}
	for id := range rng.IntN(60) {
		a := annotation{ID: 100 + id, Image: s.Images[rng.IntN(len(s.Images))].ID, Category: s.Categories[rng.IntN(len(s.Categories))].ID, Caption: fmt.Sprint("text ", id)}
		for range 4 {
			a.Box = append(a.Box, float32(rng.IntN(999))/4)
		}
		if a.Crowd = rng.IntN(2); a.Crowd > 0 {
			a.Segmentation = map[string]any{"counts": []int{rng.IntN(5), 2, 3}[:1+rng.IntN(3)], "size": []int{480, rng.IntN(999)}}
		} else {
			list := [][]float32{}
			for range rng.IntN(3) {
				list = append(list, []float32{1, 2, 3, 4, 5, float32(rng.IntN(99)), 7, 8}[:2+2*rng.IntN(4)])
			}
			a.Segmentation = list
		}
		s.Annotations = append(s.Annotations, a)
	}
	return s
}

func read(t testing.TB, text []byte) (*Table, error) {
	all, err := Read(context.Background(), local.Files, []string{readertest.Put(t, "instances.json", string(text))}, Options{Jobs: 2})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// lists are the items of row k of a column with lists, as text.
func lists(c *shardify.Column, k int) (out []string) {
	for j := c.Offsets[0][k]; j < c.Offsets[0][k+1]; j++ {
		lo, hi := j*int64(c.Elem()), (j+1)*int64(c.Elem())
		if c.Levels == 2 {
			lo, hi = c.Offsets[1][j], c.Offsets[1][j+1]
		}
		switch c.DType {
		case shardify.U8:
			out = append(out, string(c.Data[lo:hi]))
		case shardify.F32:
			out = append(out, fmt.Sprint(shardify.View[float32](c.Data)[lo:hi]))
		default:
			out = append(out, fmt.Sprint(shardify.View[int64](c.Data)[lo:hi]))
		}
	}
	return out
}

// TestRowsOfImages compares tables with what the file says.
func TestRowsOfImages(t *testing.T) {
	for seed := range uint64(300) {
		s := random(seed)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t, text)
		if len(s.Annotations) == 0 {
			continue // a table of nothing, with columns of no name
		}
		if err != nil {
			t.Fatal(seed, err)
		}
		of := map[string]*shardify.Column{}
		for i := range got.Columns {
			of[got.Columns[i].Name] = &got.Columns[i]
		}
		if err := (&shardify.Batch{Samples: got.Rows, Columns: got.Columns}).Check(); err != nil {
			t.Fatal(err)
		}
		names := of["class"].Labels()
		slices.SortFunc(s.Images, func(a, b image) int { return strings.Compare(a.File, b.File) })
		for k, im := range s.Images {
			want := map[string][]string{}
			n := 0
			for _, a := range s.Annotations {
				if a.Image != im.ID {
					continue
				}
				want["boxes"] = append(want["boxes"], fmt.Sprint(a.Box))
				want["annotation_id"] = append(want["annotation_id"], fmt.Sprint([]int{a.ID}))
				want["category_id"] = append(want["category_id"], fmt.Sprint([]int{a.Category}))
				want["iscrowd"] = append(want["iscrowd"], fmt.Sprint([]int{a.Crowd}))
				want["caption"] = append(want["caption"], a.Caption)
				if runs, ok := a.Segmentation.(map[string]any); ok {
					want["rle"] = append(want["rle"], fmt.Sprint(runs["counts"]))
					want["rle.size"] = append(want["rle.size"], fmt.Sprint(runs["size"]))
					want["rle.of"] = append(want["rle.of"], fmt.Sprint([]int{n}))
				} else {
					for _, p := range a.Segmentation.([][]float32) {
						want["polygons"] = append(want["polygons"], fmt.Sprint(p))
						want["polygons.of"] = append(want["polygons.of"], fmt.Sprint([]int{n}))
					}
				}
				c := lists(of["class"], k)[n]
				if name := names[int(c[1]-'0')]; name != fmt.Sprint("c", a.Category/7) {
					t.Fatalf("%d: class %s of %d", seed, name, a.Category)
				}
				n++
			}
			for name, w := range want {
				if of[name] == nil || strings.Join(lists(of[name], k), ";") != strings.Join(w, ";") {
					t.Fatalf("seed %d, image %d, %s: want %v", seed, k, name, w)
				}
			}
			if len(lists(of["boxes"], k)) != n || id(of["image_id"], k) != int64(im.ID) || id(&got.Names, k) != im.File {
				t.Fatalf("seed %d, image %d", seed, k)
			}
		}
	}
}

// TestWrongFiles: what contradicts itself is named.
func TestWrongFiles(t *testing.T) {
	base := func() set {
		return set{[]image{{1, "a.jpg", 2}, {2, "b.jpg", 2}}, []annotation{{ID: 5, Image: 1, Category: 3, Box: []float32{1, 2, 3, 4}}, {ID: 6, Image: 2, Category: 3, Box: []float32{1, 2, 3, 4}}}, []category{{3, "cat"}}}
	}
	for _, c := range []struct {
		change func(s *set)
		want   string
	}{
		{func(s *set) { s.Images[1].ID = 1 }, "images: items 1 and 2 have the id 1"},
		{func(s *set) { s.Annotations[1].Category = 4 }, "annotation 6: category 4 is not one of the 1 categories"},
		{func(s *set) { s.Categories = append(s.Categories, s.Categories[0]) }, "two have the id 3"},
		{func(s *set) { s.Annotations[1].Segmentation = [][]int{{1, 2, 3}} }, "annotation 6: a polygon of 3 numbers"},
		{func(s *set) { s.Annotations[0].Box = nil }, "boxes"},
	} {
		s := base()
		c.change(&s)
		text, _ := json.Marshal(s)
		if c.want == "boxes" {
			c.want = "bbox of annotation 5 is missing"
		}
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	s := base()
	s.Annotations[1].Image = 9
	text, _ := json.Marshal(s)
	if got, err := read(t, text); err != nil || got.Strays != 1 || got.Stray != "annotation 6 of image 9" {
		t.Error(got, err)
	}
}

// TestFilesAreOneTable: with the classes of both, and no masks of a kind in one of them.
func TestFilesAreOneTable(t *testing.T) {
	a := set{[]image{{1, "a.jpg", 2}}, []annotation{{ID: 5, Image: 1, Category: 3, Box: []float32{1, 2, 3, 4}, Segmentation: [][]int{{1, 2}}}}, []category{{3, "cat"}, {9, "dog"}}}
	b := set{[]image{{1, "b.jpg", 2}}, []annotation{{ID: 5, Image: 1, Category: 9, Box: []float32{1, 2, 3, 5}, Segmentation: map[string]any{"counts": []int{7}, "size": []int{1, 7}}}}, []category{{9, "dog"}, {1, "ant"}}}
	var names []string
	for i, s := range []set{a, b} {
		text, _ := json.Marshal(s)
		names = append(names, readertest.Put(t, fmt.Sprint(i, ".json"), string(text)))
	}
	all, err := Read(t.Context(), local.Files, names, Options{Jobs: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := all[0]
	if err := (&shardify.Batch{Samples: 2, Columns: got.Columns}).Check(); err != nil {
		t.Error(err)
	}
	text := ""
	for k := range 2 {
		for _, name := range []string{"class", "boxes", "polygons", "rle", "rle.size"} {
			text += fmt.Sprint(lists(got.column(name), k))
		}
	}
	if labels := got.column("class").Labels(); fmt.Sprint(labels) != "[ant cat dog]" || text != "[[1]][[1 2 3 4]][[1 2]][][][[2]][[1 2 3 5]][][[7]][[1 7]]" {
		t.Error(labels, text)
	}
	b.Categories[0].Name = "cow"
	other, _ := json.Marshal(b)
	if _, err := Read(t.Context(), local.Files, []string{names[0], readertest.Put(t, "c.json", string(other))}, Options{Jobs: 1}); err == nil || !strings.Contains(err.Error(), `category 9 is "cow", and "dog" in another file`) {
		t.Error(err)
	}
}

// TestAMillionBoxesOfOneImage takes memory and time in proportion.
func TestAMillionBoxesOfOneImage(t *testing.T) {
	race.Sequential(t)
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	var b bytes.Buffer
	b.WriteString(`{"images":[{"id":1,"file_name":"a.jpg"}],"categories":[{"id":1,"name":"x"}],"annotations":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"image_id":1,"category_id":1,"bbox":[%d,2,3,4]}`, i, i)
	}
	b.WriteString("]}")
	got, err := read(t, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Columns {
		if c := &got.Columns[i]; c.Name == "boxes" && (c.Offsets[0][1] != int64(n) || shardify.View[float32](c.Data)[4*n-4] != float32(n-1)) {
			t.Error(c.Offsets)
		}
	}
}

// FuzzRead: errors of a kind, and tables that hold together.
func FuzzRead(f *testing.F) {
	for seed := range uint64(3) {
		text, _ := json.Marshal(random(seed))
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		name := filepath.Join(dir, "a.json")
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, fill := range []bool{false, true} {
			all, err := Read(context.Background(), local.Files, []string{name}, Options{Fill: fill, Jobs: 1})
			switch {
			case err == nil:
				if err := (&shardify.Batch{Samples: all[0].Rows, Columns: all[0].Columns}).Check(); err != nil {
					t.Error(err)
				}
			case !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) && !errors.Is(err, shardify.ErrSchema) && !errors.Is(err, shardify.ErrUsage):
				t.Errorf("error of no kind: %v", err)
			}
		}
	})
}

// panoptic is a file whose annotations have no category of their own, but segments.
const panoptic = `{"info":{},"images":[{"id":2,"file_name":"b.jpg","width":4},{"id":1,"file_name":"a.jpg","width":5}],
"annotations":[
{"image_id":2,"file_name":"b.png","segments_info":[{"id":7,"category_id":3,"area":8,"bbox":[0,1,2,3],"iscrowd":0},{"id":9,"category_id":5,"area":6,"bbox":[4,5,6,7],"iscrowd":1}]},
{"image_id":1,"file_name":"a.png","segments_info":[{"id":4,"category_id":5,"area":2,"bbox":[1,1,1,1],"iscrowd":0}]}],
"categories":[{"id":3,"name":"cat","isthing":1},{"id":5,"name":"sky","isthing":0}]}`

// TestPanoptic: the name of each map joins its image, and what its segments say is left out by name.
func TestPanoptic(t *testing.T) {
	got, err := read(t, []byte(panoptic))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&shardify.Batch{Samples: 2, Columns: got.Columns}).Check(); err != nil {
		t.Error(err)
	}
	text := ""
	for k := range 2 {
		text += fmt.Sprint(id(&got.Names, k), id(got.column("image_id"), k), id(got.column("width"), k), lists(got.column("file_name"), k), ";")
	}
	if text != "a.jpg1 5 [a.png];b.jpg2 4 [b.png];" {
		t.Error(text)
	}
	var left []string
	for _, l := range got.Left {
		left = append(left, l.Name)
	}
	slices.Sort(left)
	if want := "[info segments_info.area segments_info.bbox segments_info.category_id segments_info.id segments_info.iscrowd]"; fmt.Sprint(left) != want {
		t.Error(left)
	}
}

// TestUnknownCategory: the file and the annotation are named, also when nobody wants the class.
func TestUnknownCategory(t *testing.T) {
	name := readertest.Put(t, "instances.json", `{"images":[{"id":1,"file_name":"a.jpg"}],"annotations":[{"id":41,"image_id":1,"category_id":3},{"id":42,"image_id":1,"category_id":8}],"categories":[{"id":3,"name":"cat"}]}`)
	for _, column := range []string{"class", "image_id"} {
		_, err := Read(t.Context(), local.Files, []string{name}, Options{Jobs: 1, Want: func(c string) bool { return c == column }})
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "annotation 42: category 8 is not one of the 1 categories") {
			t.Error(err)
		}
	}
}

// TestWantedColumns are those of a table of all columns, and the others are named.
func TestWantedColumns(t *testing.T) {
	for seed := range uint64(60) {
		s := random(seed)
		if len(s.Annotations) == 0 {
			continue
		}
		text, _ := json.Marshal(s)
		name := readertest.Put(t, "a.json", string(text))
		all, err := Read(t.Context(), local.Files, []string{name}, Options{Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range [][]string{{"boxes", "class"}, {"polygons.of"}, {"rle"}, {"height", "annotation_id"}, {}} {
			some, err := Read(t.Context(), local.Files, []string{name}, Options{Jobs: 1, Want: func(c string) bool { return slices.Contains(want, c) }})
			if err != nil {
				t.Fatal(err)
			}
			names := slices.Clone(some[0].Unread)
			for i := range some[0].Columns {
				c := &some[0].Columns[i]
				names = append(names, c.Name)
				if x := all[0].column(c.Name); !slices.Contains(want, c.Name) || !bytes.Equal(x.Data, c.Data) || fmt.Sprint(x.Field, x.Offsets) != fmt.Sprint(c.Field, c.Offsets) {
					t.Errorf("seed %d: %s", seed, c.Name)
				}
			}
			for i := range all[0].Columns {
				if !slices.Contains(names, all[0].Columns[i].Name) {
					t.Errorf("seed %d, %v: %s is not named", seed, want, all[0].Columns[i].Name)
				}
			}
			if len(names) != len(all[0].Columns) {
				t.Errorf("seed %d: %v", seed, names)
			}
		}
	}
}
