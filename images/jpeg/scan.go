package jpeg

import (
	"bytes"

	"github.com/shardify/shardify"
)

// scan is the scan that is decoded.
type scan struct {
	start          int // of its data in the file
	comps          [4]*component
	dc, ac         [4]*huffman
	count          int
	ss, se, ah, al int

	stream
	pred   [4]int32
	eobRun int32
	next   int // the interval that begins next
	left   int // MCUs until it does
	cut    bool
}

// beginScan reads the header of a scan and takes the stuffing out of its data.
func (d *Decoder) beginScan() error {
	start := d.at - 2
	b, err := d.segment()
	if err != nil {
		return err
	}
	s := &d.scan
	if len(b) < 1 || len(b) != 4+2*int(b[0]) || b[0] < 1 || int(b[0]) > d.head.Components {
		return corrupt(start, "a scan header of %d bytes", len(b))
	}
	s.count = int(b[0])
	tail := b[1+2*s.count:]
	s.ss, s.se, s.ah, s.al = int(tail[0]), int(tail[1]), int(tail[2]>>4), int(tail[2]&15)
	if d.head.Progressive && !s.sane() {
		return corrupt(start, "a progressive scan of %d components, coefficients %d-%d, bits %d-%d", s.count, s.ss, s.se, s.ah, s.al)
	}
	blocks := 0
	for i := range s.count {
		id, td, ta := b[1+2*i], b[2+2*i]>>4, b[2+2*i]&15
		c := d.component(id)
		for k := range i {
			if s.comps[k] == c {
				c = nil
			}
		}
		if c == nil || td > 3 || ta > 3 {
			return corrupt(start, "a scan of component %d with tables %d and %d", id, td, ta)
		}
		s.comps[i] = c
		blocks += c.h * c.v
		if err := d.tables(i, td, ta, start); err != nil {
			return err
		}
	}
	if s.count > 1 && blocks > 10 {
		return corrupt(start, "a scan with %d blocks an MCU", blocks)
	}
	s.start = d.at
	return d.unstuff()
}

// sane reports whether a scan can be part of a progressive file.
func (s *scan) sane() bool {
	if s.ss == 0 && s.se != 0 || s.ss > 0 && (s.count != 1 || s.se < s.ss || s.se > 63) {
		return false
	}
	return s.al <= 13 && (s.ah == 0 || s.ah == s.al+1)
}

func (d *Decoder) component(id byte) *component {
	for i := range d.head.Components {
		if d.comps[i].id == id {
			return &d.comps[i]
		}
	}
	return nil
}

// tables prepares those of component i of the scan.
func (d *Decoder) tables(i int, td, ta byte, start int) error {
	s := &d.scan
	c := s.comps[i]
	if !c.latched {
		if !d.quants[c.tq] {
			return corrupt(start, "quantisation table %d is missing", c.tq)
		}
		copy(c.q[:], d.quant[c.tq][:])
		for k, q := range d.quant[c.tq] {
			c.natural[natural[k]&63] = q
		}
		c.latched = true
	}
	ac := ofAC
	needDC, needAC := true, true
	if d.head.Progressive {
		ac, needDC, needAC = ofProgressiveAC, s.ss == 0 && s.ah == 0, s.ss > 0
	}
	if needDC && d.defs[0][td].n == 0 || needAC && d.defs[1][ta].n == 0 {
		return corrupt(start, "Huffman table missing: DC %d or AC %d", td, ta)
	}
	s.dc[i], s.ac[i] = &d.huffs[0][td], &d.huffs[1][ta]
	if needDC {
		s.dc[i].set(&d.defs[0][td], ofDC)
	}
	if needAC {
		s.ac[i].set(&d.defs[1][ta], ac)
	}
	return nil
}

