package rntuple

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/shardify/shardify"
)

// The tests' own writer: a model of typed values, from which come both the bytes of
// an ntuple and the columns that a reader must find, by different ways.

// kind is a type of the model.
type kind uint8

const (
	number kind = iota
	text
	vector
	option
	fixed
	record
	variant
	bitset
	wrapped // an atomic or an enum
	projection
)

// model is a field. Values of it are: number -> uint64 (the bits of its dtype, wide
// integers and floats alike), text -> string, vector, fixed, record -> []any in
// order, option -> nil or any, variant -> chosen, bitset -> []any of uint64.
type model struct {
	kind     kind
	name     string
	typeName string
	dtype    shardify.DType
	n        int
	kids     []*model
	columns  []*written
	count    int64 // items in this cluster, of vector and option
	picked   int64 // of an alternative: values in this cluster
	first    int   // entries before it was added
	id       int
	// Of projections: the structure, what they show, and whose column.
	role   fieldRole
	source *model
	alias  *written
}

type chosen struct {
	alt   int
	value any
}

// written is a column: one representation of it.
type written struct {
	Column
	elements []uint64 // of the cluster; Switch has two each
	offset   int64    // elements before this cluster
	born     int      // cluster of clusters[0]
	clusters []writtenChunk
}

type writtenChunk struct {
	pages      []writtenPage
	offset     int64
	suppressed bool
}

type writtenPage struct {
	n      int
	at     int64
	size   int
	summed bool
}

// maker builds a file.
type maker struct {
	rng     *rand.Rand
	file    bytes.Buffer
	fields  []*model
	parents []int
	columns []*written
	top     []*model
	// compress is the chance of a page to be compressed, in percent.
	compress int
	multi    bool // some numbers have a second representation
	fixed    bool // no fields are added on the way
	// tweak changes payloads before they are sealed.
	tweak    func(kind int, payload []byte) []byte
	plain    bool    // envelopes are never compressed, and all pages have checksums
	entries  [][]any // values of top, per entry
	clusters []int64 // entries of each
	groups   [][2]int
	nHeader  [2]int // fields and columns of the header; the others come with the footer
	anchor   []byte
	places   []envelopePlace
}

type envelopePlace struct{ kind, at, size int }

var stdNames = map[shardify.DType]string{
	shardify.Bool: "bool", shardify.I8: "std::int8_t", shardify.U8: "std::uint8_t", shardify.I16: "std::int16_t", shardify.U16: "std::uint16_t",
	shardify.I32: "std::int32_t", shardify.U32: "std::uint32_t", shardify.I64: "std::int64_t", shardify.U64: "std::uint64_t", shardify.F32: "float", shardify.F64: "double",
}

var forms = map[shardify.DType][]colType{
	shardify.Bool: {colBit}, shardify.I8: {colInt8, colUInt8}, shardify.U8: {colUInt8, colByte}, shardify.I16: {colInt16, colSplitInt16, colSplitUInt16}, shardify.U16: {colUInt16, colSplitUInt16},
	shardify.I32: {colInt32, colSplitInt32, colInt16, colSplitInt16, colInt8, colUInt8, colBit}, shardify.U32: {colUInt32, colSplitUInt32, colUInt16},
	shardify.I64: {colInt64, colSplitInt64, colInt32, colSplitUInt32}, shardify.U64: {colUInt64, colSplitUInt64, colUInt8},
	shardify.F32: {colReal32, colSplitReal32, colReal16, colReal32Trunc, colReal32Quant}, shardify.F64: {colReal64, colSplitReal64, colReal32, colSplitReal32, colReal16, colReal32Quant},
}

func (m *maker) pick(list ...colType) colType { return list[m.rng.IntN(len(list))] }

