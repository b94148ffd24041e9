// Package page decodes the pages of Parquet column chunks: compression, levels, encodings.
// It gets bytes of which nothing is known. It gives the values that are present, dense, in
// the form that a batch has.
//
// A data page, decompressed:
//
//	version 1   u32 n, n bytes of repetition levels   if the column has any
//	            u32 n, n bytes of definition levels   if the column has any
//	            values
//	version 2   repetition levels, definition levels  lengths in the header, never compressed
//	            values
//
// Levels and dictionary indices are runs (rle.go). The kernel that unpacks bits is the
// one of parquet-go; it is called with bounds checked, since it is assembly.
package page

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// Slack is how many bytes behind their length the buffers given to this package must
// have: the kernels read whole words.
const Slack = 64

// maxEntries bounds the entries of one page: the levels of more take over a gigabyte to
// decode, and no writer makes such pages.
const maxEntries = 1 << 26

// Column says what the pages of a column hold and what becomes of the values.
type Column struct {
	Type           format.Type
	Width          int // bytes of a value in the file; 0 for BYTE_ARRAY, 1 for BOOLEAN
	MaxDef, MaxRep int
	Form           Form
}

// Page is a decoded data page. It owns its buffers and is meant to be used again.
type Page struct {
	Entries int // values, nulls and empty lists
	Values  int // entries that are present
	// Rep and Def have a level for each entry. Rep is nil in a column without lists,
	// Def if every entry is present.
	Rep, Def []uint8
	// Index, if set, has for every value its place in the dictionary. Else the values
	// are in Vals.
	Index []int32
	Vals  Values

	body []byte // decompressed
	own  scratch
}

// Values are dense values: Fixed of the form's width each, or bytes of any length.
type Values struct {
	N     int
	Fixed []byte
	// Data and Cuts: value i is Data[Cuts[i]>>32:][:uint32(Cuts[i])].
	Data []byte
	Cuts []uint64
}

// Value i of any length.
func (v *Values) Value(i int) []byte {
	c := v.Cuts[i]
	return v.Data[c>>32:][:uint32(c)]
}

// Dict is a decoded dictionary.
type Dict struct {
	Vals Values
	body []byte
	own  scratch
}

// scratch are buffers of one page.
type scratch struct {
	rep, def []uint8
	index    []int32
	raw      []byte   // values in the file's form
	out      []byte   // and in the batch's
	cuts     []uint64 // of raw
	outCuts  []uint64
	ints     []int64
	ints2    []int64
}

// Memory is the bytes that the page's buffers take.
func (p *Page) Memory() int64 { return int64(cap(p.body)) + p.own.memory() }

// Memory is the bytes that the dictionary's buffers take.
func (d *Dict) Memory() int64 { return int64(cap(d.body)) + d.own.memory() }

func (s *scratch) memory() int64 {
	return int64(cap(s.rep)+cap(s.def)+4*cap(s.index)+cap(s.raw)+cap(s.out)) +
		8*int64(cap(s.cuts)+cap(s.outCuts)+cap(s.ints)+cap(s.ints2))
}

// Need is about what a page takes to be decoded into new buffers: its bytes, and for
// each entry levels and an index, a value of another form, or a place.
func Need(c *Column, h *pq.PageHeader) int64 {
	each := int64(2)
	switch {
	case c.Form.Width == 0:
		each += 8
	case h.Encoding == format.Plain && c.Form.Kind == plainForm:
	case h.Encoding == format.RLEDictionary || h.Encoding == pq.PlainDictionary:
		each += 4
	default:
		each += int64(max(c.Form.Width, c.Width))
	}
	n := int64(h.Uncompressed) + int64(h.Values)*each
	return n + min(n/4, spare)
}

// checkCRC compares the bytes of a page with the checksum in its header.
func checkCRC(h *pq.PageHeader, b []byte) error {
	if h.CRC == 0 {
		return nil
	}
	if sum := crc32.ChecksumIEEE(b); sum != h.CRC {
		return shardify.Corrupt(-1, "crc32 is %08x, stored %08x", sum, h.CRC)
	}
	return nil
}

// ReadDict decodes a dictionary page.
func (d *Dict) ReadDict(c *Column, codec format.CompressionCodec, h *pq.PageHeader, b []byte) (err error) {
	if err := checkCRC(h, b); err != nil {
		return err
	}
	if h.Encoding != format.Plain && h.Encoding != pq.PlainDictionary {
		return shardify.Unsupported("a dictionary encoded as %v", h.Encoding)
	}
	if h.Values > maxEntries {
		return shardify.Unsupported("a dictionary of %d values", h.Values)
	}
	if d.body, err = decompress(codec, d.body, b, h.Uncompressed); err != nil {
		return err
	}
	return d.own.values(c, format.Plain, d.body, h.Values, &d.Vals)
}

// Own gives the page the bytes that it is to be read from next, which has no other user:
// where they are not compressed they become its own.
func (p *Page) Own(b []byte) { p.body = b }

// Read decodes a data page. dict may be nil.
func (p *Page) Read(c *Column, codec format.CompressionCodec, h *pq.PageHeader, b []byte, dict *Dict) error {
	if err := checkCRC(h, b); err != nil {
		return err
	}
	p.Entries, p.Rep, p.Def, p.Index, p.Vals = h.Values, nil, nil, nil, Values{}
	if h.Values > maxEntries {
		return shardify.Unsupported("a page of %d values", h.Values)
	}
	var src []byte
	var err error
	if h.V2() {
		src, err = p.version2(c, codec, h, b)
	} else {
		src, err = p.version1(c, codec, h, b)
	}
	if err != nil {
		return err
	}
	p.Values = p.Entries
	if p.Def != nil {
		p.Values = CountEqual(p.Def, uint8(c.MaxDef))
	}
	switch h.Encoding {
	case format.RLEDictionary, pq.PlainDictionary:
		return p.indices(src, dict)
	}
	return p.own.values(c, h.Encoding, src, p.Values, &p.Vals)
}

