package jpeg

import (
	"bytes"
	"encoding/binary"

	"github.com/shardify/shardify"
)

// Header is what a file says before its first scan.
type Header struct {
	W, H        int
	Components  int // 1 grey, 3 colour, 4 CMYK or YCCK
	Progressive bool
}

// space is how components become colours.
type space byte

const (
	grey space = iota
	ycc
	rgb
	cmyk
	ycck
)

// Decoder decodes images, one after the other. The zero value is ready. It keeps its
// buffers, and is for one goroutine.
type Decoder struct {
	src []byte
	at  int // of the byte to be parsed

	head       Header
	sof        bool
	jfif       bool
	adobe      bool
	matrix     byte
	interval   int // MCUs between restarts; 0: none
	hmax, vmax int
	mcusX      int
	mcusY      int
	comps      [4]component

	quant  [4][64]uint16 // in the order of the file (zigzag)
	quants [4]bool
	defs   [2][4]codes // DC and AC
	huffs  [2][4]huffman

	scan  scan
	data  []byte // of a scan, without stuffing
	ends  []int  // of its restart intervals
	coefs []int16
	slots [2][128]int16
	out   output
	lost  bool // the file ended too early
}

type component struct {
	id, tq byte
	h, v   int
	bw, bh int // blocks, in whole MCUs
	rw, rh int // blocks that a scan of this component alone has

	latched bool
	q       [128]uint16 // of its first scan, as in the file; zeros from 64 on
	natural [64]uint16  // the same, row by row
	bits    [64]int8    // the bits still missing of each coefficient; -1: not sent
	coefs   []int16     // of files with several scans: bw x bh blocks of 64, not zigzag
	plane
}

// limit on scans: each costs time for every block of the image, however short it is.
const maxScans = 128

func corrupt(at int, format string, args ...any) error {
	return shardify.Corrupt(int64(at), format, args...)
}

func (d *Decoder) truncated(what string) error {
	d.lost = true
	return corrupt(len(d.src), "truncated JPEG: the file ends in %s", what)
}

// Open reads a file up to its first scan. src is used until the image is decoded.
func (d *Decoder) Open(src []byte) (Header, error) {
	d.src, d.at = src, 2
	d.head, d.sof, d.jfif, d.adobe, d.interval = Header{}, false, false, false, 0
	d.quants, d.lost = [4]bool{}, false
	for i := range d.defs {
		for k := range d.defs[i] {
			d.defs[i][k].n = 0
		}
	}
	if !bytes.HasPrefix(src, []byte("\xff\xd8")) {
		return Header{}, corrupt(0, "not a JPEG: it does not begin with FF D8")
	}
	marker, err := d.segments()
	if err != nil {
		return Header{}, err
	}
	if marker == markerEOI {
		return Header{}, corrupt(d.at-2, "a JPEG without a scan")
	}
	if err := d.size(); err != nil {
		return Header{}, err
	}
	return d.head, nil
}

const (
	markerEOI = 0xd9
	markerSOS = 0xda
)

// segments reads up to a scan, whose header follows, or up to the end of the image.
func (d *Decoder) segments() (marker byte, err error) {
	for {
		marker, err := d.marker()
		if err != nil {
			return 0, err
		}
		start := d.at - 2
		if marker == markerEOI {
			return marker, nil
		}
		if marker >= 0xd0 && marker <= 0xd7 || marker == 1 {
			continue // a restart marker behind the last interval, TEM
		}
		if marker == markerSOS {
			if !d.sof {
				return 0, corrupt(start, "a scan before the frame header")
			}
			return marker, nil
		}
		body, err := d.segment()
		if err != nil {
			return 0, err
		}
		if err := d.read(marker, body, start); err != nil {
			return 0, err
		}
	}
}

// marker finds the next marker code.
func (d *Decoder) marker() (byte, error) {
	if d.at >= len(d.src) {
		return 0, d.truncated("front of a marker")
	}
	if d.src[d.at] != 0xff {
		return 0, corrupt(d.at, "byte %02x where a marker is expected", d.src[d.at])
	}
	for d.at < len(d.src) && d.src[d.at] == 0xff {
		d.at++
	}
	if d.at == len(d.src) {
		return 0, d.truncated("a marker")
	}
	d.at++
	return d.src[d.at-1], nil
}

// segment is the body of a segment.
func (d *Decoder) segment() ([]byte, error) {
	if len(d.src)-d.at < 2 {
		return nil, d.truncated("a segment")
	}
	n := int(binary.BigEndian.Uint16(d.src[d.at:]))
	if n < 2 {
		return nil, corrupt(d.at, "a segment of %d bytes", n)
	}
	if n > len(d.src)-d.at {
		return nil, d.truncated("a segment")
	}
	body := d.src[d.at+2 : d.at+n]
	d.at += n
	return body, nil
}

// read reads one segment, which begins at start.
func (d *Decoder) read(marker byte, b []byte, start int) error {
	switch marker {
	case 0xc0, 0xc1, 0xc2:
		return d.frame(marker, b, start)
	case 0xc3:
		return shardify.Unsupported("lossless JPEG (SOF3)")
	case 0xc5, 0xc6, 0xc7, 0xcd, 0xce, 0xcf:
		return shardify.Unsupported("hierarchical JPEG (SOF%d)", marker-0xc0)
	case 0xc9, 0xca, 0xcb, 0xcc:
		return shardify.Unsupported("arithmetic coding of JPEG")
	case 0xc4:
		return d.huffmanTables(b, start)
	case 0xdb:
		return d.quantTables(b, start)
	case 0xdd:
		if len(b) != 2 {
			return corrupt(start, "a restart interval of %d bytes", len(b))
		}
		d.interval = int(binary.BigEndian.Uint16(b))
	case 0xe0:
		d.jfif = d.jfif || len(b) >= 12 && bytes.HasPrefix(b, []byte("JFIF\x00"))
	case 0xee:
		if len(b) >= 12 && bytes.HasPrefix(b, []byte("Adobe")) {
			d.adobe, d.matrix = true, b[11]
		}
	}
	return nil
}

