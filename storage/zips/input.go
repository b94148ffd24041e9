package zips

import (
	"io"

	"github.com/shardify/shardify"
)

// Input is a file in the survey: random access with a known size. What was read
// last is kept, so that the small pieces that a survey looks at, which are
// together, cost few reads.
type Input struct {
	R    io.ReaderAt
	Size int64
	off  int64 // of buf in the file
	buf  []byte
}

const (
	// pieceBytes is the least that a survey reads at once: a local header and
	// the NPY header behind it.
	pieceBytes = 1 << 10
	// smallFile is read whole by the first access.
	smallFile = 32 << 10
)

// At returns bytes [off, off+n) of the file. They are valid until the next call.
func (in *Input) At(off int64, n int) ([]byte, error) {
	if off < 0 || n < 0 || off > in.Size || int64(n) > in.Size-off {
		return nil, shardify.Corrupt(off, "truncated: needs %d bytes, has %d", n, max(in.Size-off, 0))
	}
	if off >= in.off && off+int64(n) <= in.off+int64(len(in.buf)) {
		return in.buf[off-in.off:][:n], nil
	}
	lo, hi := off, min(max(off+int64(n), off+pieceBytes), in.Size)
	if in.Size <= smallFile {
		lo, hi = 0, in.Size
	}
	if int64(cap(in.buf)) < hi-lo {
		in.buf = make([]byte, hi-lo)
	}
	in.buf = in.buf[:hi-lo]
	in.off = lo
	if m, err := in.R.ReadAt(in.buf, lo); m < len(in.buf) {
		in.buf = in.buf[:0]
		if err == io.EOF || err == nil {
			return nil, shardify.Corrupt(lo+int64(m), "truncated while it was read")
		}
		return nil, err
	}
	return in.buf[off-lo:][:n], nil
}