// unstuff copies the data of a scan: FF 00 is FF, and restart markers end intervals.
// Behind each are 16 zeros.
func (d *Decoder) unstuff() error {
	const pad = 16
	out, src, at := d.data[:0], d.src, d.at
	d.ends = d.ends[:0]
	var zeros [pad]byte
	d.scan.cut = true
	for at < len(src) {
		k := bytes.IndexByte(src[at:], 0xff)
		if k < 0 {
			out = append(out, src[at:]...)
			at = len(src)
			break
		}
		out = append(out, src[at:at+k]...)
		at += k
		if at+1 >= len(src) {
			at = len(src)
			break
		}
		m := src[at+1]
		if m == 0 {
			out = append(out, 0xff)
			at += 2
			continue
		}
		if m == 0xff {
			at++
			continue
		}
		if m < 0xd0 || m > 0xd7 {
			d.scan.cut = false
			break
		}
		if d.interval == 0 {
			return corrupt(at, "unexpected marker: restart %d, and no restart interval", m&7)
		}
		if int(m&7) != len(d.ends)&7 {
			return corrupt(at, "restart out of order: %d where %d is expected", m&7, len(d.ends)&7)
		}
		d.ends = append(d.ends, len(out))
		out = append(out, zeros[:]...)
		at += 2
	}
	d.ends = append(d.ends, len(out))
	d.data, d.at = append(out, zeros[:]...), at
	d.scan.begin(d.data)
	return nil
}

// begin goes to the start of a scan.
func (s *scan) begin(data []byte) {
	s.stream = stream{data: data}
	s.next, s.left = 0, 0
}

// restart begins the next interval.
func (d *Decoder) restart() error {
	s := &d.scan
	if s.next > 0 && s.over() {
		return d.ended()
	}
	if s.next == len(d.ends) {
		return d.ended()
	}
	s.pos = 0
	if s.next > 0 {
		s.pos = d.ends[s.next-1] + 16
	}
	s.acc, s.stream.n, s.eobRun = 0, 0, 0
	s.end = d.ends[s.next]
	s.next++
	s.left = d.interval
	if s.left == 0 {
		s.left = 1 << 62
	}
	s.pred = [4]int32{}
	return nil
}

// ended is the error for data that ends before the blocks do.
func (d *Decoder) ended() error {
	if d.scan.cut {
		return d.truncated("a scan")
	}
	return corrupt(d.place(), "the data of a scan ends before its blocks do")
}

// damaged is the error for codes that cannot be.
func (d *Decoder) damaged() error {
	if d.scan.over() {
		return d.ended()
	}
	return corrupt(d.place(), "a code that is in no Huffman table, or a run beyond its block")
}

// place is where in the file the stream is.
func (d *Decoder) place() int {
	s := &d.scan
	bytes := min(s.pos-int(s.stream.n)/8, s.end) - 16*max(s.next-1, 0)
	at := s.start
	for bytes > 0 && at < len(d.src) {
		if d.src[at] == 0xff && at+1 < len(d.src) {
			if m := d.src[at+1]; m != 0 {
				at += 1
				if m != 0xff {
					at++
				}
				continue
			}
			at++
		}
		at++
		bytes--
	}
	return at
}

// Options say what of an image is decoded.
type Options struct {
	// Scale is 1, 2, 4 or 8: the image is decoded to 1/Scale of its size, rounded up, by
	// smaller transforms. These are the pixels of libjpeg's scaling, not those of a filter.
	// 0 is 1.
	Scale int
	// The part [X0, X1) x [Y0, Y1) of the (scaled) image; all 0: the whole. Blocks outside
	// are not transformed, and those below are not read.
	X0, Y0, X1, Y1 int
	// Native gives what the file has: one byte a pixel for grey, four for CMYK.
	// Else there are three: R, G, B.
	Native bool
	// Grey gives one byte a pixel: of files with colours, the luma. Those of four components
	// are ErrUnsupported.
	Grey bool
	// Fill takes files that end early: blocks that are missing are grey, as libjpeg makes
	// them, and what is missing of a progressive file is taken for zero. Else these are errors.
	Fill bool
	// Sink takes rows on the way, at most SinkRows at a time, and returns where the next
	// go: memory for as many, and not for the image.
	Sink func(rows []byte) []byte
}

