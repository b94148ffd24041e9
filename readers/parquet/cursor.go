package parquet

import (
	"context"
	"sort"

	meta "github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/parquet/internal/page"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// cursor is at a row of one column. It goes forward through the pages of a row group, each
// of which it decodes once. To go back, or to another row group, it finds the page again.
type cursor struct {
	r     *reader
	f     *file
	col   *column
	chunk *pq.Chunk
	group int // -1: none yet
	rows  int64

	off     int64 // of the next page header
	nextRow int64 // rows of the group that begin before the next page
	// An offset index says that the page at wantOff begins with wantRow.
	wantOff, wantRow int64
	entries          int64 // entries of the pages before it, if they were all seen
	counted          bool  // they were
	dict             *page.Dict
	hasDict          bool

	page    *page.Page
	pageOff int64
	pageRow int64 // rows that begin before the page
	v2      bool
	entry   int   // next entry of the page
	value   int   // and value
	row     int64 // rows that begin before the next entry
}

// enter goes to the start of a row group.
func (c *cursor) enter(ctx context.Context, g int) error {
	c.drop()
	c.group, c.chunk = g, c.f.pq.Chunk(c.col.leaf, g)
	c.rows = c.f.pq.Groups[g+1] - c.f.pq.Groups[g]
	c.off, c.nextRow, c.entries, c.counted, c.hasDict, c.row = c.chunk.Off, 0, 0, true, false, 0
	c.wantOff = 0
	if c.chunk.Values == 0 {
		return nil
	}
	var h pq.PageHeader
	n, err := c.header(ctx, &h)
	if err != nil || h.Type != meta.DictionaryPage {
		return err
	}
	return c.readDict(ctx, &h, n)
}

func (c *cursor) readDict(ctx context.Context, h *pq.PageHeader, n int64) error {
	b, err := c.body(ctx, h, n)
	if err != nil {
		return err
	}
	if c.dict == nil {
		c.dict = &page.Dict{}
	}
	before := c.dict.Memory()
	if err := c.r.hold(ctx, page.Need(&c.col.page, h)-before); err != nil {
		return err
	}
	defer func() { c.r.held(before, c.dict.Memory()) }()
	if err := c.dict.ReadDict(&c.col.page, c.chunk.Codec, h, b); err != nil {
		return at(err, c.off)
	}
	c.hasDict = true
	c.off += n + int64(h.Compressed)
	return nil
}

// drop forgets the current page.
func (c *cursor) drop() {
	if c.page != nil {
		c.r.spare = append(c.r.spare, c.page)
	}
	c.page = nil
}

// header reads the header of the page at off.
func (c *cursor) header(ctx context.Context, h *pq.PageHeader) (n int64, err error) {
	if c.off >= c.chunk.End {
		return 0, shardify.Corrupt(c.off, "the pages end at row %d of %d", c.nextRow, c.rows)
	}
	if n, err = c.r.window.header(ctx, c.off, c.r.ahead(c), c.chunk.End, h); err != nil {
		return 0, err
	}
	switch {
	case n+int64(h.Compressed) > c.chunk.End-c.off:
		return 0, shardify.Corrupt(c.off, "a page of %d bytes, the column has %d left", h.Compressed, c.chunk.End-c.off-n)
	case int64(h.Uncompressed) > max(c.chunk.Uncompressed, hugePage):
		return 0, shardify.Corrupt(c.off, "a page of %d bytes in a column of %d", h.Uncompressed, c.chunk.Uncompressed)
	case h.Type != meta.DictionaryPage && c.counted && int64(h.Values) > c.chunk.Values-c.entries:
		return 0, shardify.Corrupt(c.off, "a page of %d values, the column has %d left", h.Values, c.chunk.Values-c.entries)
	}
	return n, nil
}

// hugePage is the size from which a page's word on its size must agree with the
// column's.
const hugePage = 16 << 20

// body returns the bytes of the page whose header of n bytes is at off.
func (c *cursor) body(ctx context.Context, h *pq.PageHeader, n int64) ([]byte, error) {
	return c.r.window.get(ctx, c.off+n, int64(h.Compressed), c.r.ahead(c), c.chunk.End)
}

// seek goes to the entry at which a row of the file begins.
func (c *cursor) seek(ctx context.Context, row int64) error {
	groups := c.f.pq.Groups
	g := sort.Search(len(groups)-1, func(i int) bool { return groups[i+1] > row })
	row -= groups[g]
	if g != c.group || c.page == nil && c.nextRow > row || c.page != nil && row < c.pageRow {
		if err := c.enter(ctx, g); err != nil {
			return err
		}
	}
	if c.page != nil && row < c.row { // in this page, before the current place
		c.entry, c.value, c.row = 0, 0, c.pageRow
	}
	if c.page == nil || c.row < row || !c.starts() {
		return c.forward(ctx, row)
	}
	return nil
}

// starts reports whether the next entry begins a row.
func (c *cursor) starts() bool {
	return c.page != nil && c.entry < c.page.Entries && (c.page.Rep == nil || c.page.Rep[c.entry] == 0)
}

// forward continues to the entry at which row begins.
func (c *cursor) forward(ctx context.Context, row int64) error {
	for {
		if c.page != nil {
			c.skip(row)
			if c.entry < c.page.Entries {
				return nil
			}
			c.drop()
		}
		c.jump(row)
		if err := c.next(ctx, row); err != nil {
			return err
		}
	}
}

// skip goes forward in the page until a row begins that is not before row.
func (c *cursor) skip(row int64) {
	p := c.page
	from := c.entry
	if p.Rep == nil {
		c.entry = int(min(int64(p.Entries), int64(c.entry)+max(row-c.row, 0)))
		c.row += int64(c.entry - from)
	} else {
		for c.entry < p.Entries && (p.Rep[c.entry] != 0 || c.row < row) {
			if p.Rep[c.entry] == 0 {
				c.row++
			}
			c.entry++
		}
	}
	c.value += c.present(from, c.entry)
}

// present counts the values of entries [from, to) of the page.
func (c *cursor) present(from, to int) int {
	if c.page.Def == nil {
		return to - from
	}
	return page.CountEqual(c.page.Def[from:to], uint8(c.col.page.MaxDef))
}

// jump goes to the page, among those known, that is nearest before row.
func (c *cursor) jump(row int64) {
	if row <= c.nextRow {
		return
	}
	p, ok := c.f.nearest(c.col.leaf, c.group, c.chunk, c.rows, row)
	if ok && p.row > c.nextRow && p.off > c.off {
		c.off, c.nextRow, c.counted = p.off, p.row, false
		c.wantOff, c.wantRow = p.nextOff, p.nextRow
	}
}

// next decodes the next page, or passes it by if all its rows are known to be before
// row.
func (c *cursor) next(ctx context.Context, row int64) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	var h pq.PageHeader
	n, err := c.header(ctx, &h)
	if err != nil {
		return err
	}
	if h.Type != meta.DataPage && h.Type != meta.DataPageV2 {
		if h.Type == meta.DictionaryPage {
			return shardify.Corrupt(c.off, "a dictionary behind data pages")
		}
		c.off += n + int64(h.Compressed)
		return nil
	}
	c.f.note(c.col.leaf, c.group, c.off, c.nextRow)
	known := int64(h.Rows)
	if c.col.page.MaxRep == 0 {
		if known >= 0 && known != int64(h.Values) {
			return shardify.Corrupt(c.off, "a page of %d values for %d rows", h.Values, known)
		}
		known = int64(h.Values)
	}
	if known > c.rows-c.nextRow {
		return shardify.Corrupt(c.off, "a page of %d rows, the row group has %d left", known, c.rows-c.nextRow)
	}
	if known >= 0 && c.nextRow+known <= row {
		return c.past(&h, n, known)
	}
	return c.load(ctx, &h, n, known)
}

