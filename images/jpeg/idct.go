package jpeg

// The constants of the transforms: 13 bits behind the point.
const (
	fix0_298 = 2446
	fix0_390 = 3196
	fix0_541 = 4433
	fix0_765 = 6270
	fix0_899 = 7373
	fix1_175 = 9633
	fix1_501 = 12299
	fix1_847 = 15137
	fix1_961 = 16069
	fix2_053 = 16819
	fix2_562 = 20995
	fix3_072 = 25172
)

// eight is the transform of eight values: sums of 13 bits more. Where 16-bit sums
// overflow, which happens in damaged files alone, they do so as in SIMD registers.
func eight(i0, i1, i2, i3, i4, i5, i6, i7 int32) (o [8]int32) {
	z := fix0_541 * (i2 + i6)
	t2, t3 := z-fix1_847*i6, z+fix0_765*i2
	t0, t1 := int32(int16(i0+i4))<<13, int32(int16(i0-i4))<<13
	e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2

	z3, z4 := int32(int16(i7+i3)), int32(int16(i5+i1))
	z5 := fix1_175 * (z3 + z4)
	z3, z4 = z5-fix1_961*z3, z5-fix0_390*z4
	z1, z2 := -fix0_899*(i7+i1), -fix2_562*(i5+i3)
	a := fix0_298*i7 + z1 + z3
	b := fix2_053*i5 + z2 + z4
	c := fix3_072*i3 + z2 + z3
	d := fix1_501*i1 + z1 + z4
	return [8]int32{e0 + d, e1 + c, e2 + b, e3 + a, e3 - a, e2 - b, e1 - c, e0 - d}
}

func word(x int32) int32 { return max(-1<<15, min(1<<15-1, x)) }

func pixel(x int32) byte { return byte(max(0, min(255, x+128))) }

// idct8 transforms 8 x 8 coefficients to pixels, and clears them.
func idct8(in *[128]int16, dst []byte, stride int) {
	var mid [64]int32
	for x := range 8 {
		o := eight(int32(in[x]), int32(in[8+x]), int32(in[16+x]), int32(in[24+x]), int32(in[32+x]), int32(in[40+x]), int32(in[48+x]), int32(in[56+x]))
		for y, v := range o {
			mid[8*y+x] = word((v + 1<<10) >> 11)
		}
	}
	for y := range 8 {
		r := mid[8*y : 8*y+8 : 8*y+8]
		o := eight(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7])
		to := dst[y*stride : y*stride+8 : y*stride+8]
		for x, v := range o {
			to[x] = pixel((v + 1<<17) >> 18)
		}
	}
	clear(in[:64])
}

// four is the transform of the lower part of eight values to four: sums of 14 bits more.
func four(i0, i1, i2, i3, i5, i6, i7 int32) (o [4]int32) {
	t0, t2 := i0<<14, 15137*i2-6270*i6
	e0, e1 := t0+t2, t0-t2
	a := -1730*i7 + 11893*i5 - 17799*i3 + 8697*i1
	b := -4176*i7 - 4926*i5 + 7373*i3 + 20995*i1
	return [4]int32{e0 + b, e1 + a, e1 - a, e0 - b}
}

// idct4 transforms 8 x 8 coefficients to 4 x 4 pixels, and clears them.
func idct4(in *[128]int16, dst []byte, stride int) {
	var mid [32]int32
	for x := range 8 {
		if x == 4 {
			continue
		}
		o := four(int32(in[x]), int32(in[8+x]), int32(in[16+x]), int32(in[24+x]), int32(in[40+x]), int32(in[48+x]), int32(in[56+x]))
		for y, v := range o {
			mid[8*y+x] = word((v + 1<<11) >> 12)
		}
	}
	for y := range 4 {
		r := mid[8*y : 8*y+8 : 8*y+8]
		o := four(r[0], r[1], r[2], r[3], r[5], r[6], r[7])
		for x, v := range o {
			dst[y*stride+x] = pixel((v + 1<<18) >> 19)
		}
	}
	clear(in[:64])
}

// idct2 transforms 8 x 8 coefficients to 2 x 2 pixels, and clears them.
func idct2(in *[128]int16, dst []byte, stride int) {
	var mid [16]int32
	for _, x := range [...]int{0, 1, 3, 5, 7} {
		a, b := two(int32(in[x]), int32(in[8+x]), int32(in[24+x]), int32(in[40+x]), int32(in[56+x]))
		mid[x], mid[8+x] = word((a+1<<12)>>13), word((b+1<<12)>>13)
	}
	for y := range 2 {
		r := mid[8*y:]
		a, b := two(r[0], r[1], r[3], r[5], r[7])
		dst[y*stride], dst[y*stride+1] = pixel((a+1<<19)>>20), pixel((b+1<<19)>>20)
	}
	clear(in[:64])
}

// two is the transform of the lower part of eight values to two: sums of 15 bits more.
func two(i0, i1, i3, i5, i7 int32) (a, b int32) {
	odd := -5906*i7 + 6967*i5 - 10426*i3 + 29692*i1
	return i0<<15 + odd, i0<<15 - odd
}

// flatPixel is the one value of a block without AC coefficients, at any size.
func flatPixel(dc int16) byte { return pixel((int32(dc) + 4) >> 3) }

// dequantise multiplies a block to out, or only its first coefficient if all others are
// zero (flat).
func dequantise(out *[128]int16, in *[64]int16, q *[64]uint16) (flat bool) {
	rest := *in
	rest[0] = 0
	if rest == [64]int16{} {
		out[0] = in[0] * int16(q[0])
		return true
	}
	for k, v := range in {
		out[k] = v * int16(q[k])
	}
	return false
}
