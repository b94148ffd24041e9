package netcdf3

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
)

// made is a file to be written, by the format's own rules alone.
type made struct {
	version   byte
	records   int
	streaming bool
	dims      []madeDim
	vars      []madeVar
}

type madeDim struct {
	name string
	n    int // 0: the records
}

type madeVar struct {
	name  string
	typ   uint32
	dims  []int
	attrs []madeAttr
	data  []byte // big-endian, whole
}

type madeAttr struct {
	name string
	typ  uint32
	data []byte
}

var sizes = []int{1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}

func text(name, s string) madeAttr { return madeAttr{name, 2, []byte(s)} }

func be(v any) []byte {
	b, err := binary.Append(nil, binary.BigEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}

// little is the values in little-endian order.
func (v *madeVar) little() []byte {
	out := bytes.Clone(v.data)
	for e := range slices.Chunk(out, sizes[v.typ]) {
		slices.Reverse(e)
	}
	return out
}

// inner is the bytes of a variable, or of one record of it.
func (m *made) inner(v *madeVar) (n int, record bool) {
	n = sizes[v.typ]
	for _, d := range v.dims {
		if m.dims[d].n == 0 {
			record = true
			continue
		}
		n *= m.dims[d].n
	}
	return n, record
}

func pad(n int) int { return (n + 3) &^ 3 }

func (m *made) bytes() []byte {
	several := -1
	for i := range m.vars {
		if _, record := m.inner(&m.vars[i]); record {
			several++
		}
	}
	head := m.header(make([]int, len(m.vars)))
	begins := make([]int, len(m.vars))
	at := len(head)
	for _, want := range []bool{false, true} {
		for i := range m.vars {
			if n, record := m.inner(&m.vars[i]); record == want {
				begins[i] = at
				at += pad(n)
			}
		}
	}
	out := m.header(begins)
	for i := range m.vars {
		if n, record := m.inner(&m.vars[i]); !record {
			out = append(append(out, m.vars[i].data...), make([]byte, pad(n)-n)...)
		}
	}
	for r := range m.records {
		for i := range m.vars {
			if n, record := m.inner(&m.vars[i]); record {
				out = append(out, m.vars[i].data[r*n:(r+1)*n]...)
				if several > 0 {
					out = append(out, make([]byte, pad(n)-n)...)
				}
			}
		}
	}
	return out
}

func (m *made) header(begins []int) []byte {
	var b bytes.Buffer
	u32 := func(n int) { b.Write(be(uint32(n))) }
	count := func(n int) {
		if m.version == 5 {
			b.Write(be(uint64(n)))
		} else {
			u32(n)
		}
	}
	padded := func(p []byte) { b.Write(p); b.Write(make([]byte, pad(len(p))-len(p))) }
	name := func(s string) { count(len(s)); padded([]byte(s)) }
	list := func(tag, n int) {
		if n == 0 {
			tag = 0
		}
		u32(tag)
		count(n)
	}
	attrs := func(all []madeAttr) {
		list(12, len(all))
		for _, a := range all {
			name(a.name)
			u32(int(a.typ))
			count(len(a.data) / sizes[a.typ])
			padded(a.data)
		}
	}
	b.WriteString("CDF")
	b.WriteByte(m.version)
	if n := m.records; m.streaming {
		count(-1)
	} else {
		count(n)
	}
	list(10, len(m.dims))
	for _, d := range m.dims {
		name(d.name)
		count(d.n)
	}
	attrs([]madeAttr{text("title", "made")})
	list(11, len(m.vars))
	for i := range m.vars {
		v := &m.vars[i]
		name(v.name)
		count(len(v.dims))
		for _, d := range v.dims {
			count(d)
		}
		attrs(v.attrs)
		u32(int(v.typ))
		n, _ := m.inner(v)
		count(pad(n))
		if m.version == 1 {
			u32(begins[i])
		} else {
			b.Write(be(uint64(begins[i])))
		}
	}
	return b.Bytes()
}

// random is a file of up to 7 variables.
func random(r *rand.Rand) *made {
	m := &made{version: []byte{1, 2, 5}[r.IntN(3)], records: r.IntN(9), dims: []madeDim{{"rec", 0}, {"x", 1 + r.IntN(5)}, {"y", 1 + r.IntN(7)}, {"z", 3}}}
	types := 6
	if m.version == 5 {
		types = 11
	}
	for i := range 1 + r.IntN(7) {
		v := madeVar{name: strings.Repeat("v", 1+i), typ: uint32(1 + r.IntN(types))}
		n := 1
		if r.IntN(4) > 0 {
			v.dims, n = append(v.dims, 0), m.records
		}
		for range r.IntN(4) {
			v.dims = append(v.dims, 1+r.IntN(3))
		}
		one, _ := m.inner(&v)
		for range n * one {
			v.data = append(v.data, byte('a'+r.IntN(26)))
		}
		m.vars = append(m.vars, v)
	}
	return m
}