// random makes a type.
func (m *maker) random(name string, depth int) *model {
	k := kind(m.rng.IntN(int(wrapped) + 1))
	if depth <= 0 {
		k = []kind{number, number, text, bitset}[m.rng.IntN(4)]
	}
	f := &model{kind: k, name: name}
	kid := func(i int, name string) *model {
		c := m.random(name, depth-1)
		f.kids = append(f.kids, c)
		return c
	}
	switch k {
	case number:
		types := []shardify.DType{shardify.Bool, shardify.I8, shardify.U8, shardify.I16, shardify.U16, shardify.I32, shardify.U32, shardify.I64, shardify.U64, shardify.F32, shardify.F32, shardify.F64}
		f.dtype = types[m.rng.IntN(len(types))]
		f.typeName = stdNames[f.dtype]
		f.columns = []*written{m.column(forms[f.dtype]...)}
		if m.multi && f.dtype == shardify.F32 {
			f.columns = []*written{m.column(colReal32, colSplitReal32), m.column(colReal16), m.column(colReal32)}
		}
	case text:
		f.typeName = "std::string"
		f.columns = []*written{m.column(colIndex32, colIndex64, colSplitIndex32, colSplitIndex64), m.column(colChar)}
	case vector:
		f.typeName = "std::vector<" + kid(0, "_0").typeName + ">"
		f.columns = []*written{m.column(colIndex32, colIndex64, colSplitIndex32, colSplitIndex64)}
	case option:
		f.typeName = []string{"std::optional<", "std::unique_ptr<"}[m.rng.IntN(2)] + kid(0, "_0").typeName + ">"
		f.columns = []*written{m.column(colIndex32, colSplitIndex64)}
	case fixed:
		f.n = 1 + m.rng.IntN(3)
		f.typeName = fmt.Sprintf("std::array<%s,%d>", kid(0, "_0").typeName, f.n)
	case bitset:
		f.n = 1 + m.rng.IntN(20)
		f.typeName = fmt.Sprintf("std::bitset<%d>", f.n)
		f.columns = []*written{m.column(colBit)}
	case record:
		f.typeName = "Point"
		for i := range 1 + m.rng.IntN(3) {
			kid(i, string(rune('x'+i)))
		}
	case variant:
		f.typeName = "std::variant<...>"
		for i := range 1 + m.rng.IntN(3) {
			kid(i, fmt.Sprintf("_%d", i))
		}
		f.columns = []*written{m.column(colSwitch)}
	case wrapped:
		c := &model{kind: number, name: "_0", dtype: shardify.I32, typeName: "std::int32_t", columns: []*written{m.column(colInt32, colSplitInt32)}}
		f.typeName, f.kids = "std::atomic<std::int32_t>", []*model{c}
	}
	return f
}

func (m *maker) column(list ...colType) *written {
	t := m.pick(list...)
	c := &written{Column: Column{Type: t, Bits: columnTypes[t].maxBits}}
	switch t {
	case colReal32Trunc:
		c.Bits = 10 + m.rng.IntN(22)
	case colReal32Quant:
		c.Bits = 1 + m.rng.IntN(20) // float32 values find their step again
		c.Min, c.Max = -float64(m.rng.IntN(5)), 1+float64(m.rng.IntN(9))
	}
	return c
}

// value makes a value that all representations hold exactly.
func (m *maker) value(f *model) any {
	list := func(n int, of *model) []any {
		l := []any{}
		for range n {
			l = append(l, m.value(of))
		}
		return l
	}
	switch f.kind {
	case projection:
		return nil
	case number:
		return m.number(f)
	case text:
		b := make([]byte, m.rng.IntN(5))
		for i := range b {
			b[i] = byte('a' + m.rng.IntN(26))
		}
		return string(b)
	case vector:
		return list(m.rng.IntN(4), f.kids[0])
	case option:
		if m.rng.IntN(2) == 0 {
			return nil
		}
		return m.value(f.kids[0])
	case fixed:
		return list(f.n, f.kids[0])
	case bitset:
		l := []any{}
		for range f.n {
			l = append(l, uint64(m.rng.IntN(2)))
		}
		return l
	case record:
		l := []any{}
		for _, k := range f.kids {
			l = append(l, m.value(k))
		}
		return l
	case variant:
		alt := m.rng.IntN(len(f.kids) + 1)
		if alt == 0 {
			return chosen{}
		}
		return chosen{alt, m.value(f.kids[alt-1])}
	}
	return m.value(f.kids[0])
}

