// Package megatron is the bytes of Megatron-LM's .bin and .idx pairs: the tokens of all sequences
// one after the other, and the index of their lengths, places and documents.
//
//	[0, 9)     "MMIDIDX" NUL NUL
//	[9, 17)    u64 1, the version
//	[17]       u8 type: 1 u8, 2 i8, 3 i16, 4 i32, 5 i64, 6 f64, 7 f32, 8 u16
//	[18, 26)   u64 S, the sequences
//	[26, 34)   u64 D, the documents and 1
//	           i32[S]  tokens of each sequence
//	           i64[S]  byte in the .bin where each begins
//	           i64[D]  first sequence of each document, and S
//	           i8[S]   mode of each sequence, in multimodal sets
package megatron

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// The extensions of a pair.
const (
	DataExt  = ".bin"
	IndexExt = ".idx"
)

// Magic begins an index.
const Magic = "MMIDIDX\x00\x00"

const headBytes = 34

var types = [...]shardify.DType{1: shardify.U8, shardify.I8, shardify.I16, shardify.I32, shardify.I64, shardify.F64, shardify.F32, shardify.U16}

// TypeCode is the code of a type of tokens, or 0.
func TypeCode(d shardify.DType) byte {
	if i := slices.Index(types[1:], d); i >= 0 {
		return byte(i + 1)
	}
	return 0
}

// IsIndex recognizes an index by its first bytes.
func IsIndex(head []byte) bool { return strings.HasPrefix(string(head), Magic) }

// Data is the name of the tokens that an index belongs to.
func Data(name string) string { return strings.TrimSuffix(name, IndexExt) + DataExt }

// Index is the name of the index of the tokens in a file.
func Index(name string) string { return strings.TrimSuffix(name, DataExt) + IndexExt }

// Append appends the index of sequences of such lengths, in tokens, that follow each other.
// Each is a document of its own.
func Append(b []byte, d shardify.DType, lengths []int32) []byte {
	n := len(lengths)
	b = slices.Grow(b, headBytes+4*n+8*n+8*(n+1))
	b = append(b, Magic...)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = append(b, TypeCode(d))
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	b = binary.LittleEndian.AppendUint64(b, uint64(n)+1)
	for _, l := range lengths {
		b = binary.LittleEndian.AppendUint32(b, uint32(l))
	}
	at, size := int64(0), int64(d.Size())
	for _, l := range lengths {
		b = binary.LittleEndian.AppendUint64(b, uint64(at))
		at += int64(l) * size
	}
	for i := range n + 1 {
		b = binary.LittleEndian.AppendUint64(b, uint64(i))
	}
	return b
}

// Head is the beginning of an index.
type Head struct {
	DType     shardify.DType
	Sequences int64
	Documents int64
	Modes     bool // each sequence has one
}

// ReadHead reads the head of an index of size bytes, and holds its counts against them.
func ReadHead(r io.ReaderAt, size int64) (h Head, err error) {
	var b [headBytes]byte
	n := min(size, headBytes)
	if err := index.ReadFull(r, b[:n], 0); err != nil {
		return h, err
	}
	switch {
	case strings.HasPrefix(string(b[:n]), "TNTIDX\x00\x00"):
		return h, shardify.Unsupported("an index of the older kind TNTIDX: tools/merge_datasets.py of that Megatron-LM writes MMIDIDX")
	case !IsIndex(b[:n]):
		return h, shardify.Corrupt(0, "no index of Megatron-LM: it begins with %q", b[:min(n, 9)])
	case n < headBytes:
		return h, shardify.Corrupt(n, "the index ends in its head")
	}
	if v := binary.LittleEndian.Uint64(b[9:]); v != 1 {
		return h, shardify.Unsupported("index of version %d, want 1", v)
	}
	if b[17] == 0 || int(b[17]) >= len(types) {
		return h, shardify.Unsupported("type %d of tokens: known are 1 to %d", b[17], len(types)-1)
	}
	h.DType = types[b[17]]
	s, d := binary.LittleEndian.Uint64(b[18:]), binary.LittleEndian.Uint64(b[26:])
	if s > uint64(size)/12 || d > uint64(size)/8 || d == 0 {
		return h, shardify.Corrupt(18, "%d sequences and %d ends of documents in an index of %d bytes", s, d, size)
	}
	h.Sequences, h.Documents = int64(s), int64(d)-1
	switch rest := size - h.end(); {
	case rest == 0:
	case rest == h.Sequences:
		h.Modes = true
	default:
		return h, shardify.Corrupt(18, "%d sequences and %d documents take %d bytes, the index has %d", s, h.Documents, h.end(), size)
	}
	return h, nil
}

