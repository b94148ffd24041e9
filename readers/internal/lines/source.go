package lines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/storage"
)

// Parser reads the records of one file into columns.
type Parser interface {
	// Begin gets the columns to fill.
	Begin(b *shardify.Batch, mem *shardify.Arena) error
	// Parse reads take records of a piece behind the first skip ones. last: the piece has no more,
	// and an error says so if it has.
	Parse(p *Piece, skip, take int64, last bool) error
	// End completes the columns.
	End(b *shardify.Batch, mem *shardify.Arena) error
	// Held is the bytes that the parser holds beside them.
	Held() int64
}

// Source is many files as one table. A file that can be read in order alone is a run.
type Source struct {
	*set.Runs
	// Replace: what is not UTF-8 is not an error, and pieces that have such are Dirty.
	Replace bool
	// Items reports by the format's own part of the blob whether records are the items of an
	// array; nil if they never are.
	Items func(own []byte) bool
	// Made makes texts of files that are not text; nil: they are texts.
	Made     *made.Text
	encoding string
	parser   func(own []byte, in *set.Input, columns []shardify.Column) (Parser, error)
	handles  *set.Handles[*file]
}

// NewSource makes a source of a set whose blobs were made by Index.Append. parser gets the format's
// own part of the blob.
func NewSource(all *set.Set, encoding string, parser func(own []byte, in *set.Input, columns []shardify.Column) (Parser, error)) (*Source, error) {
	runs, err := set.NewRuns(all, func(in *set.Input) (bool, error) {
		_, serial, _, _, err := split(in.Blob)
		return serial, err
	})
	if err != nil {
		return nil, err
	}
	s := &Source{Runs: runs, encoding: encoding, parser: parser}
	s.handles = set.NewHandles(func(_ context.Context, f storage.File, in *set.Input) (*file, error) {
		own, x, err := decode(in.Blob, in.Size, in.Samples, s.Made != nil)
		return &file{f, in.Path(), own, x, err == nil && s.Items != nil && s.Items(own)}, err
	})
	return s, nil
}

// file is an open file; the readers of a source share it.
type file struct {
	storage.File
	path  string
	own   []byte
	index *Index
	items bool // of an array
}

// Unwrap is the file below.
func (f *file) Unwrap() any { return f.File }

// Close implements shardify.Source.
func (s *Source) Close() error { return s.handles.Close() }

// Reopen implements format.Reopener.
func (s *Source) Reopen() { s.handles.Reopen() }

// Reader implements shardify.Source.
func (s *Source) Reader(run uint32) (shardify.Reader, error) {
	if err := s.CheckRun(run); err != nil {
		return nil, err
	}
	return &reader{s: s, run: run}, nil
}

type reader struct {
	s       *Source
	run     uint32
	in      uint32
	handle  *set.Handle[*file]
	parser  Parser
	text    *text      // of a serial file
	maker   made.Maker // of a file whose text is made
	next    int        // the piece that it is at
	piece   Piece
	at      int // which piece is there; -1 for none
	scratch shardify.Scratch
	closed  bool
}

// Close implements shardify.Reader.
func (r *reader) Close() error {
	r.drop()
	r.scratch.Close()
	r.closed = true
	return nil
}

func (r *reader) drop() {
	if r.handle != nil {
		r.handle.Release()
	}
	if r.text != nil {
		r.text.close()
	}
	if r.maker != nil {
		r.maker.Close()
	}
	r.maker = nil
	r.handle, r.parser, r.text, r.next, r.at, r.piece = nil, nil, nil, 0, -1, Piece{Line: -1}
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("lines: Read after Close")
	}
	in, b, err := r.s.BeginRun(ctx, sp, r.run, mem)
	if err != nil {
		return nil, err
	}
	if r.handle == nil || r.in != in.Index {
		r.drop()
		if r.handle, err = r.s.handles.Acquire(ctx, &in); err != nil {
			r.handle = nil
			return nil, err
		}
		r.in = in.Index
		if r.parser, err = r.s.parser(r.handle.Value.own, &in, b.Columns); err != nil {
			r.drop()
			return nil, shardify.Annotate(err, "read", in.Name(), "")
		}
	}
	if err := r.read(ctx, sp, b, mem); err != nil {
		r.drop()
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	return r.s.Finish(&in, b, mem)
}

func (r *reader) read(ctx context.Context, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	x := r.handle.Value.index
	if err := r.parser.Begin(b, mem); err != nil {
		return err
	}
	k := sort.Search(len(x.Row)-1, func(k int) bool { return x.Row[k+1] > sp.Lo })
	for row := sp.Lo; row < sp.Hi; k++ {
		if k+1 >= len(x.Row) {
			return errBlob
		}
		if x.Row[k+1] == x.Row[k] { // blank lines alone
			continue
		}
		if err := r.load(ctx, k, mem); err != nil {
			return err
		}
		take := min(sp.Hi, x.Row[k+1]) - row
		if err := r.parser.Parse(&r.piece, row-x.Row[k], take, row+take == x.Row[k+1]); err != nil {
			return sampled(err, x.Row[k])
		}
		row += take
	}
	if err := r.parser.End(b, mem); err != nil {
		return sampled(err, sp.Lo)
	}
	return r.scratch.Hold(ctx, mem, r.held(0))
}