// past goes behind the page at off.
func (c *cursor) past(h *pq.PageHeader, n, rows int64) error {
	c.entries += int64(h.Values)
	c.off += n + int64(h.Compressed)
	c.nextRow += rows
	if c.off == c.wantOff && c.nextRow != c.wantRow {
		return shardify.Corrupt(c.off, "row %d begins here, the index of pages says %d", c.nextRow, c.wantRow)
	}
	return nil
}

// load decodes the page at off. rows is the number of its rows, -1 if that is not
// known.
func (c *cursor) load(ctx context.Context, h *pq.PageHeader, n, rows int64) error {
	b, err := c.body(ctx, h, n)
	if err != nil {
		return err
	}
	p := c.r.take()
	c.page = p
	before, need := p.Memory(), page.Need(&c.col.page, h)
	if c.chunk.Codec == meta.Uncompressed && int64(len(b)) >= keepWindow {
		p.Own(b) // rather than a copy of it
		c.r.window.give()
		need -= int64(len(b))
	}
	if err := c.r.hold(ctx, need-before); err != nil {
		return err
	}
	defer func() { c.r.held(before, p.Memory()) }()
	dict := c.dict
	if !c.hasDict {
		dict = nil
	}
	if err := p.Read(&c.col.page, c.chunk.Codec, h, b, dict); err != nil {
		return at(err, c.off)
	}
	begun := int64(p.Entries)
	if p.Rep != nil {
		begun = int64(page.CountEqual(p.Rep, 0))
	}
	if rows >= 0 && begun != rows || begun > c.rows-c.nextRow {
		return shardify.Corrupt(c.off, "%d rows begin in a page of %d, of %d left", begun, rows, c.rows-c.nextRow)
	}
	if p.Rep != nil && p.Entries > 0 && p.Rep[0] != 0 && (c.nextRow == 0 || h.V2()) {
		return shardify.Corrupt(c.off, "a page that begins inside of a row")
	}
	c.pageOff, c.pageRow, c.v2 = c.off, c.nextRow, h.V2()
	c.entry, c.value, c.row = 0, 0, c.nextRow
	return c.past(h, n, begun)
}