// ReadIndex reads the head of an index of size bytes, and what its sequences take in the data.
func ReadIndex(r io.ReaderAt, size int64) (h Head, data int64, err error) {
	if h, err = ReadHead(r, size); err == nil {
		data, err = h.Bytes(r)
	}
	return h, data, err
}

func (h *Head) places() int64    { return headBytes + 4*h.Sequences }
func (h *Head) documents() int64 { return headBytes + 12*h.Sequences }
func (h *Head) end() int64       { return headBytes + 12*h.Sequences + 8*(h.Documents+1) }

// Bytes is what the tokens of all sequences take, as the last one says.
func (h *Head) Bytes(r io.ReaderAt) (int64, error) {
	if h.Sequences == 0 {
		return 0, nil
	}
	var w Walk
	n, err := w.next(r, h, h.Sequences-1, h.Sequences)
	if err != nil {
		return 0, err
	}
	return n.at + int64(n.length)*int64(h.DType.Size()), nil
}

// ReadDocuments reads the first sequences of documents [lo, lo+len(dst)-1), and where the last one
// ends.
func (h *Head) ReadDocuments(r io.ReaderAt, lo int64, dst []int64) error {
	b := shardify.Bytes(dst)
	at := h.documents() + 8*lo
	if err := index.ReadFull(r, b, at); err != nil {
		return err
	}
	for i := range dst {
		v := int64(binary.LittleEndian.Uint64(b[8*i:]))
		if dst[i] = v; v < 0 || v > h.Sequences || i > 0 && v < dst[i-1] || lo+int64(i) == 0 && v != 0 || lo+int64(i) == h.Documents && v != h.Sequences {
			return shardify.Corrupt(at+8*int64(i), "document %d of %d begins at sequence %d of %d", lo+int64(i), h.Documents, v, h.Sequences)
		}
	}
	return nil
}

// ReadModes reads the modes of sequences from lo on.
func (h *Head) ReadModes(r io.ReaderAt, lo int64, dst []byte) error {
	return index.ReadFull(r, dst, h.end()+lo)
}

// sequence is a record of the index.
type sequence struct {
	at     int64
	length int32
}

// walkBytes is how much of a table is read at once.
const walkBytes = 32 << 10

// Walk goes through the sequences of an index. It may be used again.
type Walk struct {
	lengths, places []byte
	lo, hi          int64 // of what they hold
}

// next is record i; those up to hi will be wanted.
func (w *Walk) next(r io.ReaderAt, h *Head, i, hi int64) (s sequence, err error) {
	if i < w.lo || i >= w.hi {
		n := min(hi-i, walkBytes/8)
		w.lengths, w.places = slices.Grow(w.lengths[:0], int(4*n))[:4*n], slices.Grow(w.places[:0], int(8*n))[:8*n]
		w.lo, w.hi = 0, 0
		if err := index.ReadFull(r, w.lengths, headBytes+4*i); err != nil {
			return s, err
		}
		if err := index.ReadFull(r, w.places, h.places()+8*i); err != nil {
			return s, err
		}
		w.lo, w.hi = i, i+n
	}
	s.length = int32(binary.LittleEndian.Uint32(w.lengths[4*(i-w.lo):]))
	s.at = int64(binary.LittleEndian.Uint64(w.places[8*(i-w.lo):]))
	if s.length < 0 {
		return s, shardify.Corrupt(headBytes+4*i, "sequence %d has %d tokens", i, s.length)
	}
	return s, nil
}

