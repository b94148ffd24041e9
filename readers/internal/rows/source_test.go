package rows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/readertest"
	"github.com/shardify/shardify/storage/local"
	_ "github.com/shardify/shardify/tests/race"
)

// writeFile makes a file of the example's format. Values count up from first; the
// list of sample i of a jagged field has i%4 values. It returns the size.
func writeFile(path string, h header, first int) int64 {
	var body bytes.Buffer
	for _, f := range h.Fields {
		h.At = append(h.At, int64(body.Len()))
		n := int(h.Samples)
		if f.Levels > 0 {
			ends := make([]int64, n)
			n = 0
			for i := range ends {
				n += i % 4
				ends[i] = int64(n)
			}
			body.Write(shardify.Bytes(ends))
		}
		before := body.Len()
		for i := range n * f.Elem() {
			body.Write(value(f.DType, first+i))
		}
		h.Bytes = append(h.Bytes, int64(body.Len()-before))
	}
	line, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	all := append(append(line, '\n'), body.Bytes()...)
	if err := os.WriteFile(path, all, 0o666); err != nil {
		panic(err)
	}
	return int64(len(all))
}

// value is a number in any type, modulo what fits all of them.
func value(d shardify.DType, i int) []byte {
	i %= 100
	switch d {
	case shardify.F32:
		return shardify.Bytes([]float32{float32(i)})
	case shardify.F64:
		return shardify.Bytes([]float64{float64(i)})
	}
	b := make([]byte, d.Size())
	b[0] = byte(i)
	return b
}

// folder writes files of the example's format.
func folder(t testing.TB, files ...header) *format.Table {
	t.Helper()
	table := &format.Table{Roots: []string{t.TempDir()}}
	for i, h := range files {
		name := fmt.Sprintf("f%d", i)
		table.Append(0, name, writeFile(filepath.Join(table.Roots[0], name), h, 1+17*i), 0)
	}
	return table
}

func fields(all ...shardify.Field) []shardify.Field { return all }

var (
	x32  = shardify.Field{Name: "x", DType: shardify.F32, Shape: []int{3}}
	x64  = shardify.Field{Name: "x", DType: shardify.F64, Shape: []int{3}}
	y8   = shardify.Field{Name: "y", DType: shardify.U8}
	y16  = shardify.Field{Name: "y", DType: shardify.I16}
	jet  = shardify.Field{Name: "jet", DType: shardify.I32, Levels: 1, Counter: "n"}
	jet2 = shardify.Field{Name: "jet2", DType: shardify.F32, Shape: []int{2}, Levels: 1, Counter: "n"}
	text = shardify.Field{Name: "text", DType: shardify.U8, Levels: 1, Media: "bin"}
)

// images of any shape in one file.
var (
	images = shardify.Field{Name: "image", DType: shardify.U8, Levels: 1, Ragged: true}
	shapes = shardify.Field{Name: "image.shape", DType: shardify.I64, Shape: []int{2}}
)

func image(dims ...int) shardify.Field {
	return shardify.Field{Name: "image", DType: shardify.U16, Shape: dims}
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name    string
		missing survey.Missing
		format  survey.Format
		files   []header
	}{
		{"equal", survey.Fail, survey.Format{}, []header{
			{40, 7, fields(x32, y8, jet, jet2), nil, nil}, {1, 7, fields(x32, y8, jet, jet2), nil, nil}, {77, 5, fields(x32, y8, jet, jet2), nil, nil}}},
		{"other order, widened, one empty", survey.Fail, survey.Format{}, []header{
			{40, 7, fields(x32, y8, jet, text), nil, nil}, {0, 0, fields(y8), nil, nil}, {50, 9, fields(text, y16, jet, x64), nil, nil}}},
		{"filled", survey.Fill, survey.Format{}, []header{
			{40, 7, fields(x32, jet, jet2), nil, nil}, {30, 0, fields(y8, text), nil, nil}, {50, 9, fields(text, y16, jet2, x64), nil, nil}}},
		{"intersected", survey.Intersect, survey.Format{}, []header{
			{40, 7, fields(x32, jet, y8), nil, nil}, {50, 9, fields(text, y16, jet, x64), nil, nil}}},
		{"ragged", survey.Fill, survey.Format{Ragged: true}, []header{
			{4, 1, fields(image(2, 3), y8, x32), nil, nil}, {7, 2, fields(y8, images, x64, shapes), nil, nil}, {5, 1, fields(x32, y8, image(1, 5)), nil, nil}, {6, 1, fields(y8, x64, image(0, 2)), nil, nil}, {9, 2, fields(x32, y16), nil, nil}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := folder(t, c.files...)
			readertest.Run(t, func(columns []string, state []byte) (shardify.Source, error) {
				return open(context.Background(), format.OpenArgs{
					Table: table, Columns: columns, State: state, Jobs: 3, Options: format.Options{"missing": string(c.missing)},
				}, c.format)
			})
		})
	}
}

// readWhole reads input i in one batch and hands it on.
func readWhole(t *testing.T, src shardify.Source, input uint32, see func(b *shardify.Batch)) {
	t.Helper()
	for _, sp := range readertest.Spans(t, src, 1<<40) {
		if sp.Input == input {
			readertest.Each(t, src, []shardify.Span{sp}, see)
			return
		}
	}
	t.Fatalf("no span of input %d", input)
}

