package labels

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/local"
)

func fileOfCOCO(t *testing.T, name, image, annotation string) string {
	return write(t, name, `{"images":[`+image+`],"annotations":[`+annotation+`],"categories":[{"id":3,"name":"cat"},{"id":9,"name":"dog"}]}`)
}

// TestFilesOfCOCO: the files of splits are one table, and keep their values in a state.
func TestFilesOfCOCO(t *testing.T) {
	one := fileOfCOCO(t, "train.json", `{"id":1,"file_name":"a.jpg"},{"id":2,"file_name":"b.jpg"}`, `{"id":1,"image_id":1,"category_id":9,"bbox":[1,2,3,4]},{"id":2,"image_id":7,"category_id":9,"bbox":[1,2,3,4]}`)
	two := fileOfCOCO(t, "val.json", `{"id":1,"file_name":"c.jpg"}`, `{"id":1,"image_id":1,"category_id":3,"bbox":[1,2,3,5]},{"id":2,"image_id":1,"category_id":3,"bbox":[1,2,3,6]}`)
	text := one + "," + two
	tables, err := Read(t.Context(), local.Files, text, "", nil, 1)
	if err != nil || len(tables) != 1 {
		t.Fatal(tables, err)
	}
	files := []string{"a.jpg", "b.jpg", "c.jpg"}
	names := func(k int, _ By, do func([]byte)) { do([]byte(files[k])) }
	if _, err := JoinAll(tables, 3, names, "fail", nil); err == nil || !strings.Contains(err.Error(), "labels without a sample: 1 (annotation 2 of image 7)") {
		t.Error(err)
	}
	j, err := JoinAll(tables, 3, names, "fill", nil)
	if err != nil || len(j.Left) != 1 || j.Left[0].Count != 1 {
		t.Fatal(j, err)
	}
	var fields []shardify.Field
	for i := range valuesOf(t, j) {
		fields = append(fields, valuesOf(t, j)[i].Field)
	}
	again, rest, err := readState(appendState(nil, valuesOf(t, j), 3), fields, 3)
	if err != nil || len(rest) > 0 {
		t.Fatal(err)
	}
	for _, cols := range [][]shardify.Column{valuesOf(t, j), again} {
		for i := range cols {
			c := &cols[i]
			switch c.Name {
			case "boxes":
				if got := fmt.Sprint(c.Offsets[0], shardify.View[float32](c.Data)) + c.Attrs["boxes"]; got != "[0 1 1 3] [1 2 3 4 1 2 3 5 1 2 3 6]xywh" {
					t.Error(got)
				}
			case "class":
				if got := fmt.Sprint(shardify.View[int64](c.Data), c.Labels()); got != "[1 0 0] [cat dog]" {
					t.Error(got)
				}
			}
		}
	}
	for text, want := range map[string]string{one + " rows=many": "leave out on=", one + " on=id": "leave out on=", one + " types=a:text": "take null-items=fill", one + "," + one: "name"} {
		if _, err := Read(t.Context(), local.Files, text, "", nil, 1); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(want, "leave") && !errors.Is(err, shardify.ErrUsage) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if list, err := Read(t.Context(), local.Files, write(t, "a.json", `[{"f":"a.jpg","x":1},{"f":"b.jpg","x":2}]`), "f", nil, 1); err != nil || list[0].Fields()[0].Name != "x" {
		t.Error("an array:", err)
	}
}
