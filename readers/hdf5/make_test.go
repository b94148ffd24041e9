package hdf5

import (
	"context"
	"encoding/binary"
	"path/filepath"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/hdf5/internal/number"
	"github.com/shardify/shardify/readers/readertest"
)

var le = binary.LittleEndian

// tableOf lists files, one root each; names without a folder are in testdata.
func tableOf(names ...string) *format.Table {
	t := &format.Table{}
	for _, n := range names {
		if filepath.Base(n) == n {
			n = filepath.Join("testdata", n)
		}
		t.Roots = append(t.Roots, n)
		t.Append(len(t.Roots)-1, "", format.SizeUnknown, 0)
	}
	return t
}

// memory is a whole source in memory.
type memory struct {
	samples int64
	cols    map[string]*shardify.Column
	order   []string
	left    map[string]string
	notes   []string
}

// load reads files as one source in small spans.
func load(names, columns []string, o format.Options) (*memory, error) {
	ctx := context.Background()
	src, err := Format.Open(ctx, format.OpenArgs{Table: tableOf(names...), Columns: columns, Options: o, Jobs: 2})
	if err != nil {
		return nil, err
	}
	defer src.Close()
	all, err := readertest.Load(src, 500)
	if err != nil {
		return nil, err
	}
	out := &memory{samples: all.Samples, cols: all.ByName, order: all.Order, left: map[string]string{}, notes: src.(format.Describer).Describe()}
	for _, l := range src.(format.Reporter).Leftovers() {
		out.left[l.Name] = l.Reason
	}
	return out, nil
}

// mustLoad is load that ends the test.
func mustLoad(t *testing.T, names, columns []string, o format.Options) *memory {
	t.Helper()
	s, err := load(names, columns, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// values are a column's numbers as float64.
func values(c *shardify.Column) []float64 {
	size := c.DType.Size()
	out := make([]float64, 0, len(c.Data)/size)
	for b := c.Data; len(b) > 0; b = b[size:] {
		out = append(out, value(c.DType, b))
	}
	return out
}

func value(d shardify.DType, b []byte) float64 {
	switch d {
	case shardify.F16:
		return number.F16.Value(uint64(le.Uint16(b)))
	case shardify.F32:
		return number.F32.Value(uint64(le.Uint32(b)))
	case shardify.F64:
		return number.F64.Value(le.Uint64(b))
	case shardify.Bool, shardify.U8:
		return float64(b[0])
	case shardify.I8:
		return float64(int8(b[0]))
	case shardify.U16:
		return float64(le.Uint16(b))
	case shardify.I16:
		return float64(int16(le.Uint16(b)))
	case shardify.U32:
		return float64(le.Uint32(b))
	case shardify.I32:
		return float64(int32(le.Uint32(b)))
	case shardify.U64:
		return float64(le.Uint64(b))
	}
	return float64(int64(le.Uint64(b)))
}

// texts are a column's texts, of any level.
func textsOf(c *shardify.Column) []string {
	ends := c.Offsets[len(c.Offsets)-1]
	out := make([]string, 0, len(ends))
	for i := 1; i < len(ends); i++ {
		out = append(out, string(c.Data[ends[i-1]:ends[i]]))
	}
	return out
}
