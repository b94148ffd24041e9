package jpeg

import "github.com/shardify/shardify"

// output turns blocks to rows of pixels. It keeps two MCU rows of every component: a
// filtered row needs one from the MCU row above or below.
type output struct {
	dst                []byte
	sink               func([]byte) []byte
	channels           int
	space              space
	luma               bool // the first component alone is wanted
	inverted           bool
	x0, y0, x1, y1     int // what is wanted of the (scaled) image
	mx0, my0, mx1, my1 int // the MCUs that are needed for it
	mcuW, mcuH         int
	fill               bool
	lag                int // rows of an MCU row that need the next one
	next               int // row
	memory             []byte

	waiting int // blocks in slots
	first   struct {
		c  *component
		at int
	}
}

// plane is the part of a component that is kept.
type plane struct {
	size          int // of its blocks, in pixels
	width, height int // its samples that are image
	strip         []byte
	stride, rows  int // of one MCU row
	from          int // the first column that is kept
	used          int // columns that are kept and image
	line          []byte
	up            upsampling
	rx, ry        int // pixels a sample stands for
}

type upsampling byte

const (
	same upsampling = iota
	replicate
	h2v1 // filtered
	h1v2
	h2v2
)

// margin is the room on both sides of a row: filters look one sample beyond it, kernels
// write up to a register behind it.
const margin = 64

// set prepares the decoding of d to dst.
func (o *output) set(d *Decoder, dst []byte, opt Options) error {
	scale := opt.Scale
	switch scale {
	case 0:
		scale = 1
	case 1, 2, 4, 8:
	default:
		return shardify.Mismatch("jpeg: a scale of 1/%d; there are 1, 2, 4 and 8", scale)
	}
	w, h := d.head.Scaled(scale)
	if opt.X0 == 0 && opt.Y0 == 0 && opt.X1 == 0 && opt.Y1 == 0 {
		opt.X1, opt.Y1 = w, h
	}
	if opt.X0 < 0 || opt.Y0 < 0 || opt.X0 >= opt.X1 || opt.Y0 >= opt.Y1 || opt.X1 > w || opt.Y1 > h {
		return shardify.Mismatch("jpeg: the part [%d, %d) x [%d, %d) of %d x %d pixels", opt.X0, opt.X1, opt.Y0, opt.Y1, w, h)
	}
	o.fill = opt.Fill
	o.dst, o.x0, o.y0, o.x1, o.y1 = dst, opt.X0, opt.Y0, opt.X1, opt.Y1
	o.channels, o.space, o.inverted = d.head.Channels(opt), d.space(), d.adobe
	if opt.Grey && d.head.Components == 4 {
		return shardify.Unsupported("JPEG of four components as grey")
	}
	o.luma = opt.Grey && o.space == ycc
	o.sink = opt.Sink
	rows := o.y1 - o.y0
	if o.sink != nil {
		rows = min(rows, SinkRows)
	}
	if len(dst) < o.channels*(o.x1-o.x0)*rows {
		return shardify.Mismatch("jpeg: %d bytes for %d x %d pixels of %d bytes", len(dst), o.x1-o.x0, o.y1-o.y0, o.channels)
	}
	size := 8 / scale
	o.mcuW, o.mcuH = d.hmax*size, d.vmax*size
	// Two pixels more to every side: the sample of chroma beside the part.
	o.mx0, o.mx1 = max(o.x0-2, 0)/o.mcuW, min(above(o.x1+2, o.mcuW), d.mcusX)
	o.my0, o.my1 = max(o.y0-2, 0)/o.mcuH, min(above(o.y1+2, o.mcuH), d.mcusY)
	o.next, o.lag, o.waiting = o.y0, 0, 0
	total := 0
	for i := range d.head.Components {
		c := &d.comps[i]
		c.shape(d, size, o.mx0, o.mx1)
		if c.up == h2v2 || c.up == h1v2 {
			o.lag = 1
		}
		total += 2*c.rows*c.stride + o.lineBytes()
	}
	if cap(o.memory) < total {
		o.memory = make([]byte, total)
	}
	left := o.memory[:total]
	for i := range d.head.Components {
		c := &d.comps[i]
		c.strip, left = left[:2*c.rows*c.stride], left[2*c.rows*c.stride:]
		c.line, left = left[:o.lineBytes()], left[o.lineBytes():]
	}
	return nil
}

func (o *output) lineBytes() int { return (o.mx1-o.mx0)*o.mcuW + 2*margin }

// shape says how the blocks of a component are transformed and upsampled. As in libjpeg,
// subsampled components are scaled less, so that little or nothing is upsampled.
func (c *component) shape(d *Decoder, size, mx0, mx1 int) {
	c.size = size
	for c.size < 8 && d.hmax*size%(c.h*c.size*2) == 0 && d.vmax*size%(c.v*c.size*2) == 0 {
		c.size *= 2
	}
	c.width, c.height = above(d.head.W*c.h*c.size, 8*d.hmax), above(d.head.H*c.v*c.size, 8*d.vmax)
	columns := (mx1 - mx0) * c.h * c.size
	c.from = mx0 * c.h * c.size
	c.used = min(columns, c.width-c.from)
	c.stride, c.rows = columns+2*margin, c.v*c.size
	c.rx, c.ry = d.hmax*size/(c.h*c.size), d.vmax*size/(c.v*c.size)
	filtered := size > 1
	switch {
	case c.rx == 1 && c.ry == 1:
		c.up = same
	case filtered && c.rx == 2 && c.ry == 1 && c.width > 2:
		c.up = h2v1
	case filtered && c.rx == 1 && c.ry == 2:
		c.up = h1v2
	case filtered && c.rx == 2 && c.ry == 2 && c.width > 2:
		c.up = h2v2
	default:
		c.up = replicate
	}
}