func (m *maker) number(f *model) uint64 {
	bits := m.rng.Uint64()
	if m.rng.IntN(3) == 0 {
		bits %= 7
	}
	if !f.dtype.IsFloat() {
		if f.dtype == shardify.Bool {
			return bits & 1
		}
		// What a narrow column holds, with its sign, in the width of the field.
		t := columnTypes[f.columns[0].Type]
		shift := 64 - t.maxBits
		if bits <<= shift; t.dtype == shardify.I8 || t.dtype == shardify.I16 || t.dtype == shardify.I32 {
			bits = uint64(int64(bits) >> shift)
		} else {
			bits >>= shift
		}
		return bits & (1<<(8*f.dtype.Size()) - 1)
	}
	c := f.columns[0]
	var v float64
	switch c.Type {
	case colReal32Quant:
		q := bits & (1<<c.Bits - 1)
		v = c.Min + float64(q)*((c.Max-c.Min)/float64(uint64(1)<<c.Bits-1))
		if f.dtype == shardify.F32 {
			return uint64(math.Float32bits(float32(v)))
		}
		return math.Float64bits(v)
	case colReal32Trunc:
		return uint64(uint32(m.rng.IntN(1<<c.Bits)) << (32 - c.Bits))
	default:
		v = float64(m.rng.IntN(2001)-1000) / 8
		if m.multi || c.Type == colReal16 {
			v = float64(m.rng.IntN(201)-100) / 8
		}
	}
	if f.dtype == shardify.F32 {
		return uint64(math.Float32bits(float32(v)))
	}
	return math.Float64bits(v)
}

// zero is what a field has in the entries before it was added.
func zero(f *model) any {
	switch f.kind {
	case number:
		return uint64(0)
	case text:
		return ""
	case vector:
		return []any{}
	case option:
		return nil
	case variant:
		return chosen{}
	case wrapped:
		return zero(f.kids[0])
	}
	l := []any{}
	if f.kind == record {
		for _, k := range f.kids {
			l = append(l, zero(k))
		}
		return l
	}
	for range f.n {
		if f.kind == bitset {
			l = append(l, uint64(0))
		} else {
			l = append(l, zero(f.kids[0]))
		}
	}
	return l
}

// fill appends a value to the columns.
func (m *maker) fill(f *model, v any) {
	switch f.kind {
	case number:
		for _, c := range f.columns {
			c.elements = append(c.elements, v.(uint64))
		}
	case text:
		for _, b := range []byte(v.(string)) {
			f.columns[1].elements = append(f.columns[1].elements, uint64(b))
		}
		f.columns[0].elements = append(f.columns[0].elements, uint64(len(f.columns[1].elements)))
	case vector:
		for _, x := range v.([]any) {
			f.count++
			m.fill(f.kids[0], x)
		}
		f.columns[0].elements = append(f.columns[0].elements, uint64(f.count))
	case option:
		if v != nil {
			f.count++
			m.fill(f.kids[0], v)
		}
		f.columns[0].elements = append(f.columns[0].elements, uint64(f.count))
	case fixed:
		for _, x := range v.([]any) {
			m.fill(f.kids[0], x)
		}
	case bitset:
		for _, x := range v.([]any) {
			f.columns[0].elements = append(f.columns[0].elements, x.(uint64))
		}
	case record:
		for i, x := range v.([]any) {
			m.fill(f.kids[i], x)
		}
	case variant:
		c := v.(chosen)
		index := int64(0)
		if c.alt > 0 {
			k := f.kids[c.alt-1]
			index = k.picked
			k.picked++
			m.fill(k, c.value)
		}
		f.columns[0].elements = append(f.columns[0].elements, uint64(index), uint64(c.alt))
	case wrapped:
		m.fill(f.kids[0], v)
	}
}

// number fields, columns and roles in the order of the format.
func (m *maker) register(f *model, parent int) {
	f.id = len(m.fields)
	if parent < 0 {
		parent = f.id
	}
	m.fields = append(m.fields, f)
	m.parents = append(m.parents, parent)
	for i, c := range f.columns {
		c.ID, c.Field, c.born = len(m.columns), f.id, len(m.clusters)
		if f.kind == number {
			c.Representation = i
		}
		m.columns = append(m.columns, c)
	}
	for _, k := range f.kids {
		m.register(k, f.id)
	}
}

// principal calls do for fields whose columns have a fixed number of elements per
// entry.
func (f *model) principal(per int64, do func(*model, int64)) {
	switch f.kind {
	case fixed, bitset:
		per *= int64(f.n)
	}
	do(f, per)
	if f.kind == fixed || f.kind == record || f.kind == wrapped {
		for _, k := range f.kids {
			k.principal(per, do)
		}
	}
}
