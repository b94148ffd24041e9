package png

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
)

// Signature begins a PNG.
const Signature = "\x89PNG\r\n\x1a\n"

// Header describes the image of a file.
type Header struct {
	W, H  int
	Grey  bool // and not transparent
	Alpha bool // there are pixels that may be transparent
	Bits  int  // of a channel, in the file
	Index bool // one channel: grey, or indices of a palette
}

// Deep says whether the header of a file says 16 bits a channel, and whether there is one channel: grey.
func Deep(file []byte) (deep, oneChannel bool) {
	deep = len(file) > 25 && file[24] == 16 && string(file[:len(Signature)]) == Signature
	return deep, deep && file[25] == grey
}

// Decoder decodes images, one after the other. The zero value is ready. It keeps its
// buffers, and is for one goroutine.
type Decoder struct {
	head    Header
	depth   int
	kind    byte // of colour, as IHDR has it
	laced   bool
	palette [256][4]byte
	shown   [256][4]byte // what indices, and levels of grey, become
	key     []byte       // two bytes a channel: the one colour that is transparent; empty: none
	data    [][]byte
	joined  []byte
	raw     []byte
	rows    []byte // two
	line    []byte // the pixels of a row of a pass
	inflate inflate.Decoder
}

const (
	grey      = 0
	colour    = 2
	indexed   = 3
	greyAlpha = 4
	rgba      = 6
)

var channels = map[byte]int{grey: 1, colour: 3, indexed: 1, greyAlpha: 2, rgba: 4}

func corrupt(at int, format string, args ...any) error {
	return shardify.Corrupt(int64(at), "png: "+format, args...)
}

// Open reads all chunks of a file, which is used until the image is decoded.
func (d *Decoder) Open(file []byte) (Header, error) {
	d.head, d.key, d.data = Header{}, nil, d.data[:0]
	if !bytes.HasPrefix(file, []byte(Signature)) {
		return Header{}, corrupt(0, "the signature is missing")
	}
	at, last, entries := len(Signature), "", 0
	for last != "IEND" {
		if len(file)-at < 12 {
			return Header{}, corrupt(len(file), "the file ends in front of its end chunk")
		}
		n, name := binary.BigEndian.Uint32(file[at:]), string(file[at+4:at+8])
		if uint64(n) > uint64(len(file)-at-12) {
			return Header{}, corrupt(at, "the file ends in a chunk %q", name)
		}
		body, end := file[at+8:at+8+int(n)], at+12+int(n)
		if crc32.ChecksumIEEE(file[at+4:end-4]) != binary.BigEndian.Uint32(file[end-4:]) {
			return Header{}, corrupt(at, "the checksum of chunk %q is wrong", name)
		}
		if (last == "") != (name == "IHDR") {
			return Header{}, corrupt(at, "chunk %q where the header is expected, or a second header", name)
		}
		switch name {
		case "IHDR":
			if err := d.header(body, at, len(file)); err != nil {
				return Header{}, err
			}
		case "PLTE":
			if len(body)%3 != 0 || len(body) == 0 || len(body) > 3<<min(d.depth, 8) && d.kind == indexed || len(body) > 768 || entries > 0 || len(d.data) > 0 {
				return Header{}, corrupt(at, "a palette of %d bytes, or in a wrong place", len(body))
			}
			entries = len(body) / 3
			for i := range d.palette {
				d.palette[i] = [4]byte{3: 255} // as image/png takes colours that are missing
				if i < entries {
					copy(d.palette[i][:3], body[3*i:])
				}
			}
		case "tRNS":
			if err := d.transparent(body, at, entries); err != nil {
				return Header{}, err
			}
		case "IDAT":
			if len(d.data) > 0 && last != "IDAT" || d.kind == indexed && entries == 0 {
				return Header{}, corrupt(at, "pixels in a wrong place")
			}
			d.data = append(d.data, body)
		case "IEND":
		default:
			if name[0]&0x20 == 0 {
				return Header{}, shardify.Unsupported("PNG with a chunk %q", name)
			}
		}
		at, last = end, name
	}
	packed := 0
	for _, b := range d.data {
		packed += len(b)
	}
	if d.size() > mostInflated*packed {
		return Header{}, corrupt(at, "%d x %d pixels cannot be in %d bytes", d.head.W, d.head.H, packed)
	}
	return d.head, nil
}

