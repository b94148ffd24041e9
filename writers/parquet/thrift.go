package parquet

import "encoding/binary"

// The types of the compact protocol of Thrift.
const (
	tTrue   = 1
	tFalse  = 2
	tByte   = 3
	tI16    = 4
	tI32    = 5
	tI64    = 6
	tBinary = 8
	tList   = 9
	tStruct = 12
)

// thrift writes structures in the compact protocol of Thrift.
type thrift struct {
	b    []byte
	last []int // the number of the field before, in each open structure
}

func (t *thrift) field(n int, kind byte) {
	last := &t.last[len(t.last)-1]
	t.b = append(t.b, byte(n-*last)<<4|kind) // all numbers rise by less than 16
	*last = n
}

func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

func (t *thrift) number(n int, kind byte, v int64) {
	t.field(n, kind)
	t.b = binary.AppendVarint(t.b, v) // zigzag, as there
}

func (t *thrift) i32(n int, v int) { t.number(n, tI32, int64(v)) }

func (t *thrift) i64(n int, v int64) { t.number(n, tI64, v) }

func (t *thrift) text(n int, s string) {
	t.field(n, tBinary)
	t.bytes(s)
}

func (t *thrift) bytes(s string) {
	t.b = binary.AppendUvarint(t.b, uint64(len(s)))
	t.b = append(t.b, s...)
}

func (t *thrift) list(n int, kind byte, count int) {
	t.field(n, tList)
	if count < 15 {
		t.b = append(t.b, byte(count)<<4|kind)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 0xf0|kind), uint64(count))
}

func (t *thrift) structure(n int, fields func()) {
	t.field(n, tStruct)
	t.begin()
	fields()
	t.end()
}
