package jsonl

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/readertest"
)

type record struct {
	ID           int       `json:"id"`
	Image        int       `json:"image_id"`
	Box          []float64 `json:"bbox"`
	Segmentation any       `json:"segmentation"`
	Keypoints    []int     `json:"keypoints"`
	Caption      string    `json:"caption"`
}

// randomCOCO is a file of n annotations; one in four is of a crowd.
func randomCOCO(seed uint64, n int) (string, []record) {
	rng := rand.New(rand.NewPCG(seed, 5))
	var all []record
	for i := range n {
		a := record{ID: 7 * i, Image: rng.IntN(n), Caption: "a \"cat\", [really]"}
		for range 4 {
			a.Box = append(a.Box, float64(rng.IntN(4000))/8)
		}
		for range 51 {
			a.Keypoints = append(a.Keypoints, rng.IntN(640))
		}
		if rng.IntN(4) == 0 {
			a.Segmentation = map[string]any{"counts": []int{1, 2, rng.IntN(100)}[:rng.IntN(4)], "size": []int{480, 640}}
		} else {
			polygons := [][]float64{}
			for range rng.IntN(3) {
				p := []float64{}
				for range 2 * rng.IntN(9) {
					p = append(p, float64(rng.IntN(4000))/8)
				}
				polygons = append(polygons, p)
			}
			a.Segmentation = polygons
		}
		all = append(all, a)
	}
	b, _ := json.Marshal(map[string]any{"info": map[string]any{}, "images": []any{map[string]any{"id": 1, "file_name": "a.jpg"}}, "annotations": all, "categories": []any{map[string]any{"id": 3, "name": "cat", "keypoints": []string{"nose"}}}})
	return string(b), all
}

// TestAnnotationsOfCOCO: boxes, key points, polygons and runs as encoding/json has them.
func TestAnnotationsOfCOCO(t *testing.T) {
	text, all := randomCOCO(1, 3000)
	name := readertest.Put(t, "instances.json", text)
	src, err := openObject("annotations", nil, name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	schema := map[string]string{}
	for _, f := range src.Schema() {
		schema[f.Name] = fmt.Sprint(f.DType, f.Shape, f.Levels, f.Nullable, f.Attrs)
	}
	for name, want := range map[string]string{
		"bbox": "f32[4]0falsemap[boxes:xywh]", "keypoints": "f32[17 3]0falsemap[points:xyv]", "segmentation": "f32[]2truemap[]",
		"segmentation.counts": "i64[]1truemap[]", "segmentation.size": "i64[2]0truemap[]", "caption": "u8[]1falsemap[]",
	} {
		if got := strings.ReplaceAll(schema[name], " ", ""); got != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	k := 0
	readertest.Each(t, src, readertest.Spans(t, src, 1<<14), func(b *shardify.Batch) {
		of := map[string]*shardify.Column{}
		for i := range b.Columns {
			of[b.Columns[i].Name] = &b.Columns[i]
		}
		for i := range b.Samples {
			a := &all[k]
			k++
			if got := shardify.View[float32](of["bbox"].Data)[4*i : 4*i+4]; fmt.Sprint(got) != fmt.Sprint(a.Box) {
				t.Fatalf("box %v, want %v", got, a.Box)
			}
			if got := shardify.View[float32](of["keypoints"].Data)[51*i : 51*i+51]; fmt.Sprint(got) != fmt.Sprint(a.Keypoints) {
				t.Fatalf("key points %v, want %v", got, a.Keypoints)
			}
			seg, counts, size := of["segmentation"], of["segmentation.counts"], of["segmentation.size"]
			runs, crowd := a.Segmentation.(map[string]any)
			if (seg.Valid[i] == 1) == crowd || (counts.Valid[i] == 1) != crowd || (size.Valid[i] == 1) != crowd {
				t.Fatal("valid", i, crowd)
			}
			if crowd {
				got := shardify.View[int64](counts.Data)[counts.Offsets[0][i]:counts.Offsets[0][i+1]]
				if s := shardify.View[int64](size.Data)[2*i : 2*i+2]; fmt.Sprint(got) != fmt.Sprint(runs["counts"]) || s[0] != 480 || s[1] != 640 {
					t.Fatalf("runs %v of %v, want %v", got, s, runs)
				}
				continue
			}
			var got [][]float32
			for p := seg.Offsets[0][i]; p < seg.Offsets[0][i+1]; p++ {
				got = append(got, shardify.View[float32](seg.Data)[seg.Offsets[1][p]:seg.Offsets[1][p+1]])
			}
			if fmt.Sprint(got) != fmt.Sprint(a.Segmentation) {
				t.Fatalf("polygons %v, want %v", got, a.Segmentation)
			}
		}
	})
	for _, field := range []string{"segmentation", "segmentation.counts", "segmentation.size"} { // by itself
		src, err := Format.Open(t.Context(), format.OpenArgs{Table: readertest.TableOf(name), Columns: []string{field}, Options: format.Options{"object": "annotations"}})
		if err != nil {
			t.Fatal(err)
		}
		readertest.ReadAll(t, src, 1<<20)
		src.Close()
	}
	if k != len(all) {
		t.Errorf("%d samples", k)
	}
}

// TestWrongAnnotationsAreNamed: by item, annotation and place.
func TestWrongAnnotationsAreNamed(t *testing.T) {
	for member, want := range map[string]string{
		`"segmentation":[[1,2,3]]`:                   "annotation 9: a polygon of 3 numbers",
		`"bbox":[1,2,3]`:                             "annotation 9: a box of 3 numbers",
		`"keypoints":[1,2]`:                          "annotation 9: key points of 2 numbers",
		`"segmentation":{"counts":[1],"size":[1]}`:   "annotation 9: a size of 1 numbers",
		`"segmentation":"x"`:                         "segmentation is text, a list before",
		`"segments_info":[{"bbox":[1,2]}]`:           "annotation 9: a box of 2 numbers",
		`"bbox":[1,2,3,1e39]`:                        "beyond f32",
		`"segmentation":{"counts":["x"],"size":[1]}`: "a size of 1 numbers",
	} {
		text := `{"images":[],"annotations":[{"id":1,"segmentation":[[1,2]]},{` + member + `,"id":9}]}`
		name := readertest.Put(t, "c.json", text)
		src, err := openObject("annotations", nil, name)
		if err == nil {
			_, err = readAll(src)
			src.Close()
		}
		var e *shardify.Error
		if err == nil || !strings.Contains(err.Error(), want) || !isKind(err) {
			t.Errorf("%s: %v, want %s", member, err, want)
		} else if strings.Contains(want, "annotation") && (!errors.As(err, &e) || e.Offset < 60 || !strings.Contains(err.Error(), "item 2: ")) {
			t.Errorf("%s: %v", member, err)
		}
	}
}

func readAll(src shardify.Source) (any, error) {
	return readertest.Load(src, 1<<20)
}
