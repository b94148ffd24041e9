package parquet

import (
	"context"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/parquet/internal/page"
	"github.com/shardify/shardify/storage"
)

// keepBytes bounds the decoded pages that a reader keeps for its next span, as its
// share of the memory may, too. Those that are dropped are decoded again.
const keepBytes = 64 << 20

// mediaReader makes columns those of the fields that hold images.
type mediaReader struct {
	shardify.Reader
	s *source
}

// Read implements shardify.Reader.
func (r *mediaReader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	b, err := r.Reader.Read(ctx, sp, mem)
	if err == nil {
		r.s.setMedia(b)
	}
	return b, err
}

// reader reads spans. Where a span ends in the middle of pages they are kept for the
// next one.
type reader struct {
	s       *source
	file    *file
	cursors []*cursor // by column of the schema; nil where nothing is read
	window  window
	spare   []*page.Page
	asm     assembler
	part    float64 // of the row group that is being read
	// announced is the row group up to which the file knows what is read.
	announced int

	scratch shardify.Scratch
	mem     *shardify.Arena // of the current span
	bytes   int64           // of all pages, dictionaries and the window
	keep    int64           // of them between spans, at most
}

// Close implements set.Worker.
func (r *reader) Close() { r.scratch.Close() }

// Drop implements set.Worker.
func (r *reader) Drop() {
	r.file, r.cursors, r.window, r.bytes = nil, nil, window{}, 0
	for _, p := range r.spare {
		r.bytes += p.Memory()
	}
}

// hold says that more bytes are about to be held.
func (r *reader) hold(ctx context.Context, more int64) error {
	if r.mem == nil { // a look at a few values
		return nil
	}
	return r.scratch.Hold(ctx, r.mem, r.bytes+max(more, 0))
}

// held notes that what took before bytes now takes after.
func (r *reader) held(before, after int64) { r.bytes += after - before }

// take returns a page to decode into.
func (r *reader) take() *page.Page {
	if n := len(r.spare); n > 0 {
		p := r.spare[n-1]
		r.spare = r.spare[:n-1]
		return p
	}
	return &page.Page{}
}

// ahead is how much of a chunk is worth reading at a time.
func (r *reader) ahead(c *cursor) int64 {
	return min(readAhead, headGuess+int64(r.part*float64(c.chunk.End-c.chunk.Off)))
}

// Read implements set.Worker.
func (r *reader) Read(ctx context.Context, _ *set.Input, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	r.mem = mem
	err := r.read(ctx, &sp, b, mem)
	if err == nil {
		err = r.hold(ctx, 0) // less than before
	}
	r.mem = nil
	return err
}

func (r *reader) read(ctx context.Context, sp *shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	if err := r.hold(ctx, 0); err != nil { // it counts among the readers
		return err
	}
	r.keep = min(keepBytes, r.scratch.Share())
	r.announce(sp)
	for i, c := range r.cursors {
		if c == nil {
			continue
		}
		err := r.column(ctx, c, sp, &b.Columns[i], mem)
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) {
				if e.Field == "" {
					e.Field = b.Columns[i].Name
				}
			})
		}
		if r.bytes > r.keep+r.keep/4 {
			r.done(c)
			r.discard(1) // which the next column decodes into
		}
	}
	r.hive(b, mem)
	r.forget()
	return share(b)
}

// wholeChunk is the size up to which a chunk is announced whole, although the span has only a
// part of its rows.
const wholeChunk = 1 << 20

// announce passes to the file which chunks the span reads, once for each row group.
func (r *reader) announce(sp *shardify.Span) {
	f := r.file
	groups := f.pq.Groups
	first := sort.Search(len(groups)-1, func(i int) bool { return groups[i+1] > sp.Lo })
	storage.Announce(f.f, func(yield func(storage.Range) bool) {
		for g := max(first, r.announced); g < len(groups)-1 && groups[g] < sp.Hi; g++ {
			part := float64(min(groups[g+1], sp.Hi)-max(groups[g], sp.Lo)) / float64(groups[g+1]-groups[g])
			for _, c := range r.cursors {
				if c == nil {
					continue
				}
				x := f.pq.Chunk(c.col.leaf, g)
				if n := x.End - x.Off; (n <= wholeChunk || part > 0.5) && !yield(storage.Range{Off: x.Off, Len: n}) {
					return
				}
			}
			r.announced = g + 1
		}
	})
}

