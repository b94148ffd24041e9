package pq

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/flatbuf"
)

// arrowKey is where Arrow's writers put their own schema, which says what Parquet's
// cannot: base64 of an encapsulated message.
//
//	offset width
//	  0      4     ff ff ff ff (not in old files)
//	  4      4     n
//	  8      n     Message, a flatbuffer: slot 2 is the Schema, its slot 1 the fields
//
// A field has its name in slot 0, the type's number in 2, the type in 3, children in 5
// and key-value pairs in 6.
const arrowKey = "ARROW:schema"

// ArrowField is a field of Arrow's schema.
type ArrowField struct {
	Name     string
	Type     byte
	Size     int // of a FixedSizeList
	Unit     int // of a Duration: s, ms, us, ns
	Children []ArrowField
	Meta     map[string]string
}

// Numbers of types in Arrow's schema.
const (
	ArrowFixedSizeList = 16
	ArrowDuration      = 18
	arrowSchemaHeader  = 1
)

// Arrow reads the Arrow schema of a file; nil if it has none.
func (f *File) Arrow() ([]ArrowField, error) {
	text, ok := f.KeyValue[arrowKey]
	if !ok {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, shardify.Corrupt(-1, "the Arrow schema is not base64: %v", err)
	}
	if len(b) >= 4 && binary.LittleEndian.Uint32(b) == 0xffffffff {
		b = b[4:]
	}
	if len(b) < 8 {
		return nil, shardify.Corrupt(-1, "an Arrow schema of %d bytes", len(b))
	}
	r := flat{flatbuf.Buf{B: b[4:], Left: maxArrowFields}}
	message := r.Follow(0)
	var fields []ArrowField
	if at := r.Slot(message, 1); at > 0 && r.U8(at) == arrowSchemaHeader {
		if schema := r.Ref(message, 2); schema > 0 {
			fields = r.fields(schema, 1, 0)
		}
	}
	if r.Bad {
		return nil, shardify.Corrupt(-1, "the Arrow schema contradicts itself")
	}
	return fields, nil
}

const maxArrowFields = 1 << 20

type flat struct{ flatbuf.Buf }

func (r *flat) fields(table, slot, depth int) []ArrowField {
	if depth > maxLevels {
		r.Bad = true
	}
	var all []ArrowField
	for _, t := range r.List(table, slot) {
		if r.Bad {
			return nil
		}
		f := ArrowField{Name: r.Text(t, 0)}
		if at := r.Slot(t, 2); at > 0 {
			f.Type = r.U8(at)
		}
		if typ := r.Ref(t, 3); typ > 0 {
			at := r.Slot(typ, 0)
			switch {
			case f.Type == ArrowFixedSizeList && at > 0:
				f.Size = r.I32(at)
			case f.Type == ArrowDuration:
				if f.Unit = 1; at > 0 {
					f.Unit = r.U16(at)
				}
			}
		}
		f.Children = r.fields(t, 5, depth+1)
		for _, kv := range r.List(t, 6) {
			if f.Meta == nil {
				f.Meta = map[string]string{}
			}
			f.Meta[r.Text(kv, 0)] = r.Text(kv, 1)
		}
		all = append(all, f)
	}
	return all
}
