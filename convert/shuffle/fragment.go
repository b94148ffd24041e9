package shuffle

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
)

// A fragment is a scratch file with the samples of one portion of the plan, parted
// into buckets. It is written in rounds, as often as memory is full:
//
//	per round: the pieces of all buckets, in order; a piece is any number of blocks
//	then, per round and bucket: u64 end of the piece, u32 samples, u32 CRC-32C of the piece
//	u32 rounds, u32 buckets, magic "SHFYFRAG"
//
// A block:
//
//	u64 n samples
//	n   u32 or u64: numbers of the samples in their inputs
//	n   u32 inputs, if the plan has several; n u16 copies, if there are any
//	per column, and for names of samples:
//	    n u8 valid, if nullable; n u32 lengths, if jagged; of two levels, the lists' lengths
//	    the values
//
// each part padded to 8 bytes. Its bytes depend on memory; what is made of it does not.
const (
	fragMagic = "SHFYFRAG"
	fragTail  = 4 + 4 + 8
	fragEntry = 16
)

// Layout is what a plan fixes about blocks.
type Layout struct {
	Schema []shardify.Field
	Keyed  bool // samples have names of their own
	Wide   bool // numbers of samples take 8 bytes
	Inputs bool // there are several
	Copies bool // there are some
}

// fragWriter writes a fragment.
type fragWriter struct {
	l     Layout
	out   storage.Pending
	buf   []byte
	crc   uint32
	end   int64 // of what was written and buffered
	index []byte
	n     int // buckets
	runs  int // rounds
	rows  []int32
	count []int32
}

const fragBuffer = 1 << 20

// round writes all samples of a buffer. bucket returns the bucket of each.
func (w *fragWriter) round(h *buffer, bucket func(i int) int, pool *shardify.Pool) error {
	if h.b.Samples == 0 {
		return nil
	}
	w.count = slices.Grow(w.count[:0], w.n+1)[:w.n+1]
	clear(w.count)
	for i := range h.b.Samples {
		w.count[bucket(i)+1]++
	}
	for b := range w.n {
		w.count[b+1] += w.count[b]
	}
	starts := slices.Clone(w.count)
	w.rows = slices.Grow(w.rows[:0], h.b.Samples)[:h.b.Samples]
	for i := range h.b.Samples {
		b := bucket(i)
		w.rows[w.count[b]] = int32(i)
		w.count[b]++
	}
	// Gathered in stretches that stay in the processor's cache, whatever the buckets.
	step := int(max(int64(h.b.Samples)*batchBytes/max(h.bytes(), 1), 1))
	b := 0
	for lo := 0; lo < len(w.rows); lo += step {
		hi := min(lo+step, len(w.rows))
		mem := pool.Overdraft()
		part, err := h.b.Take(w.rows[lo:hi], mem)
		for err == nil && b < w.n {
			from, to := max(int(starts[b]), lo), min(int(starts[b+1]), hi)
			if from < to {
				err = w.block(part, from-lo, to-lo)
			}
			if int(starts[b+1]) > hi {
				break // goes on in the next stretch
			}
			w.entry(starts[b+1] - starts[b])
			b++
		}
		mem.Release()
		if err != nil {
			return err
		}
	}
	for ; b < w.n; b++ {
		w.entry(0)
	}
	w.runs++
	return nil
}

// entry ends a piece.
func (w *fragWriter) entry(samples int32) {
	w.index = binary.LittleEndian.AppendUint64(w.index, uint64(w.end))
	w.index = binary.LittleEndian.AppendUint32(w.index, uint32(samples))
	w.index = binary.LittleEndian.AppendUint32(w.index, w.crc)
	w.crc = 0
}

// block writes samples [lo, hi) of a batch.
func (w *fragWriter) block(b *shardify.Batch, lo, hi int) error {
	n := hi - lo
	w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(n))
	from := len(w.buf) - 8
	ids := b.IDs[lo:hi]
	for i := range ids {
		if w.l.Wide {
			w.buf = binary.LittleEndian.AppendUint64(w.buf, uint64(ids[i].Sample))
		} else {
			w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(ids[i].Sample))
		}
	}
	w.buf = pad8(w.buf)
	if w.l.Inputs {
		for i := range ids {
			w.buf = binary.LittleEndian.AppendUint32(w.buf, ids[i].Input)
		}
		w.buf = pad8(w.buf)
	}
	if w.l.Copies {
		for i := range ids {
			w.buf = binary.LittleEndian.AppendUint16(w.buf, ids[i].Copy)
		}
		w.buf = pad8(w.buf)
	}
	w.written(from)
	for i := range b.Columns {
		if err := w.column(&b.Columns[i], lo, hi); err != nil {
			return err
		}
	}
	if w.l.Keyed {
		return w.column(b.Keys, lo, hi)
	}
	return nil
}

// written counts the bytes that the buffer has from a position on.
func (w *fragWriter) written(from int) {
	w.crc = index.CRC32C(w.crc, w.buf[from:])
	w.end += int64(len(w.buf) - from)
}

