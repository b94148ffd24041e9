package lines

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/readers/made"
	"github.com/shardify/shardify/storage"
)

const (
	// pieceBytes is what a piece has at least, but for the last one.
	pieceBytes = 1 << 20
	// step is how much is read at a time to find the end of a piece.
	step = 32 << 10
	// maxPiece bounds a piece, and so a record, in memory, unless a format has longer ones, up to mostPiece.
	maxPiece, mostPiece = 64 << 20, 512 << 20
)

// Piece is whole records of a file. Data ends in a line feed, which is added to the last line
// of a file without one.
type Piece struct {
	Data []byte
	Off  int64 // of Data in the text
	Line int64 // lines before it; -1 if not counted
	// Dirty: not all of it is UTF-8, and what is not is replaced.
	Dirty bool
	// Items: the records are the items of an array, a line each.
	Items bool

	number int
	lost   []Left     // while the survey looks at it
	asked  int        // a place in Data that LineAt was asked for
	before int64      // line feeds before it
	left   []int64    // places in the text of records that are left out
	made   *made.Text // the text is not in the file; Line is the records before it
}

// LineAt is the number of the line that contains Data[at], from 1; 0 if unknown.
func (p *Piece) LineAt(at int) int64 {
	if p.Line < 0 {
		return 0
	}
	if at = min(at, len(p.Data)); at < p.asked {
		p.asked, p.before = 0, 0
	}
	if p.made != nil && p.made.End != nil {
		for n := 1; n > 0; {
			if n = p.made.End(p.Data[p.asked:], 1); n > 0 && p.asked+n <= at {
				p.asked, p.before = p.asked+n, p.before+1
			} else {
				n = 0
			}
		}
		return p.Line + p.before + 1
	}
	p.before += int64(bytes.Count(p.Data[p.asked:at], []byte{'\n'}))
	p.asked = at
	return p.Line + p.before + 1
}

// Counted says that Data[:at] has n lines, or records of a text that is made: LineAt counts from there on.
func (p *Piece) Counted(at int, n int64) { p.asked, p.before = at, n }

// Survey looks at all records of a file.
type Survey struct {
	Workers  int
	Encoding string
	Quotes   Quotes
	// End is where the first record of b ends that ends at from or behind; -1 without one. b
	// begins with a record. nil: records are lines, but for Quotes.
	End func(b []byte, from int) int
	// Array: records are its items. nil: they are not.
	Array *Array
	// Replace: what is not UTF-8 is not an error of Piece.Check.
	Replace bool
	// Head gets the first piece before all other code, and says how many bytes of it are not records.
	Head func(p *Piece) (int, error)
	// Made makes texts of files that are not text; nil: they are texts.
	Made *made.Text
	// Path is where the file is, for Made.
	Path string
	// Most bytes has a record, if it may have more than others.
	Most int
	// Work counts the records of a piece, and learns from them. It is called from several
	// goroutines, each of which has a number below Workers.
	Work func(worker int, p *Piece) (int64, error)
}

// Index is where the pieces of a file begin: bytes and records. The last entries are their ends.
type Index struct {
	Off, Row []int64
	Serial   bool
	Left     []Left // in order

	Pieces *made.Pieces // of a file whose text is made, while it is surveyed

	left  []int64 // Left as the plan keeps it
	made  bool
	state []byte // of Made
}

// Left is a record that is left out, since it is damaged.
type Left struct {
	Off    int64
	Record string // "line 3"
	Why    error
}

// Rows in the whole file.
func (x *Index) Rows() int64 { return x.Row[len(x.Row)-1] }

// failed is the error of a piece.
type failed struct {
	number int
	err    error
}

// away bounds how many files of other machines that have more than a piece are surveyed at the
// same time: many files are looked at together, since they wait for answers, and each of these
// takes several pieces of memory.
var away = make(chan struct{}, 8)

