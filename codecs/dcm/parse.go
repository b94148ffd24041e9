package dcm

import (
	"encoding/binary"
	"io"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
)

// Tag is the number of an element: group and element.
type Tag uint32

const (
	tagSyntax  Tag = 0x00020010
	tagPixels  Tag = 0x7fe00010
	tagFloats  Tag = 0x7fe00008
	tagDoubles Tag = 0x7fe00009
	tagItem    Tag = 0xfffee000
	tagItemEnd Tag = 0xfffee00d
	tagSeqEnd  Tag = 0xfffee0dd
)

const undefined = 0xffffffff

// The transfer syntaxes that are decoded.
const (
	implicitLE = "1.2.840.10008.1.2"
	explicitLE = implicitLE + ".1"
	deflatedLE = implicitLE + ".1.99"
	explicitBE = implicitLE + ".2"
	jpegBase   = implicitLE + ".4.50"
	rleSyntax  = implicitLE + ".5"

	jpegLossless  = implicitLE + ".4.57"
	jpegLossless1 = implicitLE + ".4.70"
)

// refused are the names of transfer syntaxes that are known and not decoded.
var refused = map[string]string{
	".4.51": "JPEG extended, 12 bits", ".4.80": "JPEG-LS lossless", ".4.81": "JPEG-LS near-lossless", ".4.90": "JPEG 2000 lossless", ".4.91": "JPEG 2000",
	".4.92": "JPEG 2000 part 2 lossless", ".4.93": "JPEG 2000 part 2", ".4.201": "HTJ2K lossless", ".4.202": "HTJ2K lossless RPCL", ".4.203": "HTJ2K",
	".4.100": "MPEG-2", ".4.101": "MPEG-2", ".4.102": "MPEG-4", ".4.103": "MPEG-4", ".4.104": "MPEG-4", ".4.105": "MPEG-4", ".4.106": "MPEG-4", ".4.107": "HEVC", ".4.108": "HEVC",
	".4.110": "JPEG XL lossless", ".4.111": "JPEG XL", ".4.112": "JPEG XL", ".8.1": "deflated frames",
}

// File is what the elements of a file say.
type File struct {
	Syntax string
	big    bool
	kept   []element // in the order of the file
	// The element with the pixels.
	pixels Tag
	vr     string
	at     int64 // of its first byte, in the file or in the unpacked data set
	length int64 // -1: in fragments
	set    int64 // where a deflated data set begins
	size   int64

	perFrame bool // functional groups are there
}

// element is an element that is kept.
type element struct {
	tag   Tag
	value []byte
}

// value is that of an element that is kept.
func (f *File) value(tag Tag) ([]byte, bool) {
	for i := range f.kept {
		if e := &f.kept[len(f.kept)-1-i]; e.tag == tag {
			return e.value, true
		}
	}
	return nil, false
}

// maxKept bounds a value that is kept.
const maxKept = 64 << 10

// maxElements bounds the elements of a file, nested ones too.
const maxElements = 1 << 20

// maxDepth is how deep sequences may be nested.
const maxDepth = 64

// parser reads elements.
type parser struct {
	*readat.InOrder
	f        *File
	explicit bool
	big      bool
	want     func(Tag) bool
	count    int
}

// newInput reads a file from its beginning.
func newInput(r io.ReaderAt, size int64) *readat.InOrder {
	in := readat.New(r, 0, size)
	in.Ahead = 8 << 10
	return in
}

// Sniff reports whether a file begins as DICOM does.
func Sniff(head []byte) bool { return len(head) >= 132 && string(head[128:132]) == "DICM" }

// header is a file whose first bytes are in memory, where they stay as they are.
type header interface{ Head(n int) ([]byte, error) }

// Parse reads a file up to its pixels. The values that want names are kept, beside those of the pixels.
func Parse(r io.ReaderAt, size int64, want func(Tag) bool) (*File, error) {
	p := &parser{InOrder: newInput(r, size), want: want, explicit: true}
	if h, ok := r.(header); ok {
		b, err := h.Head(int(p.Ahead))
		if err != nil {
			return nil, err
		}
		p.Begin(b)
	}
	head, err := p.Take(min(132, size))
	if err != nil {
		return nil, err
	}
	if !Sniff(head) {
		return nil, shardify.Corrupt(128, "no DICM at byte 128: no DICOM file, or one without a preamble")
	}
	f := &File{kept: make([]element, 0, 64), size: size}
	p.f = f
	if err := p.meta(); err != nil {
		return nil, err
	}
	syntax, _ := f.value(tagSyntax)
	f.Syntax = strings.TrimRight(string(syntax), " \x00")
	switch f.Syntax {
	case implicitLE:
		p.explicit = false
	case explicitBE:
		p.big, f.big = true, true
	case deflatedLE:
		f.set = p.Pos
		p.InOrder = p.Unpack()
	case explicitLE, jpegBase, rleSyntax, jpegLossless, jpegLossless1:
	case "":
		return nil, shardify.Corrupt(p.Pos, "no transfer syntax (0002,0010)")
	default:
		name, ok := refused[strings.TrimPrefix(f.Syntax, implicitLE)]
		if !ok {
			return nil, shardify.Unsupported("transfer syntax %.64q is unknown", f.Syntax)
		}
		return nil, shardify.Unsupported("transfer syntax %s (%s) is not decoded; gdcmconv --raw IN OUT writes pixels without compression", f.Syntax, name)
	}
	found, err := p.elements(-1, 0, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, shardify.Unsupported("no pixels (7FE0,0010): a report, or other data than an image")
	}
	return f, nil
}