func (w *fragWriter) column(c *shardify.Column, lo, hi int) error {
	from := len(w.buf)
	if c.Nullable {
		w.buf = pad8(append(w.buf, c.Valid[lo:hi]...))
	}
	a, b := int64(lo), int64(hi)
	for _, o := range c.Offsets {
		for i := a; i < b; i++ {
			n := o[i+1] - o[i]
			if n > math.MaxUint32 {
				return shardify.Unsupported("field %s: a list of %d", c.Name, n)
			}
			w.buf = binary.LittleEndian.AppendUint32(w.buf, uint32(n))
		}
		w.buf = pad8(w.buf)
		a, b = o[a], o[b]
	}
	size := int64(c.ElemBytes())
	data := c.Data[a*size : b*size]
	if len(data) < fragBuffer/4 {
		w.buf = pad8(append(w.buf, data...))
		w.written(from)
		if len(w.buf) < fragBuffer {
			return nil
		}
		return w.flush()
	}
	w.written(from)
	if err := w.flush(); err != nil {
		return err
	}
	// Large values go straight to the file, with their padding: the buffer goes on at a
	// multiple of 8.
	var zeros [8]byte
	for _, part := range [][]byte{data, zeros[:-len(data)&7]} {
		w.crc = index.CRC32C(w.crc, part)
		w.end += int64(len(part))
		if _, err := w.out.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// pad8 pads to 8 bytes. The buffer is written out only between parts.
func pad8(b []byte) []byte {
	for len(b)&7 != 0 {
		b = append(b, 0)
	}
	return b
}

func (w *fragWriter) flush() error {
	_, err := w.out.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// commit completes the file and returns its size.
func (w *fragWriter) commit(ctx context.Context) (int64, error) {
	w.index = binary.LittleEndian.AppendUint32(w.index, uint32(w.runs))
	w.index = binary.LittleEndian.AppendUint32(w.index, uint32(w.n))
	w.index = append(w.index, fragMagic...)
	if err := w.flush(); err != nil {
		return 0, err
	}
	if _, err := w.out.Write(w.index); err != nil {
		return 0, err
	}
	return w.end + int64(len(w.index)), w.out.Commit(ctx)
}

// fragment is a fragment file, open for reading.
type fragment struct {
	blob storage.Blob
	name string
	runs int
	n    int
	at   int64 // where the entries begin
	// damaged fragments are removed, so that the next run rebuilds them.
	damaged atomic.Bool
}

// failed notes what a read has found. Damage stays damage, whatever the storage answers
// another goroutine.
func (f *fragment) failed(err error) {
	if errors.Is(err, shardify.ErrCorrupt) {
		f.damaged.Store(true)
	}
}

func openFragment(s interface {
	Open(name string) (storage.Blob, error)
}, name string) (*fragment, error) {
	blob, err := s.Open(name)
	if err != nil {
		return nil, err
	}
	f := &fragment{blob: blob, name: name}
	if err := f.head(); err != nil {
		blob.Close()
		return nil, shardify.Annotate(err, "read", name, "")
	}
	return f, nil
}

func (f *fragment) head() error {
	size := f.blob.Size()
	if size < fragTail {
		return shardify.Corrupt(0, "a fragment of %d bytes", size)
	}
	var tail [fragTail]byte
	if err := readFull(f.blob, tail[:], size-fragTail); err != nil {
		return err
	}
	f.runs = int(binary.LittleEndian.Uint32(tail[:]))
	f.n = int(binary.LittleEndian.Uint32(tail[4:]))
	hi, entries := bits.Mul64(uint64(f.runs)*fragEntry, uint64(f.n))
	if string(tail[8:]) != fragMagic || hi > 0 || entries > uint64(size-fragTail) {
		return shardify.Corrupt(size-fragTail, "no end of a fragment")
	}
	f.at = size - fragTail - int64(entries)
	return nil
}

func readFull(r storage.Blob, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if err != nil && n < len(b) && !errors.Is(err, io.EOF) {
		return err // of the storage: the file may be as it should
	}
	if n < len(b) {
		return shardify.Corrupt(at, "%d bytes of %d: %v", n, len(b), err)
	}
	return nil
}

// piece is the place of one bucket's samples in a fragment.
type piece struct {
	f      *fragment
	lo, hi int64
	rows   int
	crc    uint32
}

// pieces appends those of a bucket that have samples.
func (f *fragment) pieces(dst []piece, bucket int) ([]piece, error) {
	var e [2 * fragEntry]byte
	for r := range f.runs {
		i := int64(r)*int64(f.n) + int64(bucket)
		p := piece{f: f}
		// The piece before ends where this one begins; the first begins at 0.
		b := e[:]
		if i == 0 {
			b = e[fragEntry:]
			clear(e[:fragEntry])
		}
		at := f.at + i*fragEntry - int64(len(b)-fragEntry)
		if err := readFull(f.blob, b, at); err != nil {
			return nil, shardify.Annotate(err, "read", f.name, "")
		}
		p.lo = int64(binary.LittleEndian.Uint64(e[:]))
		p.hi = int64(binary.LittleEndian.Uint64(e[fragEntry:]))
		p.rows = int(binary.LittleEndian.Uint32(e[fragEntry+8:]))
		p.crc = binary.LittleEndian.Uint32(e[fragEntry+12:])
		if p.lo < 0 || p.hi < p.lo || p.hi > f.at || p.rows > 0 == (p.lo == p.hi) {
			f.damaged.Store(true)
			return nil, shardify.Annotate(shardify.Corrupt(at, "piece of %d samples in bytes [%d, %d)", p.rows, p.lo, p.hi), "read", f.name, "")
		}
		if p.rows > 0 {
			dst = append(dst, p)
		}
	}
	return dst, nil
}

// counts adds up the samples of every bucket.
func (f *fragment) counts(sum []int64) error {
	const step = 1 << 14
	buf := make([]byte, step*fragEntry)
	total := f.runs * f.n
	for lo := 0; lo < total; lo += step {
		b := buf[:min(step, total-lo)*fragEntry]
		if err := readFull(f.blob, b, f.at+int64(lo)*fragEntry); err != nil {
			return shardify.Annotate(err, "read", f.name, "")
		}
		for i := 0; i < len(b); i += fragEntry {
			sum[(lo+i/fragEntry)%f.n] += int64(binary.LittleEndian.Uint32(b[i+8:]))
		}
	}
	return nil
}