// frame reads SOF.
func (d *Decoder) frame(marker byte, b []byte, start int) error {
	if d.sof {
		return corrupt(start, "two frame headers")
	}
	if len(b) < 6 || len(b) != 6+3*int(b[5]) {
		return corrupt(start, "a frame header of %d bytes", len(b))
	}
	switch {
	case b[0] == 12 || b[0] == 16:
		return shardify.Unsupported("JPEG with %d bits a sample", b[0])
	case b[0] != 8:
		return corrupt(start+4, "a precision of %d bits", b[0])
	}
	h := Header{W: int(binary.BigEndian.Uint16(b[3:])), H: int(binary.BigEndian.Uint16(b[1:])), Components: int(b[5]), Progressive: marker == 0xc2}
	if h.H == 0 {
		return shardify.Unsupported("JPEG of height 0, which a later segment (DNL) gives")
	}
	if h.W == 0 {
		return corrupt(start, "an image of width 0")
	}
	if h.Components != 1 && h.Components != 3 && h.Components != 4 {
		return shardify.Unsupported("JPEG of %d components", h.Components)
	}
	d.sof, d.head, d.hmax, d.vmax = true, h, 1, 1
	for i := range h.Components {
		p := b[6+3*i:]
		c := &d.comps[i]
		c.id, c.h, c.v, c.tq, c.latched = p[0], int(p[1]>>4), int(p[1]&15), p[2], false
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.tq > 3 {
			return corrupt(start, "component %d: sampling factors %dx%d, quantisation table %d", i, c.h, c.v, c.tq)
		}
		if h.Components == 1 {
			c.h, c.v = 1, 1 // one block is an MCU, whatever the factors
		}
		d.hmax, d.vmax = max(d.hmax, c.h), max(d.vmax, c.v)
		for k := range c.bits {
			c.bits[k] = -1
		}
	}
	return nil
}

// size computes what follows from the frame header, and refuses what the file cannot hold.
func (d *Decoder) size() error {
	h := d.head
	d.mcusX, d.mcusY = above(h.W, 8*d.hmax), above(h.H, 8*d.vmax)
	blocks := 0
	for i := range h.Components {
		c := &d.comps[i]
		if d.hmax%c.h != 0 || d.vmax%c.v != 0 {
			return shardify.Unsupported("fractional sampling: factors %dx%d of %dx%d", c.h, c.v, d.hmax, d.vmax)
		}
		c.bw, c.bh = d.mcusX*c.h, d.mcusY*c.v
		c.rw, c.rh = above(h.W*c.h, 8*d.hmax), above(h.H*c.v, 8*d.vmax)
		blocks += c.rw * c.rh
	}
	if blocks > 8*len(d.src) {
		return corrupt(len(d.src), "%d x %d pixels cannot be in a file of %d bytes", h.W, h.H, len(d.src))
	}
	return nil
}

// space returns what the components are, by the rules of libjpeg.
func (d *Decoder) space() space {
	switch d.head.Components {
	case 1:
		return grey
	case 4:
		if d.adobe && d.matrix != 0 {
			return ycck
		}
		return cmyk
	}
	id := [3]byte{d.comps[0].id, d.comps[1].id, d.comps[2].id}
	if !d.jfif && (d.adobe && d.matrix == 0 || !d.adobe && id == [3]byte{'R', 'G', 'B'}) {
		return rgb
	}
	return ycc
}

func (d *Decoder) quantTables(b []byte, start int) error {
	for len(b) > 0 {
		wide, id := int(b[0]>>4), b[0]&15
		if wide > 1 || id > 3 || len(b) < 1+64*(1+wide) {
			return corrupt(start, "quantisation table %d of %d bytes", b[0], len(b)-1)
		}
		b = b[1:]
		for k := range 64 {
			if wide == 0 {
				d.quant[id][k] = uint16(b[k])
			} else {
				d.quant[id][k] = binary.BigEndian.Uint16(b[2*k:])
			}
		}
		d.quants[id] = true
		b = b[64*(1+wide):]
	}
	return nil
}

func (d *Decoder) huffmanTables(b []byte, start int) error {
	for len(b) > 0 {
		if len(b) < 17 || b[0]>>4 > 1 || b[0]&15 > 3 {
			return corrupt(start, "Huffman table %02x of %d bytes", b[0], len(b)-1)
		}
		t := &d.defs[b[0]>>4][b[0]&15]
		n, code := 0, 0
		for l, c := range b[1:17] {
			n += int(c)
			code = code<<1 + int(c)
			if code > 1<<(l+1) {
				return corrupt(start, "a Huffman table with more codes of %d bits than there are", l+1)
			}
		}
		if n == 0 || n > 256 || n > len(b)-17 {
			return corrupt(start, "a Huffman table of %d codes in %d bytes", n, len(b)-17)
		}
		copy(t.counts[:], b[1:17])
		copy(t.symbols[:n], b[17:])
		t.n = n
		b = b[17+n:]
	}
	return nil
}

func above(a, b int) int { return (a + b - 1) / b }