// column reads a column of a span, row group by row group.
func (r *reader) column(ctx context.Context, c *cursor, sp *shardify.Span, out *shardify.Column, mem *shardify.Arena) error {
	a := &r.asm
	a.begin(c.col, int(sp.Samples()), sp.Lo, mem, r.s.fillItems)
	groups := c.f.pq.Groups
	for row := sp.Lo; row < sp.Hi; {
		g, _ := slices.BinarySearch(groups, row+1)
		n := min(groups[g], sp.Hi) - row
		r.part = float64(n) / float64(groups[g]-groups[g-1])
		if err := c.seek(ctx, row); err != nil {
			return err
		}
		a.expect(c, r.part)
		err := c.each(ctx, n, func(s *segment) error {
			if err := a.add(s); err != nil {
				return at(err, s.off)
			}
			return nil
		})
		if err != nil {
			return err
		}
		row += n
	}
	if err := a.finish(out); err != nil {
		return err
	}
	return rows.CheckText(out, sp.Lo)
}

// expect makes room for what part of a row group probably holds.
func (a *assembler) expect(c *cursor, part float64) {
	guess := func(n int64) int64 { return int64(float64(n)*part*1.1) + 64 }
	w := int64(c.col.page.Form.Width)
	if w == 0 {
		a.data.hint = int64(len(a.data.b)) + guess(c.f.valueBytes(c.col, c.group))
		a.ends.hint = int64(len(a.ends.o)) + guess(c.chunk.Values)
	} else {
		a.data.hint = int64(len(a.data.b)) + guess(c.chunk.Values*w)
	}
	if len(c.col.lists) > 0 {
		return
	}
	a.ends.hint = int64(a.rows) + 1
}

// done drops the remaining pages of a column.
func (r *reader) done(c *cursor) {
	c.drop()
	if c.dict != nil {
		r.bytes -= c.dict.Memory()
	}
	c.group, c.dict = -1, nil
}

// discard drops spare pages, all but a few, while too much is held.
func (r *reader) discard(few int) {
	for n := len(r.spare); n > few && r.bytes > r.keep; n = len(r.spare) {
		r.bytes -= r.spare[n-1].Memory()
		r.spare[n-1] = nil
		r.spare = r.spare[:n-1]
	}
}

// forget drops the pages of this span's end if they take much memory together.
func (r *reader) forget() {
	sum := int64(0)
	for _, c := range r.cursors {
		if c == nil {
			continue
		}
		if c.page != nil && c.entry == c.page.Entries && !c.continues() {
			c.drop()
		}
		if c.page != nil {
			sum += c.page.Memory()
		}
		if c.dict != nil {
			sum += c.dict.Memory()
		}
		if sum > r.keep {
			r.done(c)
		}
	}
	r.discard(0)
	if r.bytes > r.keep {
		r.window.give()
	}
}

// Take implements set.Worker.
func (r *reader) Take(f *file, in *set.Input, b *shardify.Batch) error {
	cursors := make([]*cursor, len(b.Columns))
	for i := range b.Columns {
		k := in.Field(i)
		if k < 0 || k >= len(f.cols) && k < len(f.cols)+len(f.parts) && f.parts[k-len(f.cols)].key == b.Columns[i].Name {
			continue // not in this file, or in its path
		}
		if k >= len(f.cols) || !fits(&f.cols[k].field, &b.Columns[i].Field) {
			return errState
		}
		cursors[i] = &cursor{r: r, f: f, col: &f.cols[k], group: -1}
	}
	r.file, r.cursors, r.window, r.announced = f, cursors, window{r: f.f, own: r}, 0
	return nil
}

// fits reports whether a file's field is what the plan takes it for.
func fits(have, want *shardify.Field) bool {
	return have.Name == want.Name && have.DType == want.DType && have.Levels == want.Levels && slices.Equal(have.Shape, want.Shape)
}

// share makes columns of one counter share their offsets, which must agree.
func share(b *shardify.Batch) error {
	first := map[string]*shardify.Column{}
	for i := range b.Columns {
		c := &b.Columns[i]
		if c.Counter == "" || len(c.Offsets) == 0 {
			continue
		}
		f := first[c.Counter]
		if f == nil {
			first[c.Counter] = c
			continue
		}
		if !slices.Equal(f.Offsets[0], c.Offsets[0]) {
			e := shardify.Corrupt(-1, "its lists are not as long as those of %s", f.Name)
			e.Field = c.Name
			return e
		}
		c.Offsets[0] = f.Offsets[0]
	}
	return nil
}