// mostInflated is above what deflate makes of a byte: 1032.
const mostInflated = 1040

// header reads IHDR of a file of size bytes.
func (d *Decoder) header(b []byte, at, size int) error {
	if len(b) != 13 {
		return corrupt(at, "a header of %d bytes", len(b))
	}
	w, h := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	d.depth, d.kind = int(b[8]), b[9]
	n, ok := channels[d.kind]
	fits := d.depth == 8 || d.depth == 16 && d.kind != indexed || n == 1 && (d.depth == 1 || d.depth == 2 || d.depth == 4)
	switch {
	case w == 0 || h == 0 || w > 1<<30 || h > 1<<30:
		return corrupt(at, "an image of %d x %d pixels", w, h)
	case !ok || !fits || b[10] != 0 || b[11] != 0 || b[12] > 1:
		return corrupt(at, "colours of kind %d with %d bits, methods %d, %d, %d", d.kind, b[8], b[10], b[11], b[12])
	case uint64(w)*uint64(h) > uint64(size)*uint64(8*mostInflated/(n*d.depth)):
		return corrupt(at, "%d x %d pixels cannot be in a file of %d bytes", w, h, size)
	}
	d.laced = b[12] == 1
	d.head = Header{W: int(w), H: int(h), Grey: d.kind == grey, Alpha: d.kind >= greyAlpha, Bits: d.depth, Index: n == 1}
	return nil
}

// transparent reads tRNS.
func (d *Decoder) transparent(b []byte, at, entries int) error {
	switch {
	case len(d.data) > 0 || d.head.Alpha,
		d.kind == indexed && (entries == 0 || len(b) > 256), d.kind != indexed && len(b) != 2*channels[d.kind]:
		return corrupt(at, "transparency of %d bytes, or in a wrong place", len(b))
	case d.kind == indexed:
		for i, a := range b {
			d.palette[i][3] = a
		}
	default:
		d.key = b
	}
	d.head.Alpha, d.head.Grey = true, false
	return nil
}

// pass is every dx-th pixel of every dy-th row, from (x, y) on.
type pass struct{ x, y, dx, dy int }

var (
	whole = []pass{{0, 0, 1, 1}}
	laced = []pass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
)

// passes are what the data hold one after the other.
func (d *Decoder) passes() []pass {
	if d.laced {
		return laced
	}
	return whole
}

// shape is the size of a pass; one without pixels has no rows.
func (d *Decoder) shape(p pass) (w, h int) {
	w, h = (d.head.W-p.x+p.dx-1)/p.dx, (d.head.H-p.y+p.dy-1)/p.dy
	if w == 0 {
		h = 0
	}
	return w, h
}

// size is that of the data, unpacked.
func (d *Decoder) size() int {
	n := 0
	for _, p := range d.passes() {
		w, h := d.shape(p)
		n += (d.rowBytes(w) + 1) * h
	}
	return n
}

// rowBytes is the size of a row of w pixels.
func (d *Decoder) rowBytes(w int) int { return (w*d.depth*channels[d.kind] + 7) / 8 }

// Options say what of an image is decoded.
type Options struct {
	// Grey gives one byte a pixel for files that are Header.Grey. Else there are three: R,
	// G, B.
	Grey bool
	// Deep gives two bytes a pixel, the lower one first, for files that are Deep and grey. A colour that
	// is transparent is shown as it is.
	Deep bool
	// Index gives one byte a pixel for files that are Header.Index and of at most 8 bits: the value in the
	// file, which is the index of a palette, and for grey is not brought to 0 to 255.
	Index bool
	// Black shows what is transparent on black. Else transparency is left out, and the
	// colours behind it are shown.
	Black bool
}