func TestFilledValuesAreMarkedAndEmpty(t *testing.T) {
	table := folder(t, header{4, 1, fields(x32, jet, text, y8), nil, nil}, header{5, 1, fields(y8), nil, nil})
	src, err := open(context.Background(), format.OpenArgs{Table: table, Options: format.Options{"missing": "fill"}}, survey.Format{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	readWhole(t, src, 1, func(b *shardify.Batch) {
		for i, c := range b.Columns[:3] {
			if !slices.Equal(c.Valid, make([]byte, 5)) || !c.Nullable || slices.ContainsFunc(c.Data, func(b byte) bool { return b != 0 }) {
				t.Errorf("%s: valid %v, data %v", c.Name, c.Valid, c.Data)
			}
			if i > 0 && !slices.Equal(c.Offsets[0], make([]int64, 6)) {
				t.Errorf("%s: offsets %v", c.Name, c.Offsets)
			}
		}
		if c := b.Columns[3]; c.Valid != nil || c.Nullable || len(c.Data) != 5 {
			t.Errorf("a field that is there has marks %v", c.Valid)
		}
	})
	readWhole(t, src, 0, func(b *shardify.Batch) {
		if c := b.Columns[0]; c.Valid != nil || !slices.Equal(shardify.View[float32](c.Data)[:3], []float32{1, 2, 3}) {
			t.Errorf("where it is, it is %v with marks %v", c.Data, c.Valid)
		}
	})
}

func TestShapesThatDifferMakeRaggedFields(t *testing.T) {
	files := []header{{1, 1, fields(image(2, 3)), nil, nil}, {1, 1, fields(image(4, 1)), nil, nil}, {1, 1, fields(image(2, 3)), nil, nil}}
	table := folder(t, files...)
	src, err := open(context.Background(), format.OpenArgs{Table: table, Jobs: 1}, survey.Format{Ragged: true})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for i, want := range [][]int64{{2, 3}, {4, 1}, {2, 3}} {
		readWhole(t, src, uint32(i), func(b *shardify.Batch) {
			v := shardify.View[uint16](b.Columns[0].Data)
			if shape := shardify.View[int64](b.Columns[1].Data); !slices.Equal(shape, want) || len(v) != int(want[0]*want[1]) || int(v[0]) != 1+17*i {
				t.Errorf("input %d: %v of shape %v, want %v", i, v, shape, want)
			}
		})
	}
	for i, want := range []int64{12, 8, 12} { // and an offset, and the shape
		if sp := readertest.Spans(t, src, 1)[i]; sp.Bytes != want+8+16 {
			t.Errorf("span of input %d has %d bytes, want %d", i, sp.Bytes, want+8+16)
		}
	}
	// Files that agree keep their shape.
	same, err := open(context.Background(), format.OpenArgs{Table: folder(t, files[0], files[0])}, survey.Format{Ragged: true})
	if err != nil {
		t.Fatal(err)
	}
	defer same.Close()
	if s := same.Schema(); len(s) != 1 || !slices.Equal(s[0].Shape, []int{2, 3}) {
		t.Errorf("schema %+v", s)
	}
	for _, c := range []struct {
		ragged bool
		field  shardify.Field
		want   string
	}{
		{true, image(2), "differs in shape: u16 [2, 3] in 1 input (f0), u16 [2] in 1 input (f1)"},
		{true, image(), "differs in shape: u16 [2, 3]"},
		{true, shardify.Field{Name: "image", DType: shardify.U16, Levels: 1}, "differs in levels: u16 [2, 3] in 1 input (f0), jagged u16 in"},
		{false, image(3, 2), "differs in shape: u16 [2, 3]"},
		{true, images, "ragged field image has no image.shape"},
	} {
		table := folder(t, files[0], header{1, 1, fields(c.field), nil, nil})
		_, err := open(context.Background(), format.OpenArgs{Table: table}, survey.Format{Ragged: c.ragged})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.field, err, c.want)
		}
	}
}

func TestRaggedInAllFilesNeedsNoOption(t *testing.T) {
	h := header{3, 1, fields(images, shapes, y8), nil, nil}
	src, err := open(context.Background(), format.OpenArgs{Table: folder(t, h, h)}, survey.Format{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	readWhole(t, src, 1, func(b *shardify.Batch) {
		if len(b.Columns) != 3 || !slices.Equal(shardify.View[int64](b.Columns[1].Data), []int64{18, 19, 20, 21, 22, 23}) {
			t.Errorf("%+v", b.Columns)
		}
	})
}

func TestAFileThatChangedSinceThePlanIsRefused(t *testing.T) {
	table := folder(t, header{4, 1, fields(y8), nil, nil})
	src, err := open(context.Background(), format.OpenArgs{Table: table}, survey.Format{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	writeFile(table.Path(0), header{5, 1, fields(y8), nil, nil}, 1)
	r, _ := src.Reader(0)
	mem := shardify.NewPool(1 << 20).Overdraft()
	_, err = r.Read(context.Background(), shardify.Span{Hi: 4}, mem)
	if err == nil || !strings.Contains(err.Error(), "open f0: changed since the plan: it has ") {
		t.Errorf("error %v", err)
	}
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	if _, err := rows.OpenFile(context.Background(), local.Files, t.TempDir(), -1); err == nil {
		t.Error("a folder opens")
	}
	if _, err := rows.OpenFile(context.Background(), local.Files, "/dev/zero", -1); err == nil {
		t.Error("a device opens")
	}
}
