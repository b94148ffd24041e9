package inflate

import "io"

const (
	history    = 32 << 10  // how far back a match may reach
	windowSize = 256 << 10 // history and what was decoded but not yet read
)

// A Reader decodes a stream of any length in about 360 KiB of memory, which the
// first Reset allocates; later ones allocate nothing. One of the Reset methods
// must come first. A Reader must not be used concurrently.
//
// A Reader reads ahead of what it needs from its input.
type Reader struct {
	f     inflater
	src   source
	frame frame
	stage stage
	sum   sum

	// win[read:made] is decoded and not yet read, win[base:made] is what
	// matches may reach.
	win              []byte
	base, read, made int

	starved bool // what is in src does not suffice for the next step
	err     error
}

// stage is the part of the frame that comes next.
type stage int

const (
	atFrameHeader stage = iota
	atData
	atFrameTrailer
)

// Reset prepares to read a raw deflate stream (RFC 1951) from r.
func (r *Reader) Reset(src io.Reader) { r.reset(rawFrame, src) }

// ResetGzip prepares to read gzip members (RFC 1952) up to the end of src. Their
// checksums and sizes are verified before the end of each is passed. Zero
// padding is skipped, other bytes behind a member are an error.
func (r *Reader) ResetGzip(src io.Reader) { r.reset(gzipFrame, src) }

func (r *Reader) reset(fr frame, src io.Reader) {
	r.src.reset(src)
	r.f.reset()
	r.frame, r.stage = fr, atFrameHeader
	if r.win == nil {
		r.win = make([]byte, windowSize)
	}
	r.base, r.read, r.made = 0, 0, 0
	r.starved, r.err = false, nil
}

// InputBytes returns how many bytes of the input are used. After io.EOF that is
// where the stream, with its frame, ends. Before, it is ahead of the bytes that
// Read has returned.
func (r *Reader) InputBytes() int64 {
	return r.src.offset() - int64(r.f.n>>3)
}

// Read implements io.Reader. It returns io.EOF only behind the end of the
// stream; all bytes before a fault are returned before the error.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.read == r.made {
		if r.err != nil {
			return 0, r.err
		}
		if r.win == nil {
			panic("inflate: Read before Reset")
		}
		r.err = r.step()
	}
	n := copy(p, r.win[r.read:r.made])
	r.read += n
	return n, nil
}

// step takes one step through the frame, when nothing is left to be read.
func (r *Reader) step() error {
	switch r.stage {
	case atFrameHeader:
		if err := r.frame.header(&r.src); err != nil {
			return err
		}
		r.f.reset()
		r.sum = r.frame.start()
		r.base = r.made
		r.stage = atData
		return nil
	case atData:
		return r.decode()
	}
	if err := r.frame.trailer(&r.src, r.sum); err != nil {
		return err
	}
	if r.frame == gzipFrame {
		more, err := gzipNext(&r.src)
		if err != nil {
			return err
		}
		if more {
			r.stage = atFrameHeader
			return nil
		}
	}
	return io.EOF
}

// decode adds to the window what the present input yields.
func (r *Reader) decode() error {
	if r.starved {
		if err := r.src.more(); err != nil {
			r.src.ip -= int(r.f.n >> 3)
			r.f.bits, r.f.n = 0, 0
			return r.src.ended(err, "deflate data")
		}
		r.starved = false
	}
	if r.made >= windowSize-fastOut {
		r.slide()
	}
	start := r.made
	win := r.win[r.base:]
	pos, ip, st := r.f.run(win, r.made-r.base, len(win)-fastOut, r.src.buf, r.src.ip)
	r.made = r.base + pos
	r.src.ip = ip
	r.frame.add(&r.sum, r.win[start:r.made])
	switch st {
	case needInput:
		r.starved = true
	case finished:
		r.stage = atFrameTrailer
	case corrupt, tooLong:
		r.src.ip -= int(r.f.n >> 3)
		r.f.bits, r.f.n = 0, 0
		return r.src.fail(ErrCorrupt, r.f.what)
	}
	return nil
}

// slide moves the history to the start of the window.
func (r *Reader) slide() {
	keep := min(history, r.made-r.base)
	copy(r.win, r.win[r.made-keep:r.made])
	r.base, r.read, r.made = 0, keep, keep
}