// block is where a sample of MCU row my is in strip.
func (c *component) block(my, row, column int) int {
	return ((my&1)*c.rows+row)*c.stride + margin + column*c.size
}

// row is row y of a component, from the sample before the first.
func (c *component) row(y int) []byte {
	at := (y/c.rows&1*c.rows + y%c.rows) * c.stride
	return c.strip[at+margin-1 : at+c.stride]
}

// transform makes pixels of the coefficients in the next slot.
func (d *Decoder) transform(c *component, at int, flat bool) {
	o := &d.out
	slot := &d.slots[o.waiting]
	switch {
	case flat:
		v := flatPixel(slot[0])
		slot[0] = 0
		for y := range c.size {
			row := c.strip[at+y*c.stride:][:c.size]
			for x := range row {
				row[x] = v
			}
		}
	case c.size == 8 && o.waiting == 0: // kernels transform two at a time
		o.first.c, o.first.at, o.waiting = c, at, 1
	case c.size == 8:
		o.waiting = 0
		a := o.first.c
		idctPair(&d.slots, a.strip[o.first.at:], a.stride, c.strip[at:], c.stride)
	case c.size == 4:
		idct4(slot, c.strip[at:], c.stride)
	case c.size == 2:
		idct2(slot, c.strip[at:], c.stride)
	default:
		c.strip[at] = flatPixel(slot[0])
		clear(slot[:64])
	}
}

// flush transforms a block that waits.
func (d *Decoder) flush() {
	if o := &d.out; o.waiting == 1 {
		o.waiting = 0
		idct8(&d.slots[0], o.first.c.strip[o.first.at:], o.first.c.stride)
	}
}

// emit writes the rows that MCU row my completes.
func (o *output) emit(d *Decoder, my int) {
	end := (my+1)*o.mcuH - o.lag
	if my == o.my1-1 || end > o.y1 {
		end = o.y1
	}
	for i := range d.head.Components {
		c := &d.comps[i]
		if c.up != h2v1 && c.up != h2v2 {
			continue
		}
		for y := range c.rows { // the filters see the first and last sample twice
			row := c.row(my*c.rows + y)
			row[0], row[c.used+1] = row[1], row[c.used]
		}
	}
	to := o.dst
	for ; o.next < end; o.next++ {
		var rows [4][]byte
		for i := range d.head.Components {
			if i > 0 && o.luma {
				break
			}
			rows[i] = d.comps[i].upsample(o.next)[o.x0-o.mx0*o.mcuW:]
		}
		n := o.x1 - o.x0
		o.colour(o.dst[:o.channels*n], &rows, n)
		o.dst = o.dst[o.channels*n:]
	}
	if n := len(to) - len(o.dst); o.sink != nil && n > 0 {
		o.dst = o.sink(to[:n])
	}
}

// upsample is row y of the image: its samples of a component.
func (c *component) upsample(y int) []byte {
	near := y / c.ry
	switch c.up {
	case same:
		return c.row(near)[1:]
	case h2v1:
		upH2V1(c.line, c.row(near), c.used)
	case h1v2:
		upH1V2(c.line, c.row(near)[1:], c.row(c.far(y))[1:], c.used, 1+byte(y&1))
	case h2v2:
		upH2V2(c.line, c.row(near), c.row(c.far(y)), c.used)
	default:
		src := c.row(near)[1:]
		for x := range c.used {
			for k := range c.rx {
				c.line[x*c.rx+k] = src[x]
			}
		}
	}
	return c.line
}

// far is the other one of the two rows around row y.
func (c *component) far(y int) int {
	if y&1 == 0 {
		return max(y/2-1, 0)
	}
	return min(y/2+1, c.height-1)
}

// upH2V1Go doubles n samples: dst[2i] and dst[2i+1] are three parts of sample i and one of
// its neighbour. src begins with the sample before the first.
func upH2V1Go(dst, src []byte, n int) {
	src, dst = src[:n+2], dst[:2*n]
	for i := range n {
		p := 3 * uint(src[i+1])
		dst[2*i], dst[2*i+1] = byte((p+uint(src[i])+1)>>2), byte((p+uint(src[i+2])+2)>>2)
	}
}

// upH1V2Go is three parts of near and one of far.
func upH1V2Go(dst, near, far []byte, n int, bias byte) {
	near, far, dst = near[:n], far[:n], dst[:n]
	for i := range dst {
		dst[i] = byte((3*uint(near[i]) + uint(far[i]) + uint(bias)) >> 2)
	}
}

// upH2V2Go does both. near and far begin with the sample before the first.
func upH2V2Go(dst, near, far []byte, n int) {
	near, far, dst = near[:n+2], far[:n+2], dst[:2*n]
	before, s := 3*uint(near[0])+uint(far[0]), 3*uint(near[1])+uint(far[1])
	for i := range n {
		after := 3*uint(near[i+2]) + uint(far[i+2])
		dst[2*i], dst[2*i+1] = byte((3*s+before+8)>>4), byte((3*s+after+7)>>4)
		before, s = s, after
	}
}
