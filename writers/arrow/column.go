package arrow

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/arrow"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/writers/table"
)

// column gathers the buffers of a column for one batch.
type column struct {
	*table.Column
	rows  int
	nulls int
	valid []byte   // a byte for each row, empty while none is missing
	ends  [][]byte // i32: of each list of any length, then of bytes
	last  []int64  // of each of them
	data  []byte
	lent  []byte // in place of data: what the batch has, as long as Write has it
	bits  []byte // marks as they are stored
	path  []byte // the two buffers of paths, which are all missing
	blank []byte // the bytes of a missing value
}

func newColumn(c *table.Column) column {
	x := column{Column: c}
	n := 0
	for _, l := range c.Lists {
		if l == table.Jagged {
			n++
		}
	}
	if c.Media != "" {
		n++
	}
	x.ends, x.last = make([][]byte, n), make([]int64, n)
	x.blank = make([]byte, c.Size)
	x.reset()
	return x
}

func (c *column) reset() {
	c.rows, c.nulls, c.valid, c.data, c.lent = 0, 0, c.valid[:0], c.data[:0], nil
	for i := range c.ends {
		c.ends[i], c.last[i] = append(c.ends[i][:0], 0, 0, 0, 0), 0
	}
}

// own copies what is lent.
func (c *column) own() {
	c.data = append(c.data, c.lent...)
	c.lent = nil
}

// end closes a list, or a value of bytes.
func (c *column) end(i int, at int64) {
	c.last[i] = at
	c.ends[i] = binary.LittleEndian.AppendUint32(c.ends[i], uint32(at))
}

// key appends the name of a sample.
func (c *column) key(name []byte) {
	c.data = append(c.data, name...)
	c.end(0, int64(len(c.data)))
	c.rows++
}

// put appends samples [lo, hi). What is missing has no value in the file.
func (c *column) put(col *shardify.Column, lo, hi int) {
	if col.Valid != nil && len(c.valid) == 0 {
		for range c.rows {
			c.valid = append(c.valid, 1)
		}
	}
	c.rows += hi - lo
	if col.Valid == nil {
		if len(c.valid) > 0 {
			for range hi - lo {
				c.valid = append(c.valid, 1)
			}
		}
		c.values(col, lo, hi)
		return
	}
	c.valid = append(c.valid, col.Valid[lo:hi]...)
	for i := lo; i < hi; {
		end := i
		for end < hi && col.Valid[end] != 0 {
			end++
		}
		c.values(col, i, end)
		if i = end; i < hi {
			if c.nulls++; len(c.ends) > 0 {
				c.end(0, c.last[0])
			}
			c.own()
			c.data = append(c.data, c.blank...)
			i++
		}
	}
}

// values appends those of samples that are all there.
func (c *column) values(col *shardify.Column, lo, hi int) {
	from, to := col.Range(lo, hi)
	for i := range c.ends {
		o := col.Offsets[i][lo : hi+1]
		base := c.last[i] - o[0]
		lo, hi = int(o[0]), int(o[len(o)-1])
		for _, e := range o[1:] {
			c.ends[i] = binary.LittleEndian.AppendUint32(c.ends[i], uint32(base+e))
		}
		c.last[i] = base + o[len(o)-1]
	}
	if c.DType == c.From || c.From.Size() == 8 {
		if len(c.data) == 0 && len(c.lent) == 0 {
			c.lent = col.Data[from:to]
			return
		}
		c.own()
		c.data = append(c.data, col.Data[from:to]...)
		return
	}
	old := len(c.data)
	wide := (to - from) / c.From.Size() * c.DType.Size()
	c.data = append(c.data, make([]byte, wide)...)
	numeric.Convert(c.data[old:], c.DType, col.Data[from:to], c.From)
}

// buffers appends the nodes and buffers of the column.
func (c *column) buffers(nodes []arrow.Node, bufs [][]byte) ([]arrow.Node, [][]byte) {
	n, nulls, jagged := int64(c.rows), int64(c.nulls), 0
	next := func() {
		var marks []byte
		if nulls > 0 {
			c.bits = pack(c.bits[:0], c.valid)
			marks = c.bits
		}
		nodes, bufs = append(nodes, arrow.Node{Values: n, Nulls: nulls}), append(bufs, marks)
		nulls = 0
	}
	for _, l := range c.Lists {
		if next(); l == table.Jagged {
			bufs = append(bufs, c.ends[jagged])
			n = c.last[jagged]
			jagged++
		} else {
			n *= int64(l)
		}
	}
	if c.File {
		next()
	}
	data := c.data
	if len(c.lent) > 0 {
		data = c.lent
	}
	switch next(); {
	case c.Media != "":
		bufs = append(bufs, c.ends[jagged], data)
	case c.DType == shardify.Bool:
		c.own()
		c.data = pack(c.data[:0], c.data) // eight behind one
		bufs = append(bufs, c.data)
	default:
		bufs = append(bufs, data)
	}
	if c.File {
		for int64(len(c.path)) < 4*(n+1) {
			c.path = append(c.path, 0)
		}
		nodes = append(nodes, arrow.Node{Values: n, Nulls: n})
		bufs = append(bufs, c.path[:(n+7)/8], c.path[:4*(n+1)], nil)
	}
	return nodes, bufs
}

// pack appends a bit for each byte, which may be those that it overwrites.
func pack(dst, marks []byte) []byte {
	for len(marks) > 0 {
		v, n := byte(0), min(8, len(marks))
		for k, m := range marks[:n] {
			if m != 0 {
				v |= 1 << k
			}
		}
		dst, marks = append(dst, v), marks[n:]
	}
	return dst
}
