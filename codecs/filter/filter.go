package filter

import (
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs"
	"github.com/shardify/shardify/codecs/inflate"
)

// Spec is a filter as the filter pipeline message states it.
type Spec struct {
	ID     uint16
	Flags  uint16
	Name   string   // as stored; may be empty
	Client []uint32 // the filter's parameters
}

// A Pipeline decodes the chunks of one data set. It does not change and may be
// used concurrently, each user with a Scratch of its own.
type Pipeline struct {
	stages []stage // in the order of the file: the order of writing
	names  []string
}

// stage undoes one filter.
type stage interface {
	// decode decodes src and returns the result, which is at the start of dst or
	// is a part of src. len(dst) is the size to expect, or the upper bound if the
	// size is not known before (exact is false). Rubbish may be written behind it,
	// as far as its capacity goes.
	decode(dst, src []byte, exact bool, s *Scratch) ([]byte, error)

	// encoded returns the greatest size that n bytes, or fewer, may have after
	// this filter, and whether n bytes always take that size.
	encoded(n int) (size int, exact bool)
}

// maxFilters is what a pipeline message may hold: the mask has 32 bits.
const maxFilters = 32

// New plans the decoding of chunks of chunkBytes bytes, which hold elements of
// elemSize bytes. A filter that it cannot decode is an error that wraps
// shardify.ErrUnsupported and says how the file can be converted; parameters that
// contradict themselves wrap shardify.ErrCorrupt.
func New(filters []Spec, elemSize int, chunkBytes int64) (*Pipeline, error) {
	if len(filters) > maxFilters {
		return nil, shardify.Corrupt(-1, "%d filters, the format allows %d", len(filters), maxFilters)
	}
	if elemSize <= 0 || chunkBytes <= 0 || chunkBytes > math.MaxInt32*64 {
		return nil, shardify.Corrupt(-1, "chunks of %d bytes with elements of %d", chunkBytes, elemSize)
	}
	p := &Pipeline{}
	for i := range filters {
		st, err := newStage(&filters[i], elemSize, chunkBytes)
		if err != nil {
			return nil, err
		}
		p.stages = append(p.stages, st)
		p.names = append(p.names, filterName(&filters[i]))
	}
	return p, nil
}

// Names returns the names of the filters in the order of the file.
func (p *Pipeline) Names() []string { return p.names }

// Decode decodes one chunk as it is stored, whose decoded size is len(dst). Bit i
// of mask says that filter i was not applied. dst and stored do not overlap;
// stored is not changed. After an error the content of dst is undefined.
//
// A chunk that decodes to fewer or more bytes is damaged; only one stored without
// a filter may be longer, and is cut.
func (p *Pipeline) Decode(dst, stored []byte, mask uint32, s *Scratch) error {
	var sizes [maxFilters]int
	var exacts [maxFilters]bool
	n, exact, first := len(dst), true, -1
	for i, st := range p.stages {
		if mask>>i&1 != 0 {
			continue
		}
		if first < 0 {
			first = i
		}
		sizes[i], exacts[i] = n, exact
		var same bool
		n, same = st.encoded(n)
		exact = exact && same
	}
	out := stored
	for i := len(p.stages) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		to := dst[:len(dst):len(dst)]
		if i != first {
			to = grow(&s.buf[s.turn], sizes[i])
		}
		var err error
		if out, err = p.stages[i].decode(to, out, exacts[i], s); err != nil {
			return err
		}
		if i != first && sameStart(out, to) {
			s.turn ^= 1 // its result must outlive the next stage
		}
	}
	if len(out) < len(dst) {
		return shardify.Corrupt(-1, "chunk decodes to %d bytes, not %d", len(out), len(dst))
	}
	if !sameStart(out, dst) {
		copy(dst, out)
	}
	return nil
}

// sameStart reports whether both begin at the same byte of memory.
func sameStart(a, b []byte) bool {
	return len(a) > 0 && len(b) > 0 && &a[0] == &b[0]
}

// Scratch holds what the stages of one worker need beside their input and output.
// The zero value is ready; it grows to about twice the size of a chunk and is
// reused. It must not be used concurrently.
type Scratch struct {
	inflate inflate.Decoder
	buf     [2][]byte // results between two stages, in turn
	turn    int
	block   []byte // of one block of a stage that works in blocks
	block2  []byte // of a second
	box     []byte // of one that is a box of its chunk
	first   []byte // the first block of a chunk in boxes
	bits    []byte // of a part of bitUnshuffle
}

// Memory is the bytes that its buffers take.
func (s *Scratch) Memory() int64 {
	return int64(cap(s.buf[0]) + cap(s.buf[1]) + cap(s.block) + cap(s.block2) + cap(s.box) + cap(s.first) + cap(s.bits))
}

// Needs is about what a Scratch will take for chunks of so many bytes.
func (p *Pipeline) Needs(chunk int64) int64 {
	if len(p.stages) < 2 {
		return 0
	}
	n, _ := expanded(int(chunk))
	return int64(n)
}

// grow returns n bytes of *buf, of any content, and slack behind them.
func grow(buf *[]byte, n int) []byte {
	if cap(*buf) < n+codecs.ZstdSlack {
		*buf = make([]byte, n+codecs.ZstdSlack)
	}
	return (*buf)[: n : n+codecs.ZstdSlack]
}

// expanded is the upper bound of n bytes after a compressor that could not
// compress them. It is deliberately small, for up to 32 filters follow each other.
func expanded(n int) (int, bool) { return n + n/16 + 4096, false }
