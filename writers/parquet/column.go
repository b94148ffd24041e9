package parquet

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/writers/table"
)

// The physical types of Parquet.
const (
	pBool  = 0
	pI32   = 1
	pI64   = 2
	pF32   = 4
	pF64   = 5
	pBytes = 6
	pFixed = 7
)

// column is how a field is written.
type column struct {
	table.Column

	// The levels of a sample that is there, if all have the same.
	oneRep, oneDef []byte

	// Of the current row group.
	rep, def []byte
	data     []byte
	nulls    int64
}

// plan are the columns of a schema. It refuses what Parquet does not hold.
func plan(schema []shardify.Field, keyed bool) ([]column, error) {
	all, err := table.Plan("Parquet", schema, keyed)
	cols := make([]column, len(all))
	for i := range all {
		cols[i].Column = all[i]
	}
	return cols, err
}

// plain are the columns without what is of the current row group.
func plain(cols []column) []table.Column {
	all := make([]table.Column, len(cols))
	for i := range cols {
		all[i] = cols[i].Column
	}
	return all
}

// most is the definition level of a value that is there: one for each part that may lack.
func (c *column) most() int {
	n := 1 + 2*len(c.Lists)
	if c.File {
		n++
	}
	return n
}

// physical is the type of values in the file.
func (c *column) physical() int {
	switch {
	case c.Media != "":
		return pBytes
	case c.DType == shardify.Bool:
		return pBool
	case c.DType == shardify.F16:
		return pFixed
	case c.DType == shardify.F32:
		return pF32
	case c.DType == shardify.F64:
		return pF64
	case c.DType.Size() == 8:
		return pI64
	}
	return pI32
}

// levels appends those of sample i.
func (c *column) levels(col *shardify.Column, i int) {
	if col.Valid != nil && col.Valid[i] == 0 {
		c.rep, c.def = append(c.rep, 0), append(c.def, 0)
		c.nulls++
		return
	}
	if c.Size == 0 {
		c.walk(col, 0, int64(i), 0)
		return
	}
	if c.oneDef == nil {
		n := len(c.def)
		c.walk(col, 0, int64(i), 0)
		c.oneRep, c.oneDef = bytes.Clone(c.rep[n:]), bytes.Clone(c.def[n:])
		return
	}
	c.rep, c.def = append(c.rep, c.oneRep...), append(c.def, c.oneDef...)
}

func (c *column) walk(col *shardify.Column, k int, at int64, rep byte) {
	if k == len(c.Lists) {
		c.rep, c.def = append(c.rep, rep), append(c.def, byte(c.most()))
		return
	}
	lo, hi := at*int64(c.Lists[k]), (at+1)*int64(c.Lists[k])
	if c.Lists[k] == table.Jagged {
		lo, hi = col.Offsets[k][at], col.Offsets[k][at+1]
	}
	if lo == hi {
		c.rep, c.def = append(c.rep, rep), append(c.def, byte(2*k+1))
		c.nulls++
		return
	}
	if k < len(c.Lists)-1 {
		for ; lo < hi; lo++ {
			c.walk(col, k+1, lo, rep)
			rep = byte(k + 1)
		}
		return
	}
	for m := byte(c.most()); lo < hi; lo++ {
		c.rep, c.def = append(c.rep, rep), append(c.def, m)
		rep = byte(k + 1)
	}
}

// values appends those of samples [lo, hi), which are all there.
func (c *column) values(col *shardify.Column, lo, hi int) {
	if c.Media != "" {
		ends := col.Offsets[len(col.Offsets)-1]
		if len(col.Offsets) > 1 {
			lo, hi = int(col.Offsets[0][lo]), int(col.Offsets[0][hi])
		}
		for i := lo; i < hi; i++ {
			c.data = binary.LittleEndian.AppendUint32(c.data, uint32(ends[i+1]-ends[i]))
			c.data = append(c.data, col.Data[ends[i]:ends[i+1]]...)
		}
		return
	}
	from, to := col.Range(lo, hi)
	c.numbers(col.Data[from:to])
}

// numbers appends numbers in the type that the file has.
func (c *column) numbers(b []byte) {
	wide := 4
	if c.Labels != nil {
		wide = 8
	}
	if n := c.From.Size(); n >= wide || c.From == shardify.Bool || c.From == shardify.F16 {
		c.data = append(c.data, b...)
		return
	}
	for ; len(b) > 0; b = b[c.From.Size():] {
		v := uint64(0)
		switch c.From {
		case shardify.I8:
			v = uint64(int8(b[0]))
		case shardify.U8:
			v = uint64(b[0])
		case shardify.I16:
			v = uint64(int16(binary.LittleEndian.Uint16(b)))
		case shardify.U16:
			v = uint64(binary.LittleEndian.Uint16(b))
		case shardify.I32:
			v = uint64(int32(binary.LittleEndian.Uint32(b)))
		default:
			v = uint64(binary.LittleEndian.Uint32(b))
		}
		if wide == 8 {
			c.data = binary.LittleEndian.AppendUint64(c.data, v)
		} else {
			c.data = binary.LittleEndian.AppendUint32(c.data, uint32(v))
		}
	}
}

// page appends the body of the page of the row group: levels, then values.
func (c *column) page(dst []byte, def []byte, most int, values bool) []byte {
	if len(c.Lists) > 0 {
		dst = appendLevels(dst, c.rep, len(c.Lists))
	}
	dst = appendLevels(dst, def, most)
	switch {
	case !values:
	case c.DType == shardify.Bool && c.Media == "":
		for i := 0; i < len(c.data); i += 8 {
			v := byte(0)
			for k, b := range c.data[i:min(i+8, len(c.data))] {
				v |= b << k
			}
			dst = append(dst, v)
		}
	default:
		dst = append(dst, c.data...)
	}
	return dst
}

// appendLevels appends levels up to most, behind their length: runs of equal ones, and groups of
// eight in as many bits as most takes.
func appendLevels(dst, levels []byte, most int) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	width := bits.Len(uint(most))
	for i := 0; i < len(levels); {
		if n := run(levels[i:]); n >= 8 {
			dst = append(binary.AppendUvarint(dst, uint64(n)<<1), levels[i])
			i += n
			continue
		}
		end := i + 8
		for end < len(levels) && run(levels[end:min(end+8, len(levels))]) < 8 {
			end += 8
		}
		groups := (end - i) / 8
		dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
		for ; groups > 0; groups-- {
			v := uint64(0)
			for k, l := range levels[min(i, len(levels)):min(i+8, len(levels))] {
				v |= uint64(l) << (k * width)
			}
			for range width {
				dst = append(dst, byte(v))
				v >>= 8
			}
			i += 8
		}
	}
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// run is how many equal levels there are.
func run(b []byte) int {
	n := 1
	for n < len(b) && b[n] == b[0] {
		n++
	}
	return n
}