func (p *Page) version1(c *Column, codec format.CompressionCodec, h *pq.PageHeader, b []byte) (src []byte, err error) {
	if p.body, err = decompress(codec, p.body, b, h.Uncompressed); err != nil {
		return nil, err
	}
	src = p.body
	if c.MaxRep > 0 {
		if p.Rep, src, err = levels1(p.own.rep, src, p.Entries, c.MaxRep, h.RepEncoding, repetition); err != nil {
			return nil, kind(err, repetition)
		}
		p.own.rep = p.Rep
	}
	if c.MaxDef > 0 {
		if p.Def, src, err = levels1(p.own.def, src, p.Entries, c.MaxDef, h.DefEncoding, definition); err != nil {
			return nil, kind(err, definition)
		}
	}
	p.dropDef(c)
	return src, nil
}

// dropDef forgets definition levels that say that everything is present.
func (p *Page) dropDef(c *Column) {
	if p.Def != nil {
		p.own.def = p.Def
	}
	if p.Def != nil && CountEqual(p.Def, uint8(c.MaxDef)) == len(p.Def) {
		p.Def = nil
	}
}

func (p *Page) version2(c *Column, codec format.CompressionCodec, h *pq.PageHeader, b []byte) ([]byte, error) {
	size := h.RepLen + h.DefLen
	if size > len(b) || size > h.Uncompressed {
		return nil, shardify.Corrupt(-1, "levels of %d bytes in a page of %d", size, len(b))
	}
	var err error
	if c.MaxRep > 0 {
		if p.Rep, err = levels(p.own.rep, b[:h.RepLen], p.Entries, c.MaxRep); err != nil {
			return nil, kind(err, repetition)
		}
		p.own.rep = p.Rep
	}
	if defs := b[h.RepLen:size]; c.MaxDef > 0 && !whole(defs, p.Entries, c.MaxDef) {
		if p.Def, err = levels(p.own.def, defs, p.Entries, c.MaxDef); err != nil {
			return nil, kind(err, definition)
		}
	}
	p.dropDef(c)
	if !h.ValuesCompressed {
		codec = format.Uncompressed
	}
	p.body, err = decompress(codec, p.body, b[size:], h.Uncompressed-size)
	return p.body, err
}

// levels1 decodes the levels at the start of a version 1 page and returns what
// follows.
func levels1(dst []uint8, src []byte, n, highest int, enc format.Encoding, what string) ([]uint8, []byte, error) {
	if enc == format.BitPacked {
		return oldLevels(dst, src, n, highest)
	}
	if enc != format.RLE {
		return dst, nil, shardify.Unsupported("levels encoded as %v", enc)
	}
	if len(src) < 4 {
		return dst, nil, shardify.Corrupt(-1, "%d bytes left", len(src))
	}
	size := int64(binary.LittleEndian.Uint32(src))
	if src = src[4:]; size > int64(len(src)) {
		return dst, nil, shardify.Corrupt(-1, "%d bytes, the page has %d left", size, len(src))
	}
	if what == definition && whole(src[:size], n, highest) {
		return nil, src[size:], nil
	}
	dst, err := levels(dst, src[:size], n, highest)
	return dst, src[size:], err
}

// The two kinds of levels.
const (
	repetition = "repetition levels"
	definition = "definition levels"
)

// kind names the part of a page that an error is about.
func kind(err error, what string) error {
	return shardify.Amend(err, func(e *shardify.Error) {
		if e.Object == "" {
			e.Object = what
		}
	})
}

// indices decodes the places of values in the dictionary.
func (p *Page) indices(src []byte, dict *Dict) error {
	if p.Values == 0 {
		return nil
	}
	if dict == nil {
		return shardify.Corrupt(-1, "values by a dictionary that is missing")
	}
	if len(src) == 0 {
		return shardify.Corrupt(-1, "no bytes for %d values", p.Values)
	}
	width := uint(src[0])
	if width > 32 {
		return shardify.Corrupt(-1, "indices of %d bits", width)
	}
	p.own.index = grow(p.own.index, p.Values)
	if err := runs32(p.own.index, src[1:], width); err != nil {
		return kind(err, "dictionary indices")
	}
	p.Index = p.own.index
	highest := int32(0)
	for _, x := range p.Index {
		if uint32(x) > uint32(highest) {
			highest = x
		}
	}
	if uint32(highest) >= uint32(dict.Vals.N) {
		return shardify.Corrupt(-1, "index %d in a dictionary of %d", uint32(highest), dict.Vals.N)
	}
	return nil
}

// spare bounds what a buffer is made larger than needed, so that the next page fits, too.
const spare = 1 << 20

// grow returns a slice of n elements with any content, room for Slack bytes behind it.
func grow[T any](s []T, n int) []T {
	if cap(s) < n+Slack {
		return make([]T, n, n+min(n/4, spare)+Slack)
	}
	return s[:n]
}

// CountEqual counts the levels that are x.
func CountEqual(levels []uint8, x uint8) int {
	n := 0
	for len(levels) >= 8 {
		v := binary.LittleEndian.Uint64(levels) ^ 0x0101010101010101*uint64(x)
		// A byte is zero where the level is x; levels are less than 128.
		v = (v + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101
		n += 8 - int(v*0x0101010101010101>>56)
		levels = levels[8:]
	}
	for _, l := range levels {
		if l == x {
			n++
		}
	}
	return n
}
