package jpeg

// colour writes n pixels of the samples of the components.
func (o *output) colour(dst []byte, rows *[4][]byte, n int) {
	switch {
	case (o.space == grey || o.luma) && o.channels == 1:
		copy(dst, rows[0][:n])
	case o.space == rgb && o.channels == 1:
		r, g, b := rows[0][:n], rows[1][:n], rows[2][:n]
		for x := range r {
			dst[x] = Luma(r[x], g[x], b[x])
		}
	case o.space == grey:
		for x, v := range rows[0][:n] {
			dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
		}
	case o.space == ycc:
		yccToRGB(dst, rows[0], rows[1], rows[2], n)
	case o.space == rgb:
		r, g, b := rows[0][:n], rows[1][:n], rows[2][:n]
		for x := range r {
			dst[3*x], dst[3*x+1], dst[3*x+2] = r[x], g[x], b[x]
		}
	default:
		o.inks(dst, rows, n)
	}
}

// inks writes pixels of four components: as CMYK, or as what Pillow makes of that. Files
// with Adobe's marker have it inverted.
func (o *output) inks(dst []byte, rows *[4][]byte, n int) {
	for x := range n {
		p := [4]byte{rows[0][x], rows[1][x], rows[2][x], rows[3][x]}
		if o.space == ycck {
			r, g, b := toRGB(p[0], p[1], p[2])
			p[0], p[1], p[2] = 255-r, 255-g, 255-b
		}
		if o.inverted {
			p = [4]byte{255 - p[0], 255 - p[1], 255 - p[2], 255 - p[3]}
		}
		if o.channels == 4 {
			copy(dst[4*x:], p[:])
			continue
		}
		white := int32(255 - p[3])
		for k := range 3 {
			t := int32(p[k])*white + 128
			dst[3*x+k] = byte(max(0, white-(t+t>>8)>>8))
		}
	}
}

// toRGB converts one pixel, in 16-bit fixed point.
func toRGB(y, cb, cr byte) (r, g, b byte) {
	l, u, v := int32(y)<<16+1<<15, int32(cb)-128, int32(cr)-128
	return limit((l + 91881*v) >> 16), limit((l - 22554*u - 46802*v) >> 16), limit((l + 116130*u) >> 16)
}

// Luma is the level of grey of a colour, as Pillow's convert("L") has it.
func Luma(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}

func limit(x int32) byte { return byte(max(0, min(255, x))) }

func yccToRGBGo(dst, y, cb, cr []byte, n int) {
	y, cb, cr, dst = y[:n], cb[:n], cr[:n], dst[:3*n]
	for x := range y {
		dst[3*x], dst[3*x+1], dst[3*x+2] = toRGB(y[x], cb[x], cr[x])
	}
}