// segment is consecutive entries of a page.
type segment struct {
	page            *page.Page
	dict            *page.Dict
	from, to        int // entries
	value, valueEnd int
	off             int64 // of the page, for errors
}

// each gives the entries of n rows from the row at which the cursor is, all of one
// row group, in segments.
func (c *cursor) each(ctx context.Context, n int64, do func(s *segment) error) error {
	want := c.row + n
	for {
		if c.page == nil || c.entry == c.page.Entries {
			if c.row == want && !c.continues() {
				return nil
			}
			c.drop()
			if err := c.next(ctx, 0); err != nil {
				return err
			}
			continue
		}
		s := segment{page: c.page, dict: c.dict, from: c.entry, value: c.value, off: c.pageOff}
		c.skipTo(want)
		s.to, s.valueEnd = c.entry, c.value
		if s.to > s.from {
			if err := do(&s); err != nil {
				return err
			}
		}
		if c.entry < c.page.Entries {
			return nil
		}
	}
}

// skipTo goes behind the entries of rows before want.
func (c *cursor) skipTo(want int64) {
	p := c.page
	from := c.entry
	if p.Rep == nil {
		c.entry = int(min(int64(p.Entries), int64(c.entry)+want-c.row))
		c.row += int64(c.entry - from)
	} else {
		e, row := c.entry, c.row
		for ; e < len(p.Rep); e++ {
			if p.Rep[e] == 0 {
				if row == want {
					break
				}
				row++
			}
		}
		c.entry, c.row = e, row
	}
	c.value += c.present(from, c.entry)
}

// continues reports whether the row that ended with the page may go on in the next one:
// old writers cut pages anywhere.
func (c *cursor) continues() bool {
	return c.col.page.MaxRep > 0 && !c.v2 && c.off < c.chunk.End && (!c.counted || c.entries < c.chunk.Values)
}
