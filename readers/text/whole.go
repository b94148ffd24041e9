package text

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/internal/rows/survey"
	"github.com/shardify/shardify/storage"
)

// whole reads files that are one document each. They are read into their batch at once, and may be
// as large as its memory.
type whole struct {
	mend bool
	of   *document
}

// document is an open file, and how many bytes its text has.
type document struct {
	storage.File
	bytes int64
}

// Unwrap is the file below.
func (d *document) Unwrap() any { return d.File }

// lookWhole goes through a file once.
func (s *source) lookWhole(ctx context.Context, name string, want *columns.Wanted) (*survey.Facts, error) {
	f, err := rows.OpenFile(ctx, s.fs, name, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n, mended, err := s.measure(ctx, f)
	if err != nil {
		if s.skip {
			err = damaged(err)
		}
		return nil, err
	}
	out := factsOf(want, f.Size(), 1, mended)
	out.Blob = binary.AppendUvarint(nil, uint64(n))
	return out, nil
}

// measure is how many bytes the text of a file has, and how many where what is not UTF-8 is
// replaced.
func (s *source) measure(ctx context.Context, f storage.File) (n, mended int64, err error) {
	t, err := lines.Open(ctx, f, lines.UTF8)
	if err != nil {
		return 0, 0, err
	}
	defer t.Close()
	buf := make([]byte, 256<<10)
	kept, line := 0, int64(0)
	for {
		got, err := io.ReadFull(t, buf[kept:])
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return 0, 0, err
		}
		b := buf[:kept+got]
		n += int64(got)
		if !last {
			b = b[:len(b)-unfinished(b)]
		}
		if err := s.check(&lines.Piece{Data: b, Off: n - int64(kept+got) + t.Off(), Line: line}, 0, len(b)); err != nil {
			return 0, 0, err
		}
		if utf8.Valid(b) {
			mended += int64(len(b))
		} else {
			mended += lines.ValidSize(b)
		}
		line += int64(bytes.Count(b, []byte{'\n'}))
		if last {
			return n, mended, nil
		}
		kept = copy(buf, buf[len(b):kept+got])
	}
}

// unfinished is how many bytes at the end of b may be the beginning of a character.
func unfinished(b []byte) int {
	for k := 1; k < utf8.UTFMax && k <= len(b); k++ {
		if utf8.RuneStart(b[len(b)-k]) {
			if utf8.FullRune(b[len(b)-k:]) {
				return 0
			}
			return k
		}
	}
	return 0
}

func newWhole(all *set.Set, mend bool) shardify.Source {
	var t *set.Table[*document]
	t = set.NewTable(all, func(_ context.Context, f storage.File, in *set.Input) (*document, error) {
		n, rest, ok := number(in.Blob)
		if !ok || len(rest) > 0 {
			return nil, errState
		}
		return &document{f, n}, nil
	}, func() shardify.Reader { return set.NewReader(t, &whole{mend: mend}) })
	return t
}

// Take implements set.Worker.
func (w *whole) Take(d *document, _ *set.Input, b *shardify.Batch) error {
	if w.of = d; !isText(b.Columns) {
		return errState
	}
	return nil
}

// Drop implements set.Worker.
func (w *whole) Drop() { w.of = nil }

// Close implements set.Worker.
func (w *whole) Close() {}

// sure is how much room is made for what a plan alone says.
const sure = 64 << 20

// has goes through a text to see that it has as many bytes as it had.
func has(ctx context.Context, d *document) error {
	t, err := lines.Open(ctx, d, lines.UTF8)
	if err != nil {
		return err
	}
	defer t.Close()
	if n, err := io.CopyN(io.Discard, t, d.bytes); err == io.EOF {
		return shardify.Corrupt(-1, "the text ends after %d bytes", n)
	} else if err != nil {
		return err
	}
	return nil
}

// Read implements set.Worker.
func (w *whole) Read(ctx context.Context, _ *set.Input, _ shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	d := w.of
	if d.bytes > max(d.Size(), sure) { // it is packed, or the plan is damaged: before room for it is made
		if err := has(ctx, d); err != nil {
			return err
		}
	}
	t, err := lines.Open(ctx, d, lines.UTF8)
	if err != nil {
		return err
	}
	defer t.Close()
	data, err := t.All(mem, d.bytes)
	if err != nil {
		return err
	}
	c := &b.Columns[0]
	if c.Data = data; !utf8.Valid(data) {
		at, why := printable.NotUTF8(data)
		if !w.mend {
			e := shardify.Unsupported("text that is not UTF-8 (%s)%s", why, lines.Cure)
			e.Offset = t.Off() + int64(at)
			return e
		}
		var n int64
		c.Data, n = lines.Valid(mem.Alloc(int(lines.ValidSize(data)))[:0], data)
		countReplaced(b, n)
	}
	ends := mem.Int64s(2)
	ends[0], ends[1] = 0, int64(len(c.Data))
	c.Offsets = [][]int64{ends}
	return nil
}
