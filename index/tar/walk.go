package tar

import (
	"bytes"
	"errors"
	"io"

	"github.com/shardify/shardify"
)

// Window reads a file through one buffer: neighbouring small reads cost one
// system call, and what is jumped over is not read.
type Window struct {
	r    io.ReaderAt
	size int64
	buf  []byte
	lo   int64 // place of buf[0]
	n    int   // bytes of buf in use
	step int   // bytes of the last fill
	// fresh: step was set by Expect
	fresh bool
}

const (
	// minStep is the first read after a jump: a header and a little more.
	minStep = 4 << 10
	// maxGap is the most that is read and thrown away rather than jumped over.
	maxGap = 16 << 10
)

// Reset makes the window read the first size bytes of r through buf, which
// should be 4 KiB or more and limits what Bytes can return.
func (w *Window) Reset(r io.ReaderAt, size int64, buf []byte) {
	*w = Window{r: r, size: size, buf: buf}
}

// Hold makes the window read bytes in memory, which are at an offset of a tar.
func (w *Window) Hold(b []byte, at int64) {
	*w = Window{size: at + int64(len(b)), buf: b, lo: at, n: len(b)}
}

// Expect says how many bytes are between the coming reads on average. From that the first
// of them decides how much to read ahead.
func (w *Window) Expect(apart int64) {
	w.step = minStep
	if apart <= maxGap {
		w.step = len(w.buf)
	}
	w.fresh = true
}

// Size is the bytes that the window reads.
func (w *Window) Size() int64 { return w.size }

// Bytes returns bytes [at, at+n) until the next call; n is at most the length of
// the buffer. Beyond the end it fails with ErrCorrupt.
func (w *Window) Bytes(at int64, n int) ([]byte, error) {
	if i := at - w.lo; i >= 0 && i+int64(n) <= int64(w.n) {
		return w.buf[i : i+int64(n)], nil
	}
	if at < 0 || at > w.size || int64(n) > w.size-at {
		return nil, shardify.Corrupt(at, "ends at byte %d, %d more expected here", w.size, n)
	}
	if n > len(w.buf) {
		return nil, shardify.Unsupported("window of %d bytes asked for %d", len(w.buf), n)
	}
	switch end := w.lo + int64(w.n); {
	case w.fresh:
		w.fresh = false
	case at >= w.lo && at <= end+maxGap:
		w.step *= 2
	default:
		w.step = minStep
	}
	w.step = min(max(w.step, n, minStep), len(w.buf))
	fill := int(min(int64(w.step), w.size-at))
	w.lo, w.n = at, 0
	if err := w.ReadAt(w.buf[:fill], at); err != nil {
		return nil, err
	}
	w.n = fill
	return w.buf[:n], nil
}

// ReadAt fills b from at, past the buffer: for data that goes elsewhere anyway.
func (w *Window) ReadAt(b []byte, at int64) error {
	if at < 0 || at > w.size || int64(len(b)) > w.size-at {
		return shardify.Corrupt(at, "ends at byte %d, %d more expected here", w.size, len(b))
	}
	if w.r == nil { // held: what is there was looked for in vain
		return shardify.Corrupt(at, "%d bytes expected before byte %d, where what was read begins", len(b), w.lo)
	}
	n, err := w.r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return shardify.Corrupt(at+int64(n), "ends here, %d more bytes expected", len(b)-n)
	}
	return &shardify.Error{Op: "read", Sample: -1, Offset: at, Err: err}
}

// Entry is a member and its place.
type Entry struct {
	Header       // Name is valid until the next use of the window
	Offset int64 // of the header; the data begin Block later
}

// Data is where the member's data begin.
func (e *Entry) Data() int64 { return e.Offset + Block }

// End is where the next member begins.
func (e *Entry) End() int64 { return e.Data() + e.Size + Pad(e.Size) }

// Walker walks the members of a shard of ours, or of a part of it, and checks
// every byte that is no data: headers, filler, end.
type Walker struct {
	*Window
	at, hi int64 // the last member's filler begins at at
}

// Part makes Next return the members that fill [lo, hi), whole blocks.
func (w *Walker) Part(lo, hi int64) { w.at, w.hi = lo, hi }

// Next returns the next member, and io.EOF at the end of the part. A member that
// does not end where the part does is damage.
func (w *Walker) Next() (Entry, error) {
	next := w.at + Pad(w.at)
	if next > w.hi {
		return Entry{}, shardify.Corrupt(w.hi, "tar member goes on to byte %d", next)
	}
	n := next - w.at
	if next < w.hi {
		n += Block
	}
	b, err := w.Bytes(w.at, int(n))
	if err != nil {
		return Entry{}, err
	}
	fill := int(next - w.at)
	if err := checkZero(b[:fill], w.at, "tar filler"); err != nil {
		return Entry{}, err
	}
	if next == w.hi {
		w.at = next
		return Entry{}, io.EOF
	}
	h, err := ParseHeader(b[fill:])
	if err != nil {
		return Entry{}, shift(err, next)
	}
	w.at = next + Block
	if h.Size > w.hi-w.at {
		return Entry{}, shardify.Corrupt(next+sizeAt, "tar member %s has %d bytes, %d are left", h.Name, h.Size, w.hi-w.at)
	}
	w.at += h.Size
	return Entry{h, next}, nil
}

// CheckEnd checks that a shard of ours ends in exactly two zero blocks and
// returns where they begin.
func CheckEnd(w *Window) (int64, error) {
	end := w.Size() - End
	if end < 0 || end%Block != 0 {
		return 0, shardify.Corrupt(w.Size(), "tar of %d bytes: want whole blocks of %d and two at the end", w.Size(), Block)
	}
	b, err := w.Bytes(end, End)
	if err != nil {
		return 0, err
	}
	return end, checkZero(b, end, "tar end")
}

var zeros [End]byte

// checkZero checks b, at most End bytes, found at a place.
func checkZero(b []byte, at int64, what string) error {
	if bytes.Equal(b, zeros[:len(b)]) {
		return nil
	}
	i := bytes.IndexFunc(b, func(r rune) bool { return r != 0 })
	return shardify.Corrupt(at+int64(i), "%s is %#02x, want zeros", what, b[i])
}

// shift adds base to an error's offset.
func shift(err error, base int64) error {
	e, ok := err.(*shardify.Error)
	if !ok {
		return err
	}
	c := *e
	if c.Offset >= 0 {
		c.Offset += base
	}
	return &c
}