// Decode writes the pixels of the image that was opened, row by row.
func (d *Decoder) Decode(dst []byte, o Options) error {
	h, n := d.head, 3
	switch {
	case o.Deep:
		n = 2
	case o.Grey || o.Index:
		n = 1
	}
	if h.W == 0 || o.Grey && !h.Grey || o.Index && (!h.Index || d.depth > 8) || o.Deep && (d.kind != grey || d.depth != 16) || len(dst) != n*h.W*h.H {
		return shardify.Mismatch("png: %d bytes for %d x %d pixels of %d bytes", len(dst), h.W, h.H, n)
	}
	rows, size := d.rowBytes(h.W), d.size()
	if cap(d.raw) < size {
		d.raw = make([]byte, size)
	} else {
		d.raw = d.raw[:size]
	}
	if cap(d.rows) < 2*rows {
		d.rows = make([]byte, 2*rows)
	}
	if d.laced && cap(d.line) < n*h.W {
		d.line = make([]byte, n*h.W)
	}
	if err := d.unpack(); err != nil {
		return err
	}
	if channels[d.kind] == 1 && d.depth <= 8 {
		d.show(o.Black)
		if o.Index {
			d.values()
		}
	}
	raw := d.raw
	for _, p := range d.passes() {
		var ok bool
		if raw, ok = d.pass(dst, raw, p, n, o.Black); !ok {
			return corrupt(-1, "a row of filter %d", raw[0])
		}
	}
	return nil
}

// pass writes the pixels of a pass, in n bytes each, and returns the data behind it. It reports
// whether the filters of all rows are known; else the data begin with the one that is not.
func (d *Decoder) pass(dst, raw []byte, p pass, n int, black bool) (rest []byte, ok bool) {
	w, h := d.shape(p)
	rows := d.rowBytes(w)
	above, spare, step := d.rows[:rows], d.rows[rows:2*rows], max(channels[d.kind]*d.depth/8, 1)
	clear(above)
	direct := !d.laced && d.depth == 8 && (d.kind == grey && n == 1 || d.kind == colour && (len(d.key) == 0 || !black))
	for y := range h {
		src, out := raw[:rows+1], dst[n*d.head.W*(p.y+y*p.dy):][:n*d.head.W]
		row := spare
		if direct {
			row = out
		}
		if !unfilter(src[0], row, src[1:], above, step) {
			return raw, false
		}
		if !direct {
			spare = above
			d.place(out, row, p, n*w, n, black)
		}
		above, raw = row, raw[rows+1:]
	}
	return raw, true
}

// place writes the pixels of a row of a pass, size bytes, to their columns.
func (d *Decoder) place(out, row []byte, p pass, size, n int, black bool) {
	if !d.laced {
		d.colours(out, row, n, black)
		return
	}
	line := d.line[:size]
	d.colours(line, row, n, black)
	for to := n * p.x; len(line) > 0; to, line = to+n*p.dx, line[n:] {
		copy(out[to:to+n], line)
	}
}

// unpack makes raw of the data.
func (d *Decoder) unpack() error {
	if len(d.data) == 0 {
		return corrupt(-1, "no pixels")
	}
	packed := d.data[0]
	if len(d.data) > 1 {
		d.joined = d.joined[:0]
		for _, b := range d.data {
			d.joined = append(d.joined, b...)
		}
		packed = d.joined
	}
	n, _, err := d.inflate.Zlib(d.raw, packed)
	if err != nil {
		return corrupt(-1, "%v", err)
	}
	if n != len(d.raw) {
		return corrupt(-1, "%d bytes of pixels where %d are expected", n, len(d.raw))
	}
	return nil
}

