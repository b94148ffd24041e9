package ttree

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/block"
	"github.com/shardify/shardify/readers/root/internal/rfile"
)

// Basket is the content of a basket: entries back to back, and where each begins.
type Basket struct {
	First   int64 // entry
	Entries int
	// Data is the entries' bytes. It is part of the record if that was stored,
	// else of Buf, else of the tree's record.
	Data []byte
	// Width is the bytes of every entry, or 0 if entries have offsets.
	Width int
	// Generated: there are no offsets; entries' lengths follow from the counter.
	Generated bool
	// Buf is the buffer given to Decode, or a larger one in its place.
	Buf []byte

	Raw   []byte // Entries big-endian offsets, nil without
	Bias  int    // to take from each
	delta bool   // they are differences
	Mask  uint32 // of the bits that count
}

// Scratch is memory for ReadBasket, to be used again by the same goroutine. The
// zero value is ready.
type Scratch struct{ record, payload []byte }

// ReadBasket reads and decodes basket i. The result is good until s is used again.
// f is the branch's file. It may be called concurrently, with a Scratch each.
func (b *Branch) ReadBasket(f *rfile.File, i int, s *Scratch) (Basket, error) {
	var rec []byte
	if !b.Baskets.IsEmbedded(i) {
		n := int(b.Baskets.Bytes[i])
		if off := b.Baskets.Seek[i]; off < 0 || off > f.Size()-int64(n) {
			return Basket{}, b.basketErr(shardify.Corrupt(off, "basket %d of %d bytes, the file has %d", i, n, f.Size()), i)
		}
		if cap(s.record) < n {
			s.record = make([]byte, n)
		}
		rec = s.record[:n]
		if err := f.ReadFull(rec, b.Baskets.Seek[i]); err != nil {
			return Basket{}, b.basketErr(err, i)
		}
	}
	basket, err := b.Decode(i, rec, s.payload)
	if basket.Buf != nil {
		s.payload = basket.Buf
	}
	return basket, err
}

// Decode decodes basket i from its record: the Bytes[i] bytes at Seek[i] of the
// file, or nil if the basket is embedded. A compressed payload goes to buf if its
// capacity suffices. It may be called concurrently, with a buf each.
func (b *Branch) Decode(i int, rec, buf []byte) (Basket, error) {
	out := Basket{First: b.Baskets.First[i], Entries: int(b.Baskets.First[i+1] - b.Baskets.First[i]), Buf: buf}
	var err error
	if b.Baskets.IsEmbedded(i) {
		err = b.Baskets.Embedded[i].fill(&out)
	} else {
		err = out.fill(rec)
	}
	return out, b.basketErr(err, i)
}

// fill takes the basket from its record.
func (b *Basket) fill(rec []byte) error {
	h, err := rfile.ParseHeader(rec)
	if err != nil {
		return err
	}
	if h.Nbytes != len(rec) {
		return shardify.Corrupt(0, "the basket has %d bytes, its key says %d", len(rec), h.Nbytes)
	}
	head, err := recordHead(rec[:h.KeyLen])
	if err != nil {
		return err
	}
	if head.entries != b.Entries {
		return shardify.Corrupt(0, "entries: the basket says %d, the branch's table %d", head.entries, b.Entries)
	}
	if head.last < h.KeyLen || head.last-h.KeyLen > h.ObjLen {
		return shardify.Corrupt(0, "the basket's data end at byte %d of %d", head.last, h.KeyLen+h.ObjLen)
	}
	payload := rec[h.KeyLen:]
	if h.Compressed() {
		if payload, err = b.unpack(payload, h.ObjLen); err != nil {
			return err
		}
	}
	return head.split(b, payload[:h.ObjLen], h.KeyLen)
}

// unpack decompresses n bytes into Buf.
func (b *Basket) unpack(src []byte, n int) ([]byte, error) {
	if cap(b.Buf) < n {
		if err := block.Check(int64(n), src); err != nil {
			return nil, err
		}
		b.Buf = make([]byte, n)
	}
	b.Buf = b.Buf[:n]
	return b.Buf, block.Decode(b.Buf, src)
}

// recordHead reads the basket's head in the key of a record; it ends where the
// key does.
func recordHead(key []byte) (basketHead, error) {
	var c rfile.Cursor
	c.Reset(key, 0)
	head := readBasketHead(&c)
	if c.Err() == nil && c.Len() != 0 {
		c.Fail("the basket's head ends %d bytes before its key", c.Len())
	}
	return head, c.Err()
}

// basketHead is what follows the key's strings.
type basketHead struct {
	version    int
	nevBufSize int
	ioBits     uint8
	entries    int
	last       int
	flag       int
}

// fGenerateOffsetMap is the one I/O bit in use.
const fGenerateOffsetMap = 1

// readBasketHead passes the key at the cursor and reads the basket's head.
func readBasketHead(c *rfile.Cursor) basketHead {
	c.Skip(4)
	version := c.I16()
	c.Skip(20)
	if version > 1000 {
		c.Skip(8)
	}
	c.CStr()
	c.CStr()
	c.CStr()
	h := basketHead{version: int(c.I16())}
	c.Skip(4) // fBufferSize
	h.nevBufSize = int(c.I32())
	if h.nevBufSize < 0 {
		h.nevBufSize = -h.nevBufSize
		h.ioBits = c.U8()
		if h.ioBits != fGenerateOffsetMap {
			c.FailWith(shardify.Unsupported("basket with I/O bits %#x", h.ioBits))
		}
	}
	h.entries = int(c.I32())
	h.last = int(c.I32())
	h.flag = int(c.U8())
	return h
}

