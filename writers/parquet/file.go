package parquet

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/arrow"
	"github.com/shardify/shardify/writers/table"
)

const magic = "PAR1"

// chunk is where a column of a row group is.
type chunk struct {
	path   []string
	kind   int
	off    int64
	bytes  int64
	values int64
	nulls  int64
	text   int64 // bytes of values of bytes, -1 of others
	// How often each level is there. Readers find in def which parts of rows lack.
	rep, def []int64
}

// count are how often levels up to most are there.
func count(levels []byte, most int) []int64 {
	n := make([]int64, most+1)
	for l := range n {
		n[l] = int64(bytes.Count(levels, []byte{byte(l)}))
	}
	return n
}

func (x *chunk) count(c *column) {
	x.def = count(c.def, c.most())
	if len(c.Lists) > 0 {
		x.rep = count(c.rep, len(c.Lists))
	}
}

// group is a row group.
type group struct {
	rows   int64
	chunks []chunk
}

// appendGroup appends the columns of a row group, which begin at byte at of the file: a page each.
func appendGroup(dst []byte, cols []column, rows, at int64) ([]byte, group) {
	g := group{rows: rows}
	base := len(dst)
	var body []byte
	for i := range cols {
		c := &cols[i]
		x := chunk{path: c.path(), kind: c.physical(), off: at + int64(len(dst)-base), values: int64(len(c.def)), nulls: c.nulls, text: -1}
		if x.count(c); c.Media != "" {
			x.text = int64(len(c.data)) - 4*x.def[c.most()]
		}
		body = c.page(body[:0], c.def, c.most(), true)
		dst = appendPage(dst, body, len(c.def))
		x.bytes = at + int64(len(dst)-base) - x.off
		g.chunks = append(g.chunks, x)
		if c.File { // no file has a path
			for k, d := range c.def {
				if d == byte(c.most()) {
					c.def[k]--
				}
			}
			x = chunk{path: append(c.path()[:len(x.path)-1:len(x.path)-1], "path"), kind: pBytes, off: at + int64(len(dst)-base), values: int64(len(c.def)), nulls: int64(len(c.def))}
			x.count(c)
			body = c.page(body[:0], c.def, c.most(), false)
			dst = appendPage(dst, body, len(c.def))
			x.bytes = at + int64(len(dst)-base) - x.off
			g.chunks = append(g.chunks, x)
		}
		c.rep, c.def, c.data, c.nulls = c.rep[:0], c.def[:0], c.data[:0], 0
	}
	return dst, g
}

// path are the names from the root to the leaf.
func (c *column) path() []string {
	p := []string{c.Name}
	for range c.Lists {
		p = append(p, "list", "element")
	}
	if c.File {
		p = append(p, "bytes")
	}
	return p
}

// appendPage appends a page of version 1, uncompressed.
func appendPage(dst, body []byte, values int) []byte {
	const plain, rle = 0, 3
	t := thrift{b: dst}
	t.begin()
	t.i32(1, 0)
	t.i32(2, len(body))
	t.i32(3, len(body))
	t.structure(5, func() {
		t.i32(1, values)
		t.i32(2, plain)
		t.i32(3, rle)
		t.i32(4, rle)
	})
	t.end()
	return append(t.b, body...)
}

// appendFoot appends the foot of a file: all after the row groups.
func appendFoot(dst []byte, cols []column, groups []group, metadata [][2]string) []byte {
	begin := len(dst)
	t := thrift{b: dst}
	t.begin()
	t.i32(1, 2)
	t.schema(cols)
	rows := int64(0)
	for i := range groups {
		rows += groups[i].rows
	}
	t.i64(3, rows)
	t.list(4, tStruct, len(groups))
	for i := range groups {
		t.group(&groups[i], i)
	}
	t.b = append(t.b, footEnd(metadata)...)
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)-begin))
	return append(t.b, magic...)
}

// footEnd is the end of the structure of the foot, behind its row groups.
func footEnd(metadata [][2]string) []byte {
	t := thrift{last: []int{4}}
	t.list(5, tStruct, len(metadata))
	for _, m := range metadata {
		t.begin()
		t.text(1, m[0])
		t.text(2, m[1])
		t.end()
	}
	t.text(6, "shardify")
	t.end()
	return t.b
}

