package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/storage"
)

// The encodings of texts.
const (
	UTF8   = "utf8"
	Latin1 = "latin1"
	UTF16  = "utf16"
)

// maxWindow bounds the memory that a zstd frame may ask for.
const maxWindow = 64 << 20

// text is the decoded text of a file.
type text struct {
	r      io.Reader
	free   func()
	serial bool  // it can be read from its beginning alone
	off    int64 // of the first byte behind the mark
}

func (t *text) close() {
	if t.free != nil {
		t.free()
	}
}

// open decodes a file. Offsets of a text that is not serial are those of the file.
func open(ctx context.Context, f storage.File, size int64, encoding string) (*text, error) {
	var buf [4]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	head, t := buf[:n], &text{}
	src := &source{ctx: ctx, r: io.NewSectionReader(f, 0, size), left: size}
	t.r = src
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		var r inflate.Reader
		r.ResetGzip(t.r)
		t.r, t.serial = &unpack{&r, src, "gzip"}, true
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(t.r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		t.r, t.free, t.serial = &unpack{d, src, "zstd"}, d.Close, true
	}
	switch encoding {
	case Latin1:
		t.r, t.serial = &latin1{r: t.r}, true
	case UTF16:
		t.r, t.serial = &wide{r: t.r}, true
	}
	return t, t.mark()
}

// only leaves out what is not of an array.
func (t *text) only(ctx context.Context, f storage.File, a *Array) error {
	hi := a.Hi
	if !t.serial {
		if hi == 0 {
			hi = f.Size()
		}
		t.r = &source{ctx: ctx, r: io.NewSectionReader(f, a.Lo, hi-a.Lo), left: hi - a.Lo}
	} else {
		if _, err := io.CopyN(io.Discard, t.r, a.Lo-t.off); err != nil {
			return err
		}
		if hi > 0 {
			t.r = io.LimitReader(t.r, hi-a.Lo)
		}
	}
	t.off = a.Lo
	return nil
}

// mark leaves out the mark before UTF-8, and refuses UTF-16 that the options do not name.
func (t *text) mark() error {
	var buf [3]byte
	n, err := io.ReadFull(t.r, buf[:])
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	head := buf[:n]
	if bytes.HasPrefix(head, []byte{0xff, 0xfe}) || bytes.HasPrefix(head, []byte{0xfe, 0xff}) {
		return errWide
	}
	if bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		t.off = 3
		return nil
	}
	t.r = io.MultiReader(bytes.NewReader(bytes.Clone(head)), t.r)
	return nil
}

// Text is the whole text of a file, in order.
type Text struct{ *text }

// Open begins a text.
func Open(ctx context.Context, f storage.File, encoding string) (Text, error) {
	t, err := open(ctx, f, f.Size(), encoding)
	return Text{t}, err
}

// Read implements io.Reader.
func (t Text) Read(b []byte) (int, error) { return t.r.Read(b) }

// Close ends it; the file stays open.
func (t Text) Close() { t.close() }

// Off is how many bytes before it are a mark.
func (t Text) Off() int64 { return t.off }

// All is all of it, which had n bytes.
func (t Text) All(mem *shardify.Arena, n int64) ([]byte, error) {
	b := mem.Alloc(int(n))
	if _, err := io.ReadFull(t, b); err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil, shardify.Corrupt(-1, "the text ends early")
	} else if err != nil {
		return nil, err
	}
	var more [1]byte
	switch _, err := io.ReadFull(t, more[:]); {
	case err == nil:
		return nil, fmt.Errorf("%w: the text goes on where it ended", shardify.ErrChanged)
	case err != io.EOF:
		return nil, err
	}
	return b, nil
}

var errWide = shardify.Unsupported("text in UTF-16, as spreadsheets write it: save it as UTF-8")

// source is the bytes of a file, until a context ends. It keeps the error of a read that failed,
// which is not damage of what is packed in it. A file that ends before its size has changed: its
// last records would be missing, or cut in a place that looks like an end.
type source struct {
	ctx    context.Context
	r      io.Reader
	left   int64
	failed error
}

func (r *source) Read(b []byte) (int, error) {
	if r.ctx.Err() != nil {
		r.failed = context.Cause(r.ctx)
		return 0, r.failed
	}
	n, err := r.r.Read(b)
	r.left -= int64(n)
	if err == io.EOF && r.left > 0 {
		err = fmt.Errorf("%w: it ends %d bytes before its size", shardify.ErrChanged, r.left)
	}
	if err != nil && err != io.EOF {
		r.failed = err
	}
	return n, err
}

// unpack marks errors of the decompressor as damage.
type unpack struct {
	r    io.Reader
	src  *source
	what string
}

func (u *unpack) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	switch {
	case err == nil || err == io.EOF:
		return n, err
	case u.src.failed != nil:
		return n, u.src.failed
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, shardify.Corrupt(-1, "unexpected end of the %s stream", u.what)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return n, shardify.Unsupported("a zstd window of more than %s", shardify.FormatSize(maxWindow))
	}
	return n, shardify.Corrupt(-1, "%s: %v", u.what, err)
}

// latin1 makes UTF-8 of ISO 8859-1.
type latin1 struct {
	r    io.Reader
	in   [4096]byte
	out  [8192]byte
	rest []byte
}

func (l *latin1) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		n, err := l.r.Read(l.in[:])
		if n == 0 {
			return 0, err
		}
		out := l.out[:0]
		for _, c := range l.in[:n] {
			out = utf8.AppendRune(out, rune(c))
		}
		l.rest = out
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// wide makes UTF-8 of UTF-16, little-endian unless a mark says otherwise.
type wide struct {
	r     io.Reader
	begun bool
	big   bool
	pos   int64
	in    [4096]byte
	have  int // bytes of in that are not used
	out   []byte
	rest  []byte
}

func (w *wide) Read(b []byte) (int, error) {
	for len(w.rest) == 0 {
		n, err := w.r.Read(w.in[w.have:])
		if n == 0 && err != nil {
			if err == io.EOF && w.have > 0 {
				return 0, shardify.Corrupt(-1, "UTF-16 text that ends within a character")
			}
			return 0, err
		}
		if err := w.convert(w.in[:w.have+n]); err != nil {
			return 0, err
		}
	}
	n := copy(b, w.rest)
	w.rest = w.rest[n:]
	return n, nil
}

func (w *wide) unit(b []byte) rune {
	if w.big {
		return rune(b[0])<<8 | rune(b[1])
	}
	return rune(b[1])<<8 | rune(b[0])
}

func (w *wide) convert(b []byte) error {
	w.out = w.out[:0]
	if !w.begun && len(b) >= 2 {
		w.begun = true
		if w.big = b[0] == 0xfe && b[1] == 0xff; w.big || b[0] == 0xff && b[1] == 0xfe {
			b, w.pos = b[2:], 2
		}
	}
	for len(b) >= 2 {
		r, n := w.unit(b), 2
		if utf16.IsSurrogate(r) {
			if len(b) < 4 {
				break
			}
			if r, n = utf16.DecodeRune(r, w.unit(b[2:])), 4; r == utf8.RuneError {
				return shardify.Corrupt(w.pos, "half a pair of surrogates in UTF-16 text")
			}
		}
		w.out = utf8.AppendRune(w.out, r)
		b, w.pos = b[n:], w.pos+int64(n)
	}
	w.have = copy(w.in[:], b)
	w.rest = w.out
	return nil
}