// meta reads the elements of group 2.
func (p *parser) meta() error {
	for {
		b, err := p.Peek(8)
		if err != nil || binary.LittleEndian.Uint16(b) != 2 {
			return err
		}
		tag, _, n, err := p.header()
		if err != nil {
			return err
		}
		if n == undefined {
			return shardify.Corrupt(p.Pos, "an element of undefined length in group 2")
		}
		if err := p.value(tag, n, true); err != nil {
			return err
		}
	}
}

// longOf is a value representation with a length of four bytes; "" of others.
func longOf(a, b byte) string {
	const long = "OBOWOFODOLOVSQUCURUTUNSVUV"
	if a < 'O' || a > 'U' {
		return ""
	}
	for i := 0; i < len(long); i += 2 {
		if long[i] == a && long[i+1] == b {
			return long[i : i+2]
		}
	}
	return ""
}

// header reads tag, representation and length of an element. The representation is one of those of long, or nothing.
func (p *parser) header() (tag Tag, vr string, n uint32, err error) {
	if p.count++; p.count > maxElements {
		return 0, "", 0, shardify.Corrupt(p.Pos, "more than %d elements", maxElements)
	}
	b, err := p.Take(8)
	if err != nil {
		return 0, "", 0, err
	}
	var o binary.ByteOrder = binary.LittleEndian
	if p.big {
		o = binary.BigEndian
	}
	tag = Tag(o.Uint16(b))<<16 | Tag(o.Uint16(b[2:]))
	if !p.explicit || tag>>16 == 0xfffe {
		return tag, "", o.Uint32(b[4:]), nil
	}
	for _, c := range b[4:6] {
		if c < 'A' || c > 'Z' {
			return 0, "", 0, shardify.Corrupt(p.Pos-4, "element %v has the value representation %q", tag, b[4:6])
		}
	}
	if vr = longOf(b[4], b[5]); vr == "" {
		return tag, "", uint32(o.Uint16(b[6:])), nil
	}
	if b, err = p.Take(4); err != nil {
		return 0, "", 0, err
	}
	return tag, vr, o.Uint32(b), nil
}

// value passes a value, and keeps it if it is wanted.
func (p *parser) value(tag Tag, n uint32, top bool) error {
	if !top || !(tag == tagSyntax || described.has(tag) || p.want != nil && p.want(tag)) {
		return p.Skip(int64(n))
	}
	if n > maxKept && !described.has(tag) {
		return p.Skip(int64(n))
	}
	if n > maxKept {
		return shardify.Unsupported("element %v of %d bytes", tag, n)
	}
	b, err := p.Take(int64(n))
	if err != nil {
		return err
	}
	if _, twice := p.f.value(tag); twice && described.has(tag) {
		return shardify.Corrupt(p.Pos, "element %v comes twice", tag)
	}
	p.f.kept = append(p.f.kept, element{tag, b})
	return nil
}

// elements reads elements: n bytes of them, or to the end of the item or of the file where n is negative. found is
// whether the pixels were reached, which end the elements of a file.
func (p *parser) elements(n int64, depth int, top bool) (found bool, err error) {
	if depth > maxDepth {
		return false, shardify.Corrupt(p.Pos, "sequences are nested deeper than %d", maxDepth)
	}
	stop := p.Pos + n
	for n < 0 || p.Pos < stop {
		if top && p.End() {
			return false, nil
		}
		at := p.Pos
		tag, vr, length, err := p.header()
		if err != nil {
			return false, err
		}
		switch {
		case tag == tagItemEnd && n < 0 && !top:
			return false, nil
		case tag>>16 == 0xfffe || tag>>16 < 8 && top:
			return false, shardify.Corrupt(at, "element %v does not belong here", tag)
		}
		if top && (tag == tagPixels || tag == tagFloats || tag == tagDoubles) {
			p.f.pixels, p.f.vr, p.f.at, p.f.length = tag, vr, p.Pos, int64(length)
			if length == undefined {
				p.f.length = -1
			}
			return true, nil
		}
		p.f.perFrame = p.f.perFrame || top && (tag == 0x52009229 || tag == 0x52009230)
		if length == undefined {
			err = p.sequence(vr == "UN", depth+1)
		} else {
			err = p.value(tag, length, top)
		}
		if err != nil {
			return false, err
		}
	}
	if p.Pos != stop {
		return false, shardify.Corrupt(p.Pos, "an element goes beyond its item")
	}
	return false, nil
}

// sequence passes a sequence, or fragments, of undefined length. Those of unknown representation are implicit.
func (p *parser) sequence(unknown bool, depth int) error {
	if unknown {
		explicit, big := p.explicit, p.big
		p.explicit, p.big = false, false
		defer func() { p.explicit, p.big = explicit, big }()
	}
	for {
		at := p.Pos
		tag, _, n, err := p.header()
		switch {
		case err != nil:
			return err
		case tag == tagSeqEnd:
			return nil
		case tag != tagItem:
			return shardify.Corrupt(at, "element %v between the items of a sequence", tag)
		case n == undefined:
			_, err = p.elements(-1, depth, false)
		default:
			err = p.Skip(int64(n))
		}
		if err != nil {
			return err
		}
	}
}