// SinkRows is the most rows that [Options] pass on at once: those of an MCU, and one that
// waited for them.
const SinkRows = 4*8 + 1

// Channels is the number of bytes of a pixel.
func (h Header) Channels(o Options) int {
	if o.Grey {
		return 1
	}
	if o.Native {
		return h.Components
	}
	return 3
}

// Scaled is the size of an image at 1/scale.
func (h Header) Scaled(scale int) (w, hh int) {
	return above(h.W, max(scale, 1)), above(h.H, max(scale, 1))
}

// Decode writes the pixels of the image that was opened, row by row. It can be called
// once after each Open.
func (d *Decoder) Decode(dst []byte, o Options) error {
	if !d.sof {
		return shardify.Mismatch("jpeg: no image is open")
	}
	if err := d.out.set(d, dst, o); err != nil {
		return err
	}
	d.sof = false
	err := d.decode()
	if err != nil {
		d.slots = [2][128]int16{} // they are zero between images
	}
	return err
}

func (d *Decoder) decode() error {
	if err := d.beginScan(); err != nil {
		return err
	}
	if !d.head.Progressive && d.scan.count == d.head.Components {
		return d.rows()
	}
	if err := d.scans(); err != nil && !(d.lost && d.out.fill) {
		return err
	}
	d.transformAll()
	return nil
}

// rows decodes an image of one scan, MCU row by MCU row.
func (d *Decoder) rows() error {
	o, s := &d.out, &d.scan
	for my := range o.my1 {
		for mx := range d.mcusX {
			if s.left == 0 {
				if err := d.restart(); err != nil {
					return d.blank(my, mx, err)
				}
			}
			s.left--
			inside := my >= o.my0 && mx >= o.mx0 && mx < o.mx1
			for i := range s.count {
				c := s.comps[i]
				if !inside || o.luma && c != &d.comps[0] {
					for range c.h * c.v {
						dc, ok := s.skip(s.dc[i], s.ac[i], s.pred[i])
						if !ok {
							return d.blank(my, mx, d.damaged())
						}
						s.pred[i] = dc
					}
					continue
				}
				at := c.block(my, 0, (mx-o.mx0)*c.h)
				for range c.v {
					for k := range c.h {
						slot := &d.slots[o.waiting]
						dc, flat, ok := s.block(s.dc[i], s.ac[i], &c.q, s.pred[i], slot)
						if !ok {
							return d.blank(my, mx, d.damaged())
						}
						s.pred[i] = dc
						d.transform(c, at+k*c.size, flat)
					}
					at += c.size * c.stride
				}
			}
			if s.over() {
				return d.blank(my, mx+1, d.ended())
			}
		}
		if my >= o.my0 {
			d.flush()
			o.emit(d, my)
		}
	}
	return nil
}

// blank makes what is missing of a file that ended early grey, from MCU mx of row my on. If
// that is not asked for, or the file is damaged in another way, it is the error.
func (d *Decoder) blank(my, mx int, err error) error {
	o := &d.out
	if !d.lost || !o.fill {
		return err
	}
	clear(d.slots[o.waiting][:])
	d.flush()
	for ; my < o.my1; my, mx = my+1, 0 {
		for i := range d.head.Components {
			c := &d.comps[i]
			for y := range c.rows {
				row := c.row(my*c.rows + y)[1:]
				for x := max(mx-o.mx0, 0) * c.h * c.size; x < (o.mx1-o.mx0)*c.h*c.size; x++ {
					row[x] = 128
				}
			}
		}
		if my >= o.my0 {
			o.emit(d, my)
		}
	}
	return nil
}
