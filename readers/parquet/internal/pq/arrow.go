package pq

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/shardify/shardify"
)

// ArrowKey is where Arrow's writers put their own schema, which says what Parquet's
// cannot: base64 of an encapsulated message.
//
//	offset width
//	  0      4     ff ff ff ff (not in old files)
//	  4      4     n
//	  8      n     Message, a flatbuffer: slot 2 is the Schema, its slot 1 the fields
//
// A field has its name in slot 0, the type's number in 2, the type in 3, children in 5
// and key-value pairs in 6.
const ArrowKey = "ARROW:schema"

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
	text, ok := f.KeyValue[ArrowKey]
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
	r := &flat{b: b[4:], left: maxArrowFields}
	message := r.follow(0)
	var fields []ArrowField
	if at := r.slot(message, 1); at > 0 && r.u8(at) == arrowSchemaHeader {
		if schema := r.ref(message, 2); schema > 0 {
			fields = r.fields(schema, 1, 0)
		}
	}
	if r.bad {
		return nil, shardify.Corrupt(-1, "the Arrow schema contradicts itself")
	}
	return fields, nil
}

const maxArrowFields = 1 << 20

// flat reads tables of a flatbuffer. Positions out of range make it bad and are 0.
type flat struct {
	b    []byte
	bad  bool
	left int // fields still allowed: offsets may make a small buffer a large tree
}

func (r *flat) has(at, n int) bool {
	if at < 0 || n > len(r.b) || at > len(r.b)-n {
		r.bad = true
		return false
	}
	return true
}

func (r *flat) u8(at int) byte {
	if !r.has(at, 1) {
		return 0
	}
	return r.b[at]
}

func (r *flat) u16(at int) int {
	if !r.has(at, 2) {
		return 0
	}
	return int(binary.LittleEndian.Uint16(r.b[at:]))
}

func (r *flat) i32(at int) int {
	if !r.has(at, 4) {
		return 0
	}
	return int(int32(binary.LittleEndian.Uint32(r.b[at:])))
}

// follow is where the offset at a position points to.
func (r *flat) follow(at int) int {
	n := r.i32(at)
	if n <= 0 || r.bad {
		r.bad = true
		return 0
	}
	return at + n
}

// slot is where a table has its field i; 0 if it has none.
func (r *flat) slot(table, i int) int {
	vtable := table - r.i32(table)
	if r.bad || !r.has(vtable, 4) || 4+2*i+2 > r.u16(vtable) {
		return 0
	}
	if off := r.u16(vtable + 4 + 2*i); off > 0 {
		return table + off
	}
	return 0
}

// ref is the table, text or list that field i of a table points to; 0 if there is none.
func (r *flat) ref(table, i int) int {
	at := r.slot(table, i)
	if at == 0 || r.bad {
		return 0
	}
	return r.follow(at)
}

func (r *flat) text(table, i int) string {
	at := r.ref(table, i)
	if at == 0 {
		return ""
	}
	n := r.i32(at)
	if n < 0 || !r.has(at+4, n) {
		r.bad = true
		return ""
	}
	return string(r.b[at+4 : at+4+n])
}

// list gives the positions of the tables in a list.
func (r *flat) list(table, i int) []int {
	at := r.ref(table, i)
	if at == 0 {
		return nil
	}
	n := r.i32(at)
	if r.left -= n; n < 0 || n > len(r.b)/4 || r.left < 0 || !r.has(at+4, 4*n) {
		r.bad = true
		return nil
	}
	var all []int
	for k := range n {
		all = append(all, r.follow(at+4+4*k))
	}
	return all
}

func (r *flat) fields(table, slot, depth int) []ArrowField {
	if depth > maxLevels {
		r.bad = true
	}
	var all []ArrowField
	for _, t := range r.list(table, slot) {
		if r.bad {
			return nil
		}
		f := ArrowField{Name: r.text(t, 0)}
		if at := r.slot(t, 2); at > 0 {
			f.Type = r.u8(at)
		}
		if typ := r.ref(t, 3); typ > 0 {
			at := r.slot(typ, 0)
			switch {
			case f.Type == ArrowFixedSizeList && at > 0:
				f.Size = r.i32(at)
			case f.Type == ArrowDuration:
				if f.Unit = 1; at > 0 {
					f.Unit = r.u16(at)
				}
			}
		}
		f.Children = r.fields(t, 5, depth+1)
		for _, kv := range r.list(t, 6) {
			if f.Meta == nil {
				f.Meta = map[string]string{}
			}
			f.Meta[r.text(kv, 0)] = r.text(kv, 1)
		}
		all = append(all, f)
	}
	return all
}
