package pq

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
)

// PageHeader precedes a page.
type PageHeader struct {
	Type         format.PageType
	Uncompressed int
	Compressed   int
	CRC          uint32 // of the compressed bytes; 0 without one
	Values       int    // entries of a data page, values of a dictionary
	Encoding     format.Encoding
	DefEncoding  format.Encoding
	RepEncoding  format.Encoding
	// Of version 2 pages; Rows is -1 for others.
	Rows             int
	DefLen, RepLen   int
	ValuesCompressed bool
}

// PlainDictionary is what old writers call the dictionary encoding.
const PlainDictionary format.Encoding = 2

// V2 reports whether it is a data page of version 2.
func (h *PageHeader) V2() bool { return h.Type == format.DataPageV2 }

// ErrShort means that the bytes end before the structure does.
var ErrShort = io.ErrUnexpectedEOF

// MaxPageHeader bounds a page header: statistics in it may hold long values.
const MaxPageHeader = 16 << 20

// ReadPageHeader decodes the page header at the start of b into h and returns its
// length. ErrShort asks for more bytes.
func ReadPageHeader(b []byte, h *PageHeader) (int, error) {
	var p format.PageHeader
	n, err := decode(b, &p)
	if err != nil {
		if errors.Is(err, ErrShort) {
			return 0, ErrShort
		}
		return 0, err
	}
	*h = PageHeader{Type: p.Type, Uncompressed: int(p.UncompressedPageSize), Compressed: int(p.CompressedPageSize), CRC: uint32(p.CRC), Rows: -1}
	var values, rows, defs, reps int32
	switch p.Type {
	case format.DataPage:
		d := &p.DataPageHeader.V
		if !p.DataPageHeader.Valid {
			return 0, shardify.Corrupt(-1, "a data page without its header")
		}
		values, h.Encoding, h.DefEncoding, h.RepEncoding = d.NumValues, d.Encoding, d.DefinitionLevelEncoding, d.RepetitionLevelEncoding
	case format.DataPageV2:
		d := &p.DataPageHeaderV2.V
		if !p.DataPageHeaderV2.Valid {
			return 0, shardify.Corrupt(-1, "a data page without its header")
		}
		values, rows, defs, reps = d.NumValues, d.NumRows, d.DefinitionLevelsByteLength, d.RepetitionLevelsByteLength
		h.Encoding, h.DefEncoding, h.RepEncoding = d.Encoding, format.RLE, format.RLE
		h.ValuesCompressed = !d.IsCompressed.Valid || d.IsCompressed.V
		h.Rows, h.DefLen, h.RepLen = int(rows), int(defs), int(reps)
	case format.DictionaryPage:
		d := &p.DictionaryPageHeader.V
		if !p.DictionaryPageHeader.Valid {
			return 0, shardify.Corrupt(-1, "a dictionary page without its header")
		}
		values, h.Encoding = d.NumValues, d.Encoding
	}
	h.Values = int(values)
	if h.Compressed < 0 || h.Uncompressed < 0 || values < 0 || rows < 0 || defs < 0 || reps < 0 {
		return 0, shardify.Corrupt(-1, "a page header with a negative number")
	}
	return n, nil
}

// Pages are the places of the data pages of a chunk.
type Pages struct {
	Off []int64 // of the page headers
	Row []int64 // first row of each, counted in the row group
}

// ReadOffsetIndex reads where the pages of a chunk begin; false if the index is not
// there or makes no sense: it only saves time.
func ReadOffsetIndex(r io.ReaderAt, c *Chunk, rows int64) (Pages, bool) {
	if c.Index.Bytes <= 0 || c.Index.Bytes > 64<<20 {
		return Pages{}, false
	}
	b := make([]byte, c.Index.Bytes)
	if readAt(r, b, c.Index.Off) != nil {
		return Pages{}, false
	}
	var x format.OffsetIndex
	if _, err := decode(b, &x); err != nil || len(x.PageLocations) == 0 {
		return Pages{}, false
	}
	var p Pages
	off, row := c.Off-1, int64(-1)
	for _, l := range x.PageLocations {
		if l.Offset <= off || l.Offset >= c.End || l.FirstRowIndex <= row || l.FirstRowIndex >= rows {
			return Pages{}, false
		}
		off, row = l.Offset, l.FirstRowIndex
		p.Off, p.Row = append(p.Off, off), append(p.Row, row)
	}
	return p, p.Row[0] == 0
}
