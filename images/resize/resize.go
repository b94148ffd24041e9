package resize

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/jpeg"
)

// Pixels are W x H pixels of 3 or 1 bytes; a row begins every Stride bytes.
type Pixels struct {
	Pix          []byte
	W, H, Stride int
	Channels     int // 0 is 3
}

// Part is the pixels [x0, x1) x [y0, y1) of p.
func (p Pixels) Part(x0, y0, x1, y1 int) Pixels {
	return Pixels{p.Pix[y0*p.Stride+p.channels()*x0:], x1 - x0, y1 - y0, p.Stride, p.Channels}
}

func (p Pixels) channels() int {
	if p.Channels == 0 {
		return 3
	}
	return p.Channels
}

// Resizer resizes pictures, one after the other. The zero value is ready. It keeps its
// memory, and is for one goroutine.
type Resizer struct {
	across, down axis
	channels     int
	mid          []byte // between the passes
	stride, made int    // of its rows: bytes, and how many there are
	memory, edge []byte // of mid; the last rows of a picture, with room behind them

	decoder jpeg.Decoder
	head    jpeg.Header
	pix     []byte // rows that were decoded, of which the first pass lacks the first ones
	width   int    // of them
	waiting int
	sink    func([]byte) []byte
}

// The kernels make four rows at a time, and read and write a register beyond a row.
const (
	lines  = 4
	margin = 32
)

// most is the largest side of a result.
const most = 1 << 16

// Size says how pixels are cut and resized: Left, Top, Right and Bottom are the part that becomes W x H
// pixels, all 0: the whole. Pixels beside it count at its edges, as with Pillow's box.
type Size struct {
	W, H                     int
	Left, Top, Right, Bottom float32
	Filter                   Filter
}

// set computes the weights of both axes for w x h pixels.
func (r *Resizer) set(w, h int, s Size) error {
	if s.Left == 0 && s.Top == 0 && s.Right == 0 && s.Bottom == 0 {
		s.Right, s.Bottom = float32(w), float32(h)
	}
	if s.W < 1 || s.H < 1 || s.W > most || s.H > most || int(s.Filter) >= len(names) {
		return shardify.Mismatch("resize: a size of %d x %d pixels, filter %d", s.W, s.H, s.Filter)
	}
	if !(s.Left >= 0 && s.Left < s.Right && s.Right <= float32(w) && s.Top >= 0 && s.Top < s.Bottom && s.Bottom <= float32(h)) {
		return shardify.Mismatch("resize: the part [%g, %g) x [%g, %g) of %d x %d pixels", s.Left, s.Right, s.Top, s.Bottom, w, h)
	}
	r.across.set(span{w, s.W, s.Left, s.Right, s.Filter})
	r.down.set(span{h, s.H, s.Top, s.Bottom, s.Filter})
	return nil
}

// Resize writes the resized src to dst, row by row.
func (r *Resizer) Resize(dst []byte, src Pixels, s Size) error {
	if err := r.Start(src, s); err != nil {
		return err
	}
	return r.all(dst)
}

// Start makes the first pass. [Resizer.Row] gives the result.
func (r *Resizer) Start(src Pixels, s Size) error {
	c := src.channels()
	if src.W < 1 || src.H < 1 || c != 1 && c != 3 || src.Stride < c*src.W || len(src.Pix) < (src.H-1)*src.Stride+c*src.W {
		return shardify.Mismatch("resize: %d bytes of %d x %d pixels of %d bytes, %d a row", len(src.Pix), src.W, src.H, c, src.Stride)
	}
	if err := r.set(src.W, src.H, s); err != nil {
		return err
	}
	r.run(src)
	return nil
}

// Row writes row y of the result.
func (r *Resizer) Row(dst []byte, y int) {
	a := &r.down
	from := r.mid[(int(a.lo[y])-a.first)*r.stride:]
	if a.same() {
		copy(dst, from[:r.channels*r.across.out])
		return
	}
	downRow(dst[:r.channels*r.across.out], from, r.stride, a, y)
}