// sampled adds the first record of a piece to the number of one in it.
func sampled(err error, first int64) error {
	return shardify.Amend(err, func(e *shardify.Error) {
		if e.Sample >= 0 {
			e.Sample += first
		}
	})
}

func (r *reader) held(more int) int64 {
	n := r.parser.Held() + int64(max(cap(r.piece.Data), more))
	if r.text != nil {
		n += 1 << 20
	}
	return n
}

// load makes piece k the current one.
func (r *reader) load(ctx context.Context, k int, mem *shardify.Arena) error {
	if r.at == k {
		return nil
	}
	f := r.handle.Value
	x := f.index
	n := int(x.Off[k+1] - x.Off[k])
	if err := r.scratch.Hold(ctx, mem, r.held(n+1+n/8)); err != nil {
		return err
	}
	r.at = -1
	if cap(r.piece.Data) < n+1 {
		r.piece.Data = make([]byte, n+1+n/8) // the next one may be a little longer
	}
	b := r.piece.Data[:n]
	var err error
	if r.s.Made != nil {
		return r.make(ctx, k, n)
	}
	if x.Serial {
		err = r.serial(k, b)
	} else {
		if err = context.Cause(ctx); err == nil {
			_, err = f.ReadAt(b, x.Off[k])
		}
	}
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return shardify.Corrupt(x.Off[k], "the text ends early")
	case err != nil:
		return err
	case f.items && !again(b, k == 0, k+2 == len(x.Off)):
		return changed(x.Off[k])
	case n == 0 || k+2 < len(x.Off) && b[n-1] != '\n':
		return changed(x.Off[k])
	case b[n-1] != '\n':
		b = append(b, '\n')
	}
	r.piece, r.at = Piece{Data: b, Off: x.Off[k], Line: -1, Dirty: r.s.Replace && !valid(b), Items: f.items}, k
	if len(x.left) > 0 {
		lo, _ := slices.BinarySearch(x.left, x.Off[k])
		hi, _ := slices.BinarySearch(x.left, x.Off[k+1])
		r.piece.left = x.left[lo:hi]
	}
	return nil
}

// make makes piece k, of n bytes, the current one.
func (r *reader) make(ctx context.Context, k, n int) (err error) {
	f := r.handle.Value
	if r.maker == nil {
		if r.maker, err = r.s.Made.Open(ctx, f.File, f.path, f.index.state); err != nil {
			r.maker = nil
			return err
		}
	}
	rows := f.index.Row
	b, err := r.maker.Piece(ctx, k, rows[k], rows[k+1], r.piece.Data[:0])
	if err == nil && len(b) != n {
		err = fmt.Errorf("%w: the values from %s %d on are others", shardify.ErrChanged, r.s.Made.Record, rows[k]+1)
	}
	if err != nil {
		return err
	}
	r.piece, r.at = Piece{Data: b, Line: rows[k], made: r.s.Made}, k
	return nil
}

// changed is the error of records that are not where they were.
func changed(off int64) error {
	return &shardify.Error{Sample: -1, Offset: off, Err: fmt.Errorf("%w: a record ended there", shardify.ErrChanged)}
}

// Changed is the error of a piece that has not as many records as it had.
func Changed(p *Piece) error {
	return &shardify.Error{Sample: -1, Offset: p.Off, Err: fmt.Errorf("%w: there are not as many records as there were", shardify.ErrChanged)}
}

// serial reads a piece of a text that is read in order. It starts over where that must be. The
// text outlives the span, so that its reads end with the file.
func (r *reader) serial(k int, b []byte) error {
	f := r.handle.Value
	x := f.index
	var skip int64
	if r.text == nil || k < r.next {
		if r.text != nil {
			r.text.close()
		}
		t, err := open(context.Background(), f, f.Size(), r.s.encoding)
		if err != nil {
			return err
		}
		r.text, skip = t, x.Off[k]-t.off
	} else {
		skip = x.Off[k] - x.Off[r.next]
	}
	if _, err := io.CopyN(io.Discard, r.text.r, skip); err != nil {
		return err
	}
	r.next = k + 1
	_, err := io.ReadFull(r.text.r, b)
	return err
}

// Collector gathers values of any length; it is used again for the next span.
type Collector struct {
	Data []byte
	Ends []int64
}

// Reset makes it empty.
func (c *Collector) Reset() { c.Data, c.Ends = c.Data[:0], append(c.Ends[:0], 0) }

// End ends a value.
func (c *Collector) End() { c.Ends = append(c.Ends, int64(len(c.Data))) }

// Held is the bytes it takes.
func (c *Collector) Held() int64 { return int64(cap(c.Data)) + 8*int64(cap(c.Ends)) }

// Move copies all into an arena.
func (c *Collector) Move(mem *shardify.Arena) (data []byte, ends []int64) {
	data, ends = mem.Alloc(len(c.Data)), mem.Int64s(len(c.Ends))
	copy(data, c.Data)
	copy(ends, c.Ends)
	return data, ends
}
