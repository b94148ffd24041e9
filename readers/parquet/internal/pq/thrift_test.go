package pq

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
)

// TestWeightsAreNotLessThanTheTypes: what bounds the memory of lists must not lag
// behind the library.
func TestWeightsAreNotLessThanTheTypes(t *testing.T) {
	for _, c := range []struct {
		weight int
		types  []any
	}{
		{weightColumn, []any{format.ColumnChunk{}}},
		{weightGroup, []any{format.RowGroup{}}},
		{weightStruct, []any{format.SchemaElement{}, format.KeyValue{}, format.ColumnOrder{}, format.PageEncodingStats{}, format.SortingColumn{}, format.PageLocation{}}},
		{weightOther, []any{"", []byte{}, int64(0)}},
	} {
		for _, x := range c.types {
			if n := int(reflect.TypeOf(x).Size()); n > c.weight {
				t.Errorf("%T has %d bytes, counted as %d", x, n, c.weight)
			}
		}
	}
}

// TestListsThatAreNotThereTakeNoMemory: a few bytes claim millions of row groups.
func TestListsThatAreNotThereTakeNoMemory(t *testing.T) {
	for name, b := range map[string][]byte{
		// Field 4, a list of structs: 2^28 of them, in as many bytes as there are.
		"a length":    {0x49, 0xfc, 0xff, 0xff, 0xff, 0x7f, 0},
		"empty ones":  append(append([]byte{0x49, 0xfc, 0x80, 0x80, 0x40}, make([]byte, 1<<20)...), 0),
		"deep nests":  bytes.Repeat([]byte{0x1c}, 10000),
		"deep lists":  append([]byte{0x19}, bytes.Repeat([]byte{0x19}, 10000)...),
		"a long text": {0x18, 0xff, 0xff, 0xff, 0xff, 0x07},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decode(b, &format.FileMetaData{})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; err == nil || n > 1<<20 {
			t.Errorf("%s: %v, %d bytes allocated", name, err, n)
		}
	}
}

// TestWalkerMeasuresWhatTheLibraryReads on all footers at hand.
func TestWalkerMeasuresWhatTheLibraryReads(t *testing.T) {
	names, _ := filepath.Glob("../../testdata/*.parquet")
	if len(names) == 0 {
		t.Fatal("no files")
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if string(b[len(b)-4:]) != magicPlain {
			continue
		}
		n := int(b[len(b)-8]) | int(b[len(b)-7])<<8
		foot := b[len(b)-8-n : len(b)-8]
		var p thrift.CompactProtocol
		r := p.NewReaderFromBytes(bytes.Clone(foot))
		if err := thrift.NewDecoder(r).Decode(&format.FileMetaData{}); err != nil {
			t.Fatal(err)
		}
		w := walker{b: foot}
		if err := w.structure(0, kindOther); err != nil || w.at != r.BytesRead() {
			t.Errorf("%s: %d bytes, %v; the library reads %d", name, w.at, err, r.BytesRead())
		}
		for k := 0; k < w.at; k += 1 + w.at/500 {
			if _, err := decode(foot[:k], &format.FileMetaData{}); !errors.Is(err, ErrShort) {
				t.Fatalf("%s cut at %d of %d: %v", name, k, w.at, err)
			}
		}
	}
}

// FuzzMetadata opens any bytes as a footer, a page header, an Arrow schema.
func FuzzMetadata(f *testing.F) {
	names, _ := filepath.Glob("../../testdata/*.parquet")
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		n := int(b[len(b)-8]) | int(b[len(b)-7])<<8
		f.Add(b[len(b)-8-n : len(b)-8])
		if x, err := Open(bytes.NewReader(b), int64(len(b))); err == nil {
			if schema, err := base64.StdEncoding.DecodeString(x.KeyValue[arrowKey]); err == nil && len(schema) > 0 {
				f.Add(schema)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file := append([]byte(magicPlain), make([]byte, 4096)...)
		file = append(file, b...)
		file = append(file, byte(len(b)), byte(len(b)>>8), byte(len(b)>>16), 0)
		file = append(file, magicPlain...)
		_, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) && !errors.Is(err, shardify.ErrUnsupported) {
			t.Errorf("error of no kind: %v", err)
		}
		var h PageHeader
		ReadPageHeader(b, &h)
		x := File{KeyValue: map[string]string{arrowKey: base64.StdEncoding.EncodeToString(b)}}
		x.Arrow()
	})
}