// split separates the data and the offsets of a decompressed payload.
func (h *basketHead) split(out *Basket, payload []byte, keyLen int) error {
	border := h.last - keyLen
	out.Data = payload[:border:border]
	switch {
	case h.flag >= 80:
		out.Generated = true
		return nil
	case len(payload) == border:
		out.Width = h.nevBufSize
		if h.entries > 0 && int64(out.Width)*int64(h.entries) != int64(border) {
			return shardify.Corrupt(0, "%d entries of %d bytes do not make %d bytes", h.entries, out.Width, border)
		}
		return nil
	}
	tail := payload[border:]
	if len(tail) < 4 {
		return shardify.Corrupt(int64(h.last), "%d bytes in place of offsets", len(tail))
	}
	n := int(int32(binary.BigEndian.Uint32(tail)))
	if n < h.entries || n > len(tail)/4-1 {
		return shardify.Corrupt(int64(h.last), "%d offsets for %d entries in %d bytes", n, h.entries, len(tail)-4)
	}
	out.Raw = tail[4 : 4+4*h.entries]
	out.Bias = keyLen
	out.delta = h.ioBits&fGenerateOffsetMap != 0
	out.Mask = 0xFFFFFFFF
	return nil
}

// Offsets returns Entries+1 offsets into Data, in the memory of dst where it suffices: entry i
// is Data[o[i]:o[i+1]]. They never fall and stay inside. A basket with Generated has none.
func (b *Basket) Offsets(dst []int32) ([]int32, error) {
	if b.Generated {
		return dst[:0], shardify.Unsupported("basket without offsets")
	}
	n := b.Entries + 1
	if cap(dst) < n {
		dst = make([]int32, n+n/4)
	}
	dst = dst[:n]
	if raw, bias, ok := b.Plain(); ok && b.swapped(dst, raw, uint32(bias)) {
		return dst, nil
	}
	return b.anyOffsets(dst)
}

// Plain returns the stored offsets, big-endian, and what is to be taken from each, if the
// basket lists every one of them as it is.
func (b *Basket) Plain() (raw []byte, bias int, ok bool) {
	ok = b.Width == 0 && !b.Generated && !b.delta && b.Mask == 0xFFFFFFFF && b.Entries > 0 && len(b.Raw) >= 4*b.Entries
	return b.Raw, b.Bias, ok
}

// swapped fills o with plain offsets in one quick pass; false if they are wrong.
func (b *Basket) swapped(o []int32, raw []byte, bias uint32) bool {
	n := b.Entries
	raw = raw[:4*n]
	last, falls := int32(0), int32(0)
	for i := range o[:n] {
		v := int32(binary.BigEndian.Uint32(raw[4*i:4*i+4]) - bias)
		falls |= (v - last) | v // negative as soon as one falls, or is
		o[i] = v
		last = v
	}
	end := int32(len(b.Data))
	o[n] = end
	return falls|(end-last) >= 0 && o[0] == 0
}

// anyOffsets fills o with offsets of any form, or says what is wrong with them.
func (b *Basket) anyOffsets(o []int32) ([]int32, error) {
	o[b.Entries] = int32(len(b.Data))
	if b.Raw == nil {
		for i := range b.Entries {
			o[i] = int32(i * b.Width)
		}
		return o, nil
	}
	last, bad := int32(0), int32(0) // bad gets its sign bit from any step back
	sum := uint32(0)
	for i := range b.Entries {
		v := binary.BigEndian.Uint32(b.Raw[4*i:]) & b.Mask
		if b.delta {
			// Lengths of the entries before; the first item says nothing.
			if i > 0 {
				sum += v
			}
			v = sum
		} else {
			v -= uint32(b.Bias)
		}
		bad |= int32(v) | (int32(v) - last)
		last = int32(v)
		o[i] = last
	}
	if bad < 0 || b.Entries > 0 && o[0] != 0 || int(last) > len(b.Data) {
		return o[:0], shardify.Corrupt(-1, "the offsets of %d entries do not rise from 0 to %d", b.Entries, len(b.Data))
	}
	return o, nil
}

// Own reports whether the basket's bytes are in Buf, which the caller may keep, and not in
// a record or tree that others use.
func (b *Basket) Own() bool {
	return cap(b.Buf) > 0 && cap(b.Data) > 0 && within(b.Buf[:cap(b.Buf)], b.Data)
}

// within reports whether part begins in the memory of whole: Decode puts a
// decompressed payload to its beginning.
func within(whole, part []byte) bool {
	return len(part) > 0 && &whole[0] == &part[0]
}

// basketErr puts branch and first entry into an error of basket i.
func (b *Branch) basketErr(err error, i int) error {
	if err == nil {
		return nil
	}
	e := shardify.Annotate(err, "read", "", b.Tree.Path).(*shardify.Error)
	if e.Field == "" {
		e.Field = b.Path
	}
	if e.Sample < 0 {
		e.Sample = b.Baskets.First[i]
	}
	return e
}
