package jpeg

// codes is a Huffman table as a file has it.
type codes struct {
	n       int // symbols; 0: no table
	counts  [16]byte
	symbols [256]byte
}

// kind says how symbols are read.
type kind byte

const (
	ofDC kind = iota
	ofAC
	ofProgressiveAC
)

// lutBits is how many bits of a code are looked up at once.
const lutBits = 11

// entry is a symbol with the length of its code; 0 means no code, or one longer than lutBits.
//
//	bits   0- 7 length of the code
//	       8-15 size: bits of the value that follows
//	      16-23 sum of both
//	      24-31 run of zeros in front; endOfBlock leaves the block
type entry uint32

func (e entry) length() uint { return uint(e) & 63 }
func (e entry) size() uint   { return uint(e) >> 8 & 63 }
func (e entry) sum() uint    { return uint(e) >> 16 & 63 }
func (e entry) run() int     { return int(e >> 24) }

const endOfBlock = 64

// huffman decodes the codes of a table.
type huffman struct {
	lut    [1 << lutBits]entry
	limit  [17]uint32 // by length: the first 16 bits that are no such code, as a number
	offset [17]int32  // by length: index of a symbol less its code
	long   [256]entry

	kind kind
	made codes // what this was built from
}

// set builds the tables, unless they are there.
func (h *huffman) set(c *codes, k kind) {
	if h.made.n == c.n && h.kind == k && h.made == *c {
		return
	}
	h.made, h.kind = *c, k
	clear(h.lut[:])
	code, at := uint32(0), 0
	for l := 1; l <= 16; l++ {
		h.offset[l] = int32(at) - int32(code)
		for range c.counts[l-1] {
			e := newEntry(l, c.symbols[at], k)
			h.long[at] = e
			if l <= lutBits {
				lo := code << (lutBits - l)
				for i := lo; i < lo+1<<(lutBits-l); i++ {
					h.lut[i] = e
				}
			}
			code, at = code+1, at+1
		}
		h.limit[l] = code << (16 - l)
		code <<= 1
	}
}

func newEntry(length int, symbol byte, k kind) entry {
	run, size := int(symbol>>4), int(symbol&15)
	switch {
	case k == ofDC:
		run, size = 0, int(symbol)
		if size > 11 {
			return 0
		}
	case size > 10 || k == ofAC && size == 0 && run != 0 && run != 15:
		return 0
	case k == ofAC && symbol == 0:
		run = endOfBlock
	}
	return entry(length | size<<8 | (length+size)<<16 | run<<24)
}

// find decodes a code that is not in lut; 0: no such code.
func (h *huffman) find(acc uint64) entry {
	code := uint32(acc >> 48)
	for l := lutBits + 1; l <= 16; l++ {
		if code < h.limit[l] {
			return h.long[uint8(h.offset[l]+int32(code>>(16-l)))]
		}
	}
	return 0
}