// Lengths yields the tokens of sequences [lo, hi) and returns where in the data, of size bytes, the
// first one begins. It refuses sequences that do not follow each other, up to the next one or
// the end of the data.
func (w *Walk) Lengths(ctx context.Context, r io.ReaderAt, h *Head, lo, hi, size int64, yield func(length int32)) (start int64, err error) {
	w.lo, w.hi = 0, 0
	width := int64(h.DType.Size())
	at := int64(0)
	for i := lo; i < hi || i == hi && hi < h.Sequences; i++ { // and the one behind them
		s, err := w.next(r, h, i, min(hi+1, h.Sequences))
		if err != nil {
			return 0, err
		}
		if i == lo {
			start, at = s.at, s.at
			if at%width != 0 || at < 0 || i == 0 && at != 0 {
				return 0, shardify.Corrupt(h.places()+8*i, "sequence %d begins at byte %d", i, at)
			}
		}
		if s.at != at {
			return 0, shardify.Corrupt(h.places()+8*i, "sequence %d begins at byte %d, the one before it ends at %d", i, s.at, at)
		}
		if i == hi {
			return start, nil
		}
		if n := int64(s.length); n > (math.MaxInt64-at)/width || at+n*width > size {
			return 0, shardify.Corrupt(headBytes+4*i, "sequence %d of %d tokens from byte %d on, the data have %d bytes", i, n, at, size)
		}
		at += int64(s.length) * width
		if yield(s.length); i%(walkBytes/8) == 0 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	if lo < hi && at != size {
		return 0, h.Differs(at, size)
	}
	return start, nil
}

// Offsets turns the sequences that documents begin with, and the one behind the last, into the tokens
// before them, counted from the first document on, and returns the byte of the data, of size bytes,
// where that begins. It refuses what Lengths refuses.
func (w *Walk) Offsets(ctx context.Context, r io.ReaderAt, h *Head, ends []int64, size int64) (start int64, err error) {
	n := len(ends) - 1
	total, seq, k := int64(0), ends[0], 0
	start, err = w.Lengths(ctx, r, h, ends[0], ends[n], size, func(length int32) {
		for ; ends[k+1] <= seq; k++ { // empty documents before it, and the one that ends here
			ends[k+1] = total
		}
		total += int64(length)
		seq++
	})
	if err != nil {
		return 0, err
	}
	if ends[0] == h.Sequences {
		start = size
	}
	for ends[0] = 0; k < n; k++ {
		ends[k+1] = total
	}
	return start, nil
}

// Differs is the error of data of another size than the sequences of all documents take.
func (h *Head) Differs(want, size int64) error {
	width := int64(h.DType.Size())
	if more := size - want; more == h.Documents*width && more > 0 {
		return shardify.Corrupt(-1, "the data have %d tokens more than the lengths of the index, one for each document: BlendCorpus' --append-eod does not count them, and readers are off by one more with each document; make it again", h.Documents)
	}
	return shardify.Corrupt(-1, "the lengths of the index are %d bytes of tokens, the data have %d", want, size)
}

// CheckDocuments reads the whole table of documents.
func (h *Head) CheckDocuments(ctx context.Context, r io.ReaderAt) error {
	buf := make([]int64, walkBytes/8)
	for lo := int64(0); ; lo += int64(len(buf)) - 1 {
		n := min(int64(len(buf)), h.Documents+1-lo)
		if err := h.ReadDocuments(r, lo, buf[:n]); err != nil {
			return err
		}
		if err := context.Cause(ctx); err != nil || lo+n == h.Documents+1 {
			return err
		}
	}
}
