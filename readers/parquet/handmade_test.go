package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
)

// handmade is a file of one INT32 column as no writer at hand makes it.
type handmade struct {
	schema []format.SchemaElement
	rows   int64
	pages  []madePage
	v2     bool
	// index is written as the offset index: first rows of the pages.
	index []int64
}

type madePage struct {
	rep, def []uint8
	values   []int32
	rows     int32 // of version 2
}

func encodeThrift(t testing.TB, v any) []byte {
	t.Helper()
	b, err := thrift.Marshal(new(thrift.CompactProtocol), v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (h *handmade) write(t testing.TB) string {
	t.Helper()
	b := []byte("PAR1")
	values := int64(0)
	var locations []format.PageLocation
	for i, p := range h.pages {
		head, body := p.encode(t, h.v2)
		if h.index != nil {
			locations = append(locations, format.PageLocation{Offset: int64(len(b)), CompressedPageSize: int32(len(head) + len(body)), FirstRowIndex: h.index[i]})
		}
		b = append(append(b, head...), body...)
		values += int64(len(p.def))
	}
	chunk := format.ColumnChunk{MetaData: format.ColumnMetaData{
		Type: format.Int32, Encoding: []format.Encoding{format.Plain}, PathInSchema: []string{"x"},
		NumValues: values, TotalUncompressedSize: int64(len(b) - 4), TotalCompressedSize: int64(len(b) - 4), DataPageOffset: 4,
	}}
	if h.index != nil {
		chunk.OffsetIndexOffset = int64(len(b))
		b = append(b, encodeThrift(t, &format.OffsetIndex{PageLocations: locations})...)
		chunk.OffsetIndexLength = int32(int64(len(b)) - chunk.OffsetIndexOffset)
	}
	foot := encodeThrift(t, &format.FileMetaData{
		Version: 1, Schema: h.schema, NumRows: h.rows,
		RowGroups: []format.RowGroup{{Columns: []format.ColumnChunk{chunk}, NumRows: h.rows, TotalByteSize: int64(len(b))}},
	})
	b = append(b, foot...)
	b = append(binary.LittleEndian.AppendUint32(b, uint32(len(foot))), "PAR1"...)
	name := filepath.Join(t.TempDir(), "made.parquet")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

func (p *madePage) encode(t testing.TB, v2 bool) (head, body []byte) {
	enc := rle.Encoding{BitWidth: 2}
	var rep, def []byte
	var err error
	if p.rep != nil {
		enc.BitWidth = 1
		if rep, err = enc.EncodeLevels(nil, p.rep); err != nil {
			t.Fatal(err)
		}
		enc.BitWidth = 2
	}
	if def, err = enc.EncodeLevels(nil, p.def); err != nil {
		t.Fatal(err)
	}
	if !v2 && p.rep != nil {
		body = append(binary.LittleEndian.AppendUint32(nil, uint32(len(rep))), rep...)
		body = binary.LittleEndian.AppendUint32(body, uint32(len(def)))
	} else if !v2 {
		body = binary.LittleEndian.AppendUint32(nil, uint32(len(def)))
	} else {
		body = rep
	}
	body = append(body, def...)
	for _, v := range p.values {
		body = binary.LittleEndian.AppendUint32(body, uint32(v))
	}
	h := format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(len(body)), CompressedPageSize: int32(len(body))}
	if v2 {
		h.Type = format.DataPageV2
		h.DataPageHeaderV2 = thrift.New(format.DataPageHeaderV2{NumValues: int32(len(p.def)), NumRows: p.rows, Encoding: format.Plain,
			DefinitionLevelsByteLength: int32(len(def)), RepetitionLevelsByteLength: int32(len(rep)), IsCompressed: thrift.New(false)})
	} else {
		h.DataPageHeader = thrift.New(format.DataPageHeader{NumValues: int32(len(p.def)), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE})
	}
	return encodeThrift(t, &h), body
}

func group(name string, rep format.FieldRepetitionType, children int32) format.SchemaElement {
	return format.SchemaElement{Name: name, RepetitionType: thrift.New(rep), NumChildren: thrift.New(children)}
}

func asList(e format.SchemaElement) format.SchemaElement {
	e.ConvertedType = thrift.New(deprecated.List)
	return e
}

func number(name string, rep format.FieldRepetitionType) format.SchemaElement {
	return format.SchemaElement{Name: name, Type: thrift.New(format.Int32), RepetitionType: thrift.New(rep)}
}

// The highest definition level is 2 in all of these.
var madeSchemas = map[string][]format.SchemaElement{
	"list of three levels": {group("root", 0, 1), asList(group("x", format.Optional, 1)), group("list", format.Repeated, 1), number("element", format.Required)},
	"list of two levels":   {group("root", 0, 1), asList(group("x", format.Optional, 1)), number("array", format.Repeated)},
	"repeated in a struct": {group("root", 0, 1), group("s", format.Optional, 1), number("x", format.Repeated)},
	"list of arrays":       {group("root", 0, 1), asList(group("x", format.Optional, 1)), group("array", format.Repeated, 1), number("v", format.Required)},
	"list of tuples":       {group("root", 0, 1), asList(group("x", format.Optional, 1)), group("x_tuple", format.Repeated, 1), number("v", format.Required)},
}

// lists reads a file of one jagged i32 field with spans of n samples.
func lists(t *testing.T, name string, n int64) ([][]int32, string, error) {
	t.Helper()
	src, err := openFiles(nil, nil, name)
	if err != nil {
		return nil, "", err
	}
	defer src.Close()
	var all [][]int32
	err = read(t, src, n, func(b *shardify.Batch) {
		c := &b.Columns[0]
		v := shardify.View[int32](c.Data)
		for i := range b.Samples {
			if c.Valid != nil && c.Valid[i] == 0 {
				all = append(all, nil)
				continue
			}
			all = append(all, append([]int32{}, v[c.Offsets[0][i]:c.Offsets[0][i+1]]...))
		}
	})
	return all, src.Schema()[0].Name, err
}

// TestRowsThatGoOnInTheNextPage, in lists of all old and new forms: a row begins where
// the repetition level is 0, wherever pages end.
func TestRowsThatGoOnInTheNextPage(t *testing.T) {
	pages := []madePage{
		{rep: []uint8{0, 1, 0, 0, 1}, def: []uint8{2, 2, 0, 2, 2}, values: []int32{1, 2, 3, 4}},
		{rep: []uint8{1, 1}, def: []uint8{2, 2}, values: []int32{5, 6}},
		{rep: []uint8{1, 0, 0, 0}, def: []uint8{2, 1, 2, 2}, values: []int32{7, 8, 9}},
		{rep: []uint8{0}, def: []uint8{2}, values: []int32{10}},
	}
	want := "[[1 2] [] [3 4 5 6 7] [] [8] [9] [10]]"
	for what, schema := range madeSchemas {
		h := handmade{schema: schema, rows: 7, pages: pages}
		name := h.write(t)
		for _, target := range []int64{1 << 30, 40, 1} {
			got, field, err := lists(t, name, target)
			if text := fmt.Sprint(got); err != nil || text != want || got[1] != nil || got[3] == nil {
				t.Errorf("%s, spans of %d: %s %s, %v; want %s", what, target, field, text, err, want)
			}
		}
		if names := map[string]string{"repeated in a struct": "s.x", "list of tuples": "x.v", "list of arrays": "x.v"}; names[what] != "" {
			if _, field, _ := lists(t, name, 1); field != names[what] {
				t.Errorf("%s is called %s", what, field)
			}
		}
	}
}

// TestPagesThatContradictTheMetadata are damage, whichever of them lies.
func TestPagesThatContradictTheMetadata(t *testing.T) {
	schema := madeSchemas["list of three levels"]
	one := madePage{rep: []uint8{0, 0, 1}, def: []uint8{2, 2, 2}, values: []int32{1, 2, 3}, rows: 2}
	inside := one
	inside.rep = []uint8{1, 0, 1}
	three := one
	three.rows = 3
	few := one
	few.values = few.values[:2]
	for what, h := range map[string]handmade{
		"fewer rows":              {schema: schema, rows: 3, pages: []madePage{one}},
		"more rows":               {schema: schema, rows: 1, pages: []madePage{one}},
		"a start inside of a row": {schema: schema, rows: 2, pages: []madePage{inside}},
		"rows of version 2":       {schema: schema, rows: 3, pages: []madePage{three}, v2: true},
		"a page inside of a row":  {schema: schema, rows: 4, pages: []madePage{one, inside}, v2: true},
		"values that are missing": {schema: schema, rows: 2, pages: []madePage{few}},
	} {
		if got, _, err := lists(t, h.write(t), 1<<30); err == nil || !isKind(err) {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
}

// TestAnIndexOfPagesThatLies never gives other rows.
func TestAnIndexOfPagesThatLies(t *testing.T) {
	h := handmade{schema: []format.SchemaElement{group("root", 0, 1), group("s", format.Optional, 1), number("x", format.Optional)}, rows: 30}
	for p := range 10 {
		m := madePage{def: []uint8{2, 2, 2}}
		for i := range 3 {
			m.values = append(m.values, int32(3*p+i))
		}
		h.pages = append(h.pages, m)
	}
	right := []int64{0, 3, 6, 9, 12, 15, 18, 21, 24, 27}
	for i := -1; i < 10; i++ {
		for _, by := range []int64{-2, -1, 1, 2} {
			h.index = slices.Clone(right)
			if i >= 0 {
				h.index[i] += by
			}
			name := h.write(t)
			src, err := openFiles(nil, nil, name)
			if err != nil {
				t.Fatal(err)
			}
			for lo := int64(29); lo >= 0; lo-- { // every read jumps back
				r, err := src.Reader(0)
				if err != nil {
					t.Fatal(err)
				}
				mem, _ := shardify.NewPool(1<<20).Grant(t.Context(), 1)
				b, err := r.Read(t.Context(), shardify.Span{Lo: lo, Hi: lo + 1}, mem)
				switch {
				case err != nil && (i < 0 || !isKind(err)):
					t.Errorf("page %d moved by %d, row %d: %v", i, by, lo, err)
				case err == nil && shardify.View[int32](b.Columns[0].Data)[0] != int32(lo):
					t.Errorf("page %d moved by %d: row %d is %d", i, by, lo, shardify.View[int32](b.Columns[0].Data)[0])
				}
				r.Close()
			}
			src.Close()
		}
	}
}

// TestListsOfOneStructMustAgree: their columns share one list.
func TestListsOfOneStructMustAgree(t *testing.T) {
	f := shardify.Field{Name: "s.x", DType: shardify.U8, Levels: 1, Counter: "s"}
	g := f
	g.Name = "s.y"
	b := &shardify.Batch{Samples: 2, Columns: []shardify.Column{{Field: f, Offsets: [][]int64{{0, 1, 3}}}, {Field: g, Offsets: [][]int64{{0, 2, 3}}}}}
	if err := share(b); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), "s.y") {
		t.Errorf("%v", err)
	}
}