// turn waits until a file may be surveyed, and returns what ends that.
func turn(ctx context.Context, f storage.File) (end func(), err error) {
	if _, ok := storage.As[storage.Forgetter](f); !ok || f.Size() <= pieceBytes {
		return func() {}, nil
	}
	select {
	case away <- struct{}{}:
		return func() { <-away }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run is a Survey at work.
type run struct {
	*Survey
	text   *text
	items  Items
	pieces chan *Piece // nil: they are looked at where they are cut
	free   chan *Piece

	mu   sync.Mutex
	off  []int64
	row  []int64
	left []Left
	errs []failed
}

// Run surveys a file. Of several errors it returns the first one in the file.
func (s Survey) Run(ctx context.Context, f storage.File) (*Index, error) {
	end, err := turn(ctx, f)
	if err != nil {
		return nil, err
	}
	defer end()
	if s.Made != nil {
		return s.made(ctx, f, s.Path)
	}
	t, err := open(ctx, f, f.Size(), s.Encoding)
	if err != nil {
		return nil, err
	}
	defer t.close()
	if s.Array != nil {
		if err := t.only(ctx, f, s.Array); err != nil {
			return nil, err
		}
	}
	r := &run{Survey: &s, text: t, pieces: make(chan *Piece), free: make(chan *Piece, s.Workers+2)}
	_, remote := storage.As[storage.Forgetter](f)
	ahead, pieces := s.Workers, s.Workers+2
	if ahead == 1 && !remote { // what was read is looked at while it is in the processor's cache
		ahead, pieces, r.pieces = 0, 1, nil
	}
	for range pieces {
		r.free <- &Piece{}
	}
	g, ctx := errgroup.WithContext(ctx)
	for w := range ahead {
		g.Go(func() error {
			for p := range r.pieces {
				if err := r.look(w, p); err != nil {
					return err // which also ends the cutting
				}
			}
			return nil
		})
	}
	var size int64
	g.Go(func() (err error) {
		if r.pieces != nil {
			defer close(r.pieces)
		}
		size, err = r.cut(ctx)
		return err
	})
	err = g.Wait()
	if len(r.errs) > 0 {
		return nil, slices.MinFunc(r.errs, func(a, b failed) int { return cmp.Compare(a.number, b.number) }).err
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(r.left, func(a, b Left) int { return cmp.Compare(a.Off, b.Off) })
	x := &Index{Off: append(r.off, size), Row: append(r.row, 0), Serial: t.serial, Left: r.left}
	sum := int64(0)
	for i, n := range x.Row {
		x.Row[i] = sum
		sum += n
	}
	return x, nil
}

// look looks at the records of a piece, and gives its memory back.
func (r *run) look(w int, p *Piece) error {
	p.Dirty = r.Replace && !valid(p.Data)
	n, err := r.Work(w, p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, p.lost...)
	p.lost = p.lost[:0]
	if r.row[p.number] = n; err != nil {
		r.errs = append(r.errs, failed{p.number, err})
	}
	r.free <- p // there is room for all
	return err
}

// cut distributes pieces and returns where the text ends.
func (r *run) cut(ctx context.Context) (end int64, err error) {
	off, line := r.text.off, int64(0)
	var p *Piece
	var carry []byte
	for number := 0; ; {
		select {
		case p = <-r.free:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		p.Data, p.Off, p.Line, p.number, p.asked, p.before, p.Items = append(p.Data[:0], carry...), off, line, number, 0, 0, r.Array != nil
		at, long, err := r.fill(p)
		if err != nil {
			return 0, err
		}
		carry = append(carry[:0], p.Data[at:]...)
		p.Data = p.Data[:at]
		off += int64(at)
		if at == 0 {
			return off, r.closed(off)
		}
		last := len(carry) == 0 && p.Data[at-1] != '\n'
		if last {
			p.Data = append(p.Data, '\n')
		}
		line += int64(bytes.Count(p.Data, []byte{'\n'}))
		if number == 0 && r.Head != nil {
			n, err := r.Head(p)
			if err != nil {
				return 0, err
			}
			p.Line += int64(bytes.Count(p.Data[:n], []byte{'\n'}))
			p.Off += int64(n)
			p.Data, p.asked, p.before = p.Data[n:], 0, 0
		}
		r.mu.Lock()
		r.off, r.row = append(r.off, p.Off), append(r.row, 0)
		r.mu.Unlock()
		if long { // unless the worker finds a quote that is not closed, which counts
			what := "line %d or a quoted cell behind it"
			if r.End != nil {
				what = "the text behind line %d"
			} else if r.Array != nil {
				what = "item %d"
			}
			err = shardify.Corrupt(p.Off, what+" has no end within %s", p.Line+1, shardify.FormatSize(int64(r.most())))
		}
		if r.pieces == nil {
			err = errors.Join(r.look(0, p), err)
		} else {
			select {
			case r.pieces <- p:
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		}
		if err != nil {
			return 0, err
		}
		if last {
			return off, r.closed(off)
		}
		number++
	}
}

// most is what a piece has at most.
func (s *Survey) most() int { return min(max(s.Most, maxPiece), mostPiece) }

// fill reads until a piece has the end of a record behind pieceBytes, and returns the position of
// that end; without one it is the end of the text. A piece without one that gets too long is long.
func (r *run) fill(p *Piece) (at int, long bool, err error) {
	eof := false
	more := func(n int) error {
		have := len(p.Data)
		p.Data = slices.Grow(p.Data, n)[:have+n]
		got, err := io.ReadFull(r.text.r, p.Data[have:])
		p.Data = p.Data[:have+got]
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			eof, err = true, nil
		}
		return err
	}
	n := max(len(p.Data), step) // small files take little
	if p.number > 0 {
		n = pieceBytes + step
	}
	for ; len(p.Data) < pieceBytes+step && !eof; n *= 2 {
		if err := more(min(n, pieceBytes+step-len(p.Data))); err != nil {
			return 0, false, err
		}
	}
	skip := 0
	if p.number == 0 {
		skip = r.Quotes.Skip
	}
	for {
		at := -1
		if r.Array != nil {
			var err error
			if at, err = r.cutItems(p); err != nil {
				return 0, false, err
			}
		} else if r.End != nil {
			at = r.End(p.Data, pieceBytes)
		} else {
			at = r.Quotes.end(p.Data, skip, pieceBytes)
		}
		if at >= 0 {
			return at, false, nil
		}
		if eof {
			return len(p.Data), false, nil
		}
		if len(p.Data) > r.most() {
			return len(p.Data), true, nil
		}
		if err := more(min(max(step, len(p.Data)/2), r.most()+step-len(p.Data))); err != nil {
			return 0, false, err
		}
	}
}

// Found is what a look at an input found, or its error.
type Found[T any] struct {
	At  T
	Err error
}

// Each looks at all inputs, several at once, before a format can know what is in any of them. It
// ends early only with ctx.
func Each[T any](ctx context.Context, a *format.OpenArgs, look func(ctx context.Context, path string, workers int) (T, error)) ([]Found[T], error) {
	if a.Table == nil || a.Table.Len() == 0 {
		return nil, nil // rows says so
	}
	all := make([]Found[T], a.Table.Len())
	return all, survey.EachInput(ctx, a, func(ctx context.Context, i, workers int) error {
		x, err := look(ctx, a.Table.Path(i), workers)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			return cause
		}
		all[i] = Found[T]{x, err}
		return nil
	})
}