// all writes the whole result.
func (r *Resizer) all(dst []byte) error {
	width := r.channels * r.across.out
	if len(dst) != width*r.down.out {
		return shardify.Mismatch("resize: %d bytes for %d x %d pixels of %d bytes", len(dst), r.across.out, r.down.out, r.channels)
	}
	for y := range r.down.out {
		r.Row(dst[width*y:width*(y+1)], y)
	}
	return nil
}

// run makes the first pass of a picture.
func (r *Resizer) run(src Pixels) {
	c := src.channels()
	if r.across.same() && r.down.same() {
		r.channels, r.mid, r.stride = c, src.Pix, src.Stride
		return
	}
	r.begin(c)
	r.push(src.Pix[r.down.first*src.Stride:], src.W, src.Stride, r.down.end-r.down.first, 0, true)
}

// begin makes room for the result of the first pass.
func (r *Resizer) begin(channels int) {
	r.channels, r.made = channels, 0
	r.stride = (channels*r.across.out+31)&^31 + margin
	r.memory = grown(r.memory, (r.down.end-r.down.first+lines+1)*r.stride)
	r.mid = r.memory
}

// push makes the first pass of the next n rows, of w pixels and step bytes, which begin at
// column x of the picture. If they are not the last, some may be left; it returns how
// many were taken.
func (r *Resizer) push(rows []byte, w, step, n, x int, last bool) int {
	a, c := &r.across, r.channels
	width, in := c*a.out, c*w
	for k := 0; k < n; k += lines {
		now := min(lines, n-k)
		if now < lines && !last {
			return k
		}
		from, by := rows[k*step:], step
		to := r.mid[r.made*r.stride:]
		r.made += now
		if a.same() {
			for i := range now {
				copy(to[i*r.stride:][:width], from[i*by:])
			}
			continue
		}
		if now < lines || len(from) < lines*by+margin {
			r.edge = grown(r.edge, lines*(in+margin))
			for i := range now {
				copy(r.edge[i*(in+margin):], from[i*by:i*by+in])
			}
			from, by = r.edge, in+margin
		}
		if c == 3 {
			acrossRows(to, r.stride, from, by, a, x)
			continue
		}
		for i := range lines {
			acrossGreyGo(to[i*r.stride:], from[i*by:], a, x)
		}
	}
	return n
}

// acrossRowGo makes one row of the first pass; src begins at pixel x.
func acrossRowGo(dst, src []byte, a *axis, x int) {
	const half = 1 << (precision - 1)
	for o := range a.out {
		weights := a.weights[o*a.taps : (o+1)*a.taps]
		in := src[3*(int(a.lo[o])-x):]
		in = in[:3*len(weights)]
		red, green, blue := int32(half), int32(half), int32(half)
		for _, w := range weights {
			if len(in) < 3 {
				break
			}
			red += w * int32(in[0])
			green += w * int32(in[1])
			blue += w * int32(in[2])
			in = in[3:]
		}
		out := dst[3*o : 3*o+3 : 3*o+3]
		out[0], out[1], out[2] = limit(red>>precision), limit(green>>precision), limit(blue>>precision)
	}
}

// acrossGreyGo is acrossRowGo for pixels of one byte.
func acrossGreyGo(dst, src []byte, a *axis, x int) {
	for o := range a.out {
		weights := a.weights[o*a.taps : (o+1)*a.taps]
		in := src[int(a.lo[o])-x:][:len(weights)]
		v := int32(1 << (precision - 1))
		for i, w := range weights {
			v += w * int32(in[i])
		}
		dst[o] = limit(v >> precision)
	}
}

// downRowGo makes row k of the second pass. rows begin with its first input.
func downRowGo(dst, rows []byte, stride int, a *axis, k int) {
	const half = 1 << (precision - 1)
	weights := a.weights[k*a.taps : (k+1)*a.taps]
	for x := range dst {
		v, at := int32(half), x
		for _, w := range weights {
			v += w * int32(rows[at])
			at += stride
		}
		dst[x] = limit(v >> precision)
	}
}

func limit(x int32) byte { return byte(max(0, min(255, x))) }
