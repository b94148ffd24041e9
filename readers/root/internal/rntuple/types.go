package rntuple

import (
	"fmt"

	"github.com/shardify/shardify"
)

// colType is the encoding of a column's elements.
type colType uint16

// The column types of the format.
const (
	colBit colType = iota
	colByte
	colChar
	colInt8
	colUInt8
	colInt16
	colUInt16
	colInt32
	colUInt32
	colInt64
	colUInt64
	colReal16
	colReal32
	colReal64
	colIndex32
	colIndex64
	colSwitch
	colSplitInt16
	colSplitUInt16
	colSplitInt32
	colSplitUInt32
	colSplitInt64
	colSplitUInt64
	colSplitReal16
	colSplitReal32
	colSplitReal64
	colSplitIndex32
	colSplitIndex64
	colReal32Trunc
	colReal32Quant
)

// encoding is how the bytes of a page hold its elements.
type encoding uint8

const (
	stored  encoding = iota // little-endian, one after the other
	bit                     // one bit each
	split                   // byte k of all elements, for each k
	zigzag                  // split, and signed numbers as 0, -1, 1, -2, ...
	delta                   // split, and each but the first as difference
	packed                  // upper bits of a float32
	quantum                 // steps between two bounds
)

type columnType struct {
	name             string
	minBits, maxBits int
	dtype            shardify.DType // Invalid for Index and Switch, which are not values
	width            int            // of a decoded element
	enc              encoding
}

var columnTypes = [...]columnType{
	colBit:          {"Bit", 1, 1, shardify.Bool, 1, bit},
	colByte:         {"Byte", 8, 8, shardify.U8, 1, stored},
	colChar:         {"Char", 8, 8, shardify.I8, 1, stored},
	colInt8:         {"Int8", 8, 8, shardify.I8, 1, stored},
	colUInt8:        {"UInt8", 8, 8, shardify.U8, 1, stored},
	colInt16:        {"Int16", 16, 16, shardify.I16, 2, stored},
	colUInt16:       {"UInt16", 16, 16, shardify.U16, 2, stored},
	colInt32:        {"Int32", 32, 32, shardify.I32, 4, stored},
	colUInt32:       {"UInt32", 32, 32, shardify.U32, 4, stored},
	colInt64:        {"Int64", 64, 64, shardify.I64, 8, stored},
	colUInt64:       {"UInt64", 64, 64, shardify.U64, 8, stored},
	colReal16:       {"Real16", 16, 16, shardify.F16, 2, stored},
	colReal32:       {"Real32", 32, 32, shardify.F32, 4, stored},
	colReal64:       {"Real64", 64, 64, shardify.F64, 8, stored},
	colIndex32:      {"Index32", 32, 32, shardify.Invalid, 4, stored},
	colIndex64:      {"Index64", 64, 64, shardify.Invalid, 8, stored},
	colSwitch:       {"Switch", 96, 96, shardify.Invalid, 12, stored},
	colSplitInt16:   {"SplitInt16", 16, 16, shardify.I16, 2, zigzag},
	colSplitUInt16:  {"SplitUInt16", 16, 16, shardify.U16, 2, split},
	colSplitInt32:   {"SplitInt32", 32, 32, shardify.I32, 4, zigzag},
	colSplitUInt32:  {"SplitUInt32", 32, 32, shardify.U32, 4, split},
	colSplitInt64:   {"SplitInt64", 64, 64, shardify.I64, 8, zigzag},
	colSplitUInt64:  {"SplitUInt64", 64, 64, shardify.U64, 8, split},
	colSplitReal16:  {"SplitReal16", 16, 16, shardify.F16, 2, split},
	colSplitReal32:  {"SplitReal32", 32, 32, shardify.F32, 4, split},
	colSplitReal64:  {"SplitReal64", 64, 64, shardify.F64, 8, split},
	colSplitIndex32: {"SplitIndex32", 32, 32, shardify.Invalid, 4, delta},
	colSplitIndex64: {"SplitIndex64", 64, 64, shardify.Invalid, 8, delta},
	colReal32Trunc:  {"Real32Trunc", 10, 31, shardify.F32, 4, packed},
	colReal32Quant:  {"Real32Quant", 1, 32, shardify.F32, 4, quantum},
}

// String returns the name that the format's document uses.
func (t colType) String() string {
	if t.known() {
		return columnTypes[t].name
	}
	return fmt.Sprintf("column type 0x%02x", uint16(t))
}

func (t colType) known() bool { return int(t) < len(columnTypes) }

// index reports end offsets of a collection's items.
func (t colType) index() bool {
	return t == colIndex32 || t == colIndex64 || t == colSplitIndex32 || t == colSplitIndex64
}

// Width is the bytes of one decoded element: Bit has 1, reals of odd widths are
// float32, Switch is a u64 and a u32.
func (t colType) Width() int {
	if t.known() {
		return columnTypes[t].width
	}
	return 0
}

// names are the types of numbers as files spell them.
var names = map[string]shardify.DType{
	"bool": shardify.Bool, "char": shardify.I8, "signed char": shardify.I8, "unsigned char": shardify.U8, "std::byte": shardify.U8,
	"std::int8_t": shardify.I8, "std::uint8_t": shardify.U8, "std::int16_t": shardify.I16, "std::uint16_t": shardify.U16,
	"std::int32_t": shardify.I32, "std::uint32_t": shardify.U32, "std::int64_t": shardify.I64, "std::uint64_t": shardify.U64,
	"short": shardify.I16, "unsigned short": shardify.U16, "int": shardify.I32, "unsigned int": shardify.U32,
	"long": shardify.I64, "unsigned long": shardify.U64, "long long": shardify.I64, "unsigned long long": shardify.U64,
	"float": shardify.F32, "double": shardify.F64,
}
