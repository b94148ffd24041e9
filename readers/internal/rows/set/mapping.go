package set

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
)

// From says where a column of some files comes from. For a field of the schema that is Ragged there are two:
// that of its companion follows.
type From struct {
	Field int32          // index in the facts of the files; -1: nothing is read
	DType shardify.DType // in the files
	Fixed bool           // of one shape in each file, Ragged in the schema: its companion is made of the shape
}

// Mapping is where all columns of some files come from.
type Mapping struct {
	columns []column
	key     []byte // equal for equal mappings
	fixed   int64  // bytes of a sample in a batch, without the values of jagged fields
}

// column is where one column comes from.
type column struct {
	field int32
	dtype shardify.DType
	how   how
}

type how uint8

const (
	direct  how = iota
	missing     // filled
	fixed       // of one shape in this file, Ragged in the schema
	shapeOf     // the shape of the fixed field before it
)

// NewMapping makes a mapping to a schema.
func NewMapping(schema []shardify.Field, all []From) *Mapping {
	columns := make([]column, len(all))
	for i, f := range all {
		c := column{f.Field, f.DType, direct}
		switch {
		case f.Fixed:
			c.how = fixed
		case f.Field < 0 && i > 0 && all[i-1].Fixed:
			c.how = shapeOf
		case f.Field < 0:
			c.how = missing
		}
		columns[i] = c
	}
	return measure(schema, columns)
}

// measure adds the bytes of a sample to a mapping: fixed values, an offset for each
// counter, and what widening needs beside the result.
func measure(schema []shardify.Field, columns []column) *Mapping {
	m := &Mapping{columns: columns, key: appendColumns(nil, columns)}
	counters := map[string]bool{}
	for i := range schema {
		f, from := &schema[i], &columns[i]
		if from.how == missing {
			m.fixed = rows.SatAdd(m.fixed, 1)
		}
		switch {
		case f.Levels == 0:
			m.fixed = rows.SatAdd(m.fixed, int64(f.ElemBytes()))
			if from.dtype != f.DType {
				m.fixed = rows.SatAdd(m.fixed, int64(f.Elem()*from.dtype.Size()))
			}
		case !counters[f.CounterName()]:
			counters[f.CounterName()] = true
			m.fixed = rows.SatAdd(m.fixed, 8)
		}
	}
	return m
}

// appendColumns encodes a mapping:
//
//	per field of the schema: u8 how, u8 dtype; uvarint field unless it is missing or
//	the shape of another
func appendColumns(b []byte, columns []column) []byte {
	for _, c := range columns {
		b = append(b, byte(c.how), byte(c.dtype))
		if c.field >= 0 {
			b = binary.AppendUvarint(b, uint64(c.field))
		}
	}
	return b
}
