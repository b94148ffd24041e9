package ttree

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// embedded is a basket inside the tree's record, which it keeps in memory.
type embedded struct {
	head    basketHead
	index   int // in the branch's list
	keyLen  int
	offsets []byte
	data    []byte // nil for a stub, see stub
}

// stub reports whether this is only a head: groot writes one beside each record.
func (e *embedded) stub() bool { return e.data == nil }

// readEmbedded reads the body of a TBasket in an object slot. It has no frame.
func readEmbedded(c *rfile.Cursor) *embedded {
	start := c.Pos()
	e := &embedded{}
	e.keyLen, e.head = basketKeyLen(c)
	flag := e.head.flag
	if c.Err() == nil && c.Pos()-start != e.keyLen && flag != 0 {
		c.Fail("the head of an embedded basket has %d bytes, its key says %d", c.Pos()-start, e.keyLen)
		return e
	}
	generated := flag >= 80
	if flag < 80 && flag != 0 && flag%10 != 2 && e.head.entries > 0 {
		n := c.Count(4)
		e.offsets = c.Bytes(4 * n)
		if c.Err() == nil && n < e.head.entries {
			c.Fail("%d offsets for %d entries", n, e.head.entries)
		}
	}
	if generated {
		flag -= 80
	}
	if flag > 40 {
		c.Skip(4 * c.Count(4)) // displacements
	}
	if flag == 1 || flag > 10 {
		n := e.head.last
		if e.head.version < 2 {
			n = int(c.I32())
		}
		raw := c.Bytes(n)
		if c.Err() == nil && (e.keyLen > len(raw) || e.head.last > len(raw)) {
			c.Fail("embedded basket of %d bytes, its key has %d", len(raw), e.keyLen)
		}
		if c.Err() == nil {
			e.data = raw[e.keyLen:e.head.last:e.head.last]
		}
	}
	return e
}

// basketKeyLen reads key and head of a basket.
func basketKeyLen(c *rfile.Cursor) (keyLen int, h basketHead) {
	pos := c.Pos()
	c.Skip(14)
	keyLen = int(c.I16())
	if c.Err() == nil {
		c.SeekTo(pos)
	}
	h = readBasketHead(c)
	if c.Err() == nil && (keyLen < 0 || h.last < 0 || h.entries < 0) {
		c.Fail("basket with a key of %d bytes, data up to byte %d, %d entries", keyLen, h.last, h.entries)
	}
	return keyLen, h
}

// fill fills a basket from e. Its data are part of the tree's record.
func (e *embedded) fill(out *Basket) error {
	if e.head.entries != out.Entries {
		return shardify.Corrupt(-1, "entries: the embedded basket says %d, the branch's table %d", e.head.entries, out.Entries)
	}
	out.Data = e.data
	switch {
	case e.head.flag >= 80:
		out.Generated = true
	case len(e.offsets) > 0:
		out.Raw = e.offsets[:4*out.Entries]
		out.Bias = e.keyLen
		out.Mask = 0xFFFFFFFF
		if e.head.flag > 20 && e.head.flag < 40 {
			out.Mask = 0x00FFFFFF // the top byte holds a displacement
		}
		if first := int(binary.BigEndian.Uint32(out.Raw) & out.Mask); first != out.Bias {
			return shardify.Corrupt(-1, "the embedded basket's first entry is at byte %d, its key has %d", first, out.Bias)
		}
	default:
		out.Width = e.head.nevBufSize
		if int64(out.Width)*int64(out.Entries) != int64(len(out.Data)) {
			return shardify.Corrupt(-1, "%d entries of %d bytes do not make %d bytes", out.Entries, out.Width, len(out.Data))
		}
	}
	return nil
}
