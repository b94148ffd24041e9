package mmap

import (
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage/local"
)

const (
	// buffers is what all tensors of a shard may gather before they write: it
	// must not grow with the number of columns.
	buffers = 4 << 20
	// piece is how much is summed and written at a time: it stays in the
	// processor's cache between the two.
	piece = 512 << 10
	// straight is the size from which bytes are written without being gathered, except for the rest of a page.
	straight = 64 << 10
	page     = 4 << 10
)

// bufferSize is the share of one of n tensors.
func bufferSize(n int) int { return min(max(buffers/n, 4<<10), 256<<10) &^ 4095 }

// tensor writes the bytes of one tensor, in order.
type tensor struct {
	sink  *sink
	at    int64          // where the next bytes go in the file; -1 into the spill
	lo    int64          // where it begins, as planned; -1 if it is not
	spill []local.Extent // parts of the sink's scratch file
	buf   []byte
	size  int // of buf at most
	crc   uint32
	rows  int64
	base  int64 // of offsets: the last one written
}

// write appends b, which is rows steps of the first dimension. Little is
// gathered; much goes to the file from the caller's memory.
func (t *tensor) write(b []byte, rows int64) error {
	t.rows += rows
	if len(b) >= min(straight, t.size) {
		return t.writeMuch(b)
	}
	if n := len(t.buf); n+len(b) >= t.size {
		top := t.size - n // fill it, so that writes stay aligned
		t.gather(b[:top])
		b = b[top:]
		if err := t.flush(); err != nil {
			return err
		}
	}
	t.gather(b)
	return nil
}

// writeMuch completes the page that is gathered, and writes all whole pages that follow.
func (t *tensor) writeMuch(b []byte) error {
	at := max(t.at, 0) + int64(len(t.buf))
	if top := min(int(-at&(page-1)), len(b)); len(t.buf) > 0 {
		t.gather(b[:top])
		b, at = b[top:], at+int64(top)
		if err := t.flush(); err != nil {
			return err
		}
	}
	whole := max(len(b)-int((at+int64(len(b)))&(page-1)), 0)
	for whole > 0 {
		n := min(whole, piece)
		t.crc = index.CRC32C(t.crc, b[:n])
		if err := t.put(b[:n]); err != nil {
			return err
		}
		b, whole = b[n:], whole-n
	}
	t.gather(b)
	return nil
}

func (t *tensor) gather(b []byte) {
	t.crc = index.CRC32C(t.crc, b)
	t.buf = append(t.buf, b...)
}

func (t *tensor) flush() error {
	b := t.buf
	t.buf = t.buf[:0]
	return t.put(b)
}

// put writes b to the tensor's place or its spill.
func (t *tensor) put(b []byte) (err error) {
	if len(b) == 0 {
		return nil
	}
	if t.at >= 0 {
		_, err = t.sink.file.WriteAt(b, t.at)
		t.at += int64(len(b))
		return err
	}
	file, err := t.sink.scratchFile()
	if err != nil {
		return err
	}
	off := file.Size()
	if _, err = file.Write(b); err != nil {
		return err
	}
	if k := len(t.spill) - 1; k >= 0 && t.spill[k].Off+t.spill[k].Len == off {
		t.spill[k].Len += int64(len(b))
		return nil
	}
	t.spill = append(t.spill, local.Extent{Off: off, Len: int64(len(b))})
	return nil
}

// finish brings everything to the file, where the tensor begins at byte lo.
func (t *tensor) finish(lo int64) error {
	if t.at < 0 {
		t.at = lo
		if t.spill != nil {
			var err error
			if t.sink.gathered, err = t.sink.spill.CopyTo(t.sink.file, lo, t.spill, t.sink.gathered); err != nil {
				return err
			}
			for _, e := range t.spill {
				t.at += e.Len
			}
			t.spill = nil
		}
	}
	return t.flush()
}
