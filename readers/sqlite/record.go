package sqlite

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"github.com/shardify/shardify"
)

// value is a value in a row: its serial type, and where its bytes begin.
type value struct {
	serial uint64
	off    int64
}

// sizes of values, by serial type.
var sizes = [12]int64{1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 7: 8}

func (v value) size() int64 {
	if v.serial < 12 {
		return sizes[v.serial]
	}
	return int64((v.serial - 12) / 2)
}

var classes = [12]sqlite.ColumnType{sqlite.TypeNull, 1, 1, 1, 1, 1, 1, sqlite.TypeFloat, 1, 1}

// class is what a value is.
func (v value) class() sqlite.ColumnType {
	switch {
	case v.serial < 12:
		return classes[v.serial]
	case v.serial%2 == 0:
		return sqlite.TypeBlob
	}
	return sqlite.TypeText
}

// columns finds the first values of the current row, as many as cols has room for.
func (c *cursor) columns() error {
	n, at := varint(c.row)
	if at == 0 || n < uint64(at) || n > uint64(c.bytes) {
		return c.corrupt(c.number, "a row with a head of %d bytes", n)
	}
	if int64(n) > int64(len(c.row)) {
		if err := c.fetch(); err != nil {
			return err
		}
	}
	head, off := c.row[:n], int64(n)
	c.have = 0
	for at < len(head) && c.have < len(c.cols) {
		s := uint64(head[at])
		if at++; s >= 0x80 {
			k := 0
			if s, k = varint(head[at-1:]); k == 0 {
				return c.corrupt(c.number, "a row whose head ends early")
			}
			at += k - 1
		}
		v := value{s, off}
		if v.size() > c.bytes-off || s == 10 || s == 11 {
			return c.corrupt(c.number, "a value of type %d in a row of %d bytes", s, c.bytes)
		}
		off += v.size()
		c.cols[c.have] = v
		c.have++
	}
	c.beyond = at < len(head)
	return nil
}

// data is the bytes of a value.
func (c *cursor) data(v value) ([]byte, error) {
	end := v.off + v.size()
	if end > int64(len(c.row)) {
		if err := c.fetch(); err != nil {
			return nil, err
		}
	}
	return c.row[v.off:end], nil
}

// whole is a whole number of a serial type.
func whole(b []byte, serial uint64) int64 {
	switch serial {
	case 1:
		return int64(int8(b[0]))
	case 2:
		return int64(int16(be.Uint16(b)))
	case 3:
		return int64(int8(b[0]))<<16 | int64(be.Uint16(b[1:]))
	case 4:
		return int64(int32(be.Uint32(b)))
	case 5:
		return int64(int16(be.Uint16(b)))<<32 | int64(be.Uint32(b[2:]))
	case 6:
		return int64(be.Uint64(b))
	}
	return int64(serial) - 8 // 0 and 1 take no bytes
}

// cell is a value apart from its row.
type cell struct {
	Class sqlite.ColumnType `json:"c"`
	Bits  uint64            `json:"b,omitempty"` // of a number
	Text  []byte            `json:"t,omitempty"`
}

// cell reads the value of a column of the current row, which is valid until the next one.
func (c *cursor) cell(x *field) (cell, error) {
	switch {
	case x.Rowid:
		return cell{Class: sqlite.TypeInteger, Bits: uint64(c.rowid)}, nil
	case x.At >= c.have:
		if x.Added == nil {
			return cell{Class: sqlite.TypeNull}, nil
		}
		return *x.Added, nil
	}
	v := c.cols[x.At]
	b, err := c.data(v)
	switch class := v.class(); class {
	case sqlite.TypeInteger:
		if err == nil {
			return cell{Class: class, Bits: uint64(whole(b, v.serial))}, nil
		}
	case sqlite.TypeFloat:
		if err == nil && isNaN(b) {
			return cell{Class: sqlite.TypeNull}, nil
		}
		if err == nil {
			return cell{Class: class, Bits: be.Uint64(b)}, nil
		}
	default:
		return cell{Class: class, Text: b}, err
	}
	return cell{}, err
}

// isNaN reports whether a floating-point number is one that SQLite never writes, and takes for NULL.
func isNaN(b []byte) bool { return be.Uint64(b)<<1 > 0x7ff<<53 }

// float is a number as one.
func (x *cell) float() float64 {
	if x.Class == sqlite.TypeInteger {
		return float64(int64(x.Bits))
	}
	return math.Float64frombits(x.Bits)
}

// appendFloat writes a floating-point number with all its digits: as SQLite does, which writes
// fewer.
func appendFloat(to []byte, bits uint64) []byte {
	n := len(to)
	to = strconv.AppendFloat(to, math.Float64frombits(bits), 'g', -1, 64)
	if !bytes.ContainsAny(to[n:], ".eI") {
		to = append(to, ".0"...)
	}
	return to
}

// The encodings of texts in a database.
const (
	encUTF16LE = 2
	encUTF16BE = 3
)

// appendUTF8 appends a text in the encoding of its database.
func appendUTF8(to, text []byte, encoding uint32) ([]byte, error) {
	if encoding < encUTF16LE {
		return append(to, text...), nil
	}
	swap := int(encoding - encUTF16LE)
	unit := func(i int) rune { return rune(text[i+swap]) | rune(text[i+1-swap])<<8 }
	if len(text)%2 != 0 {
		return to, shardify.Corrupt(-1, "a text in UTF-16 of %d bytes", len(text))
	}
	for i := 0; i < len(text); i += 2 {
		r := unit(i)
		if utf16.IsSurrogate(r) {
			low := rune(0)
			if i+2 < len(text) {
				low = unit(i + 2)
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return to, shardify.Corrupt(-1, "half a pair of surrogates in a text in UTF-16")
			}
			i += 2
		}
		to = utf8.AppendRune(to, r)
	}
	return to, nil
}