// colours writes the pixels of a row, in n bytes each.
func (d *Decoder) colours(dst, row []byte, n int, black bool) {
	switch {
	case n == 2:
		for ; len(dst) >= 2; dst, row = dst[2:], row[2:] {
			dst[0], dst[1] = row[1], row[0]
		}
	case d.depth == 16:
		d.upper(dst, row, n, black)
	case d.kind == colour:
		copy(dst, row)
		if len(d.key) > 0 && black {
			key := [3]byte{d.key[1], d.key[3], d.key[5]}
			if d.key[0]|d.key[2]|d.key[4] != 0 {
				return // no colour of 8 bits
			}
			for ; len(dst) >= 3; dst = dst[3:] {
				if [3]byte(dst) == key {
					dst[0], dst[1], dst[2] = 0, 0, 0
				}
			}
		}
	case d.kind == rgba:
		for ; len(dst) >= 3 && len(row) >= 4; dst, row = dst[3:], row[4:] {
			if dst[0], dst[1], dst[2] = row[0], row[1], row[2]; black && row[3] != 255 {
				p := onBlack([4]byte(row))
				copy(dst[:3], p[:])
			}
		}
	case d.kind == greyAlpha:
		for ; len(dst) >= 3; dst, row = dst[3:], row[2:] {
			p := [4]byte{row[0], row[0], row[0], row[1]}
			if black {
				p = onBlack(p)
			}
			dst[0], dst[1], dst[2] = p[0], p[1], p[2]
		}
	default:
		d.lookUp(dst, row, n)
	}
}

// upper writes pixels of 16 bits a channel: the upper 8.
func (d *Decoder) upper(dst, row []byte, n int, black bool) {
	c := channels[d.kind]
	for ; len(dst) >= n; dst, row = dst[n:], row[2*c:] {
		p, alpha := row[:2*c], uint32(0xffff)
		switch {
		case black && d.kind >= greyAlpha:
			alpha = uint32(binary.BigEndian.Uint16(p[2*c-2:]))
		case black && len(d.key) > 0 && bytes.Equal(p, d.key):
			alpha = 0
		}
		for k := range n {
			at := 0
			if c >= 3 {
				at = 2 * k
			}
			dst[k] = byte(uint32(binary.BigEndian.Uint16(p[at:])) * alpha / 0xffff >> 8)
		}
	}
}

// show makes the table of an image: of its palette, or of levels of grey.
func (d *Decoder) show(black bool) {
	if d.kind == grey {
		most := 1<<d.depth - 1
		for i := range most + 1 {
			v := byte(i * (255 / most))
			d.palette[i] = [4]byte{v, v, v, 255}
			if len(d.key) > 0 && int(d.key[0])<<8|int(d.key[1]) == i {
				d.palette[i][3] = 0
			}
		}
	}
	d.shown = d.palette
	if black {
		for i, p := range d.palette {
			d.shown[i] = onBlack(p)
		}
	}
}

// values makes the table that shows indices as they are.
func (d *Decoder) values() {
	for i := range d.shown {
		d.shown[i][0] = byte(i)
	}
}

// lookUp writes pixels that are indices: of a palette, or of levels of grey.
func (d *Decoder) lookUp(dst, row []byte, n int) {
	shown, mask := &d.shown, byte(1<<d.depth-1)
	if d.depth == 8 && n == 3 {
		last := len(row) - 1
		for i, v := range row[:last] { // a byte too many each
			*(*[4]byte)(dst[3*i : 3*i+4]) = shown[v]
		}
		copy(dst[3*last:], shown[row[last]][:3])
		return
	}
	at := 8 - d.depth
	for ; len(dst) >= n; dst = dst[n:] {
		p := &shown[row[0]>>at&mask]
		if at -= d.depth; at < 0 {
			at, row = 8-d.depth, row[1:]
		}
		if n == 1 {
			dst[0] = p[0]
			continue
		}
		dst[0], dst[1], dst[2] = p[0], p[1], p[2]
	}
}

// onBlack shows a colour on black, as image/draw does.
func onBlack(p [4]byte) [4]byte {
	if p[3] == 255 {
		return p
	}
	a := uint32(p[3]) * 0x101
	for k, v := range p[:3] {
		p[k] = byte(uint32(v) * a / 0xff >> 8)
	}
	return p
}