func (t *thrift) group(g *group, number int) {
	t.begin()
	t.list(1, tStruct, len(g.chunks))
	total := int64(0)
	for i := range g.chunks {
		c := &g.chunks[i]
		total += c.bytes
		t.begin()
		t.i64(2, 0)
		t.structure(3, func() {
			t.i32(1, c.kind)
			t.list(2, tI32, 2)
			t.b = binary.AppendVarint(binary.AppendVarint(t.b, 0), 3)
			t.list(3, tBinary, len(c.path))
			for _, p := range c.path {
				t.bytes(p)
			}
			t.i32(4, 0)
			t.i64(5, c.values)
			t.i64(6, c.bytes)
			t.i64(7, c.bytes)
			t.i64(9, c.off)
			t.structure(12, func() { t.i64(3, c.nulls) })
			t.structure(16, func() {
				if c.text >= 0 {
					t.i64(1, c.text)
				}
				t.counts(2, c.rep)
				t.counts(3, c.def)
			})
		})
		t.end()
	}
	t.i64(2, total)
	t.i64(3, g.rows)
	if len(g.chunks) > 0 {
		t.i64(5, g.chunks[0].off)
	}
	t.i64(6, total)
	t.number(7, tI16, int64(number))
	t.end()
}

func (t *thrift) counts(n int, all []int64) {
	if all == nil {
		return
	}
	t.list(n, tI64, len(all))
	for _, v := range all {
		t.b = binary.AppendVarint(t.b, v)
	}
}

// The repetition of a part of a schema.
const (
	optional = 1
	repeated = 2
)

// schema writes the tree of columns, as pyarrow does: all parts may lack.
func (t *thrift) schema(cols []column) {
	n := 1
	for i := range cols {
		n += 1 + 2*len(cols[i].Lists)
		if cols[i].File {
			n += 2
		}
	}
	t.list(2, tStruct, n)
	t.begin()
	t.text(4, "schema")
	t.i32(5, len(cols))
	t.end()
	for i := range cols {
		cols[i].write(t)
	}
}

func (c *column) write(t *thrift) {
	name := c.Name
	for range c.Lists {
		t.begin()
		t.i32(3, optional)
		t.text(4, name)
		t.i32(5, 1)
		t.i32(6, 3) // LIST
		t.structure(10, func() { t.structure(3, func() {}) })
		t.end()
		t.begin()
		t.i32(3, repeated)
		t.text(4, "list")
		t.i32(5, 1)
		t.end()
		name = "element"
	}
	if c.File {
		t.begin()
		t.i32(3, optional)
		t.text(4, name)
		t.i32(5, 2)
		t.end()
		t.leaf("bytes", pBytes, false, c)
		t.leaf("path", pBytes, true, c)
		return
	}
	t.leaf(name, c.physical(), c.Text(), c)
}

// leaf writes a column without parts.
func (t *thrift) leaf(name string, kind int, text bool, c *column) {
	t.begin()
	t.i32(1, kind)
	if kind == pFixed {
		t.i32(2, 2)
	}
	t.i32(3, optional)
	t.text(4, name)
	whole := c.Media == "" && c.DType.IsInt() && c.DType != shardify.I32 && c.DType != shardify.I64
	switch {
	case text:
		t.i32(6, 0) // UTF8
		t.structure(10, func() { t.structure(1, func() {}) })
	case kind == pFixed:
		t.structure(10, func() { t.structure(15, func() {}) })
	case whole:
		kinds := map[shardify.DType]int{shardify.U8: 11, shardify.U16: 12, shardify.U32: 13, shardify.U64: 14, shardify.I8: 15, shardify.I16: 16}
		t.i32(6, kinds[c.DType])
		t.structure(10, func() {
			t.structure(10, func() {
				t.field(1, tByte)
				t.b = append(t.b, byte(8*c.DType.Size()))
				if table.Unsigned(c.DType) {
					t.field(2, tFalse)
				} else {
					t.field(2, tTrue)
				}
			})
		})
	}
	t.end()
}

// metadata are the keys of the file that say what the columns are to Hugging Face and to Arrow.
func metadata(cols []column) [][2]string {
	var fields []arrow.Field
	for i := range cols {
		fields = append(fields, cols[i].Arrow())
	}
	hf := table.Metadata(plain(cols))
	return [][2]string{hf, {"ARROW:schema", base64.StdEncoding.EncodeToString(arrow.Schema(fields, [][2]string{hf}, -1))}}
}
