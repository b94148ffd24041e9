package jpeg

// forwardEight is the forward transform of eight values, without the last shift of the
// others than 0 and 4, which have 13 bits less.
func forwardEight(d *[8]int32) (o [8]int32) {
	t0, t7 := d[0]+d[7], d[0]-d[7]
	t1, t6 := d[1]+d[6], d[1]-d[6]
	t2, t5 := d[2]+d[5], d[2]-d[5]
	t3, t4 := d[3]+d[4], d[3]-d[4]
	e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2
	o[0], o[4] = e0+e1, e0-e1
	z := fix0_541 * (e2 + e3)
	o[2], o[6] = z+fix0_765*e3, z-fix1_847*e2
	z1, z2 := -fix0_899*(t4+t7), -fix2_562*(t5+t6)
	z5 := fix1_175 * (t4 + t6 + t5 + t7)
	z3, z4 := z5-fix1_961*(t4+t6), z5-fix0_390*(t5+t7)
	o[7] = fix0_298*t4 + z1 + z3
	o[5] = fix2_053*t5 + z2 + z4
	o[3] = fix3_072*t6 + z2 + z3
	o[1] = fix1_501*t7 + z1 + z4
	return o
}

// divisors quantise: coefficients, which are 8 times those of the DCT, are divided by 8
// times q and rounded. See quotient.
type divisors struct {
	half, recip, scale [64]uint16
}

func (d *divisors) set(q *[64]byte) {
	for k, v := range q {
		s := 1
		for v>>s != 0 {
			s++
		}
		d.half[k] = 4 * uint16(v)
		d.recip[k] = uint16((1<<(14+s) + int(v) - 1) / int(v))
		d.scale[k] = uint16(1 << (16 - s))
	}
}

// quotient is x / 8q, rounded. x is below 2^15; products of 16 bits are exact:
// recip is 2^(14+s) / q and a little, s the bits of q.
func quotient(x int32, half, recip, scale uint16) int32 {
	sign := x >> 31
	u := (uint32((x^sign)-sign) + uint32(half)) >> 3
	v := int32((4 * u * uint32(recip) >> 16) * uint32(scale) >> 16)
	return (v ^ sign) - sign
}

// forwardGo transforms and quantises 8 x 8 samples, and returns which coefficients are not
// zero.
func forwardGo(out *[64]int16, src []byte, stride int, d *divisors) (set uint64) {
	var mid [64]int32
	for y := range 8 {
		s := src[y*stride : y*stride+8 : y*stride+8]
		in := [8]int32{int32(s[0]) - 128, int32(s[1]) - 128, int32(s[2]) - 128, int32(s[3]) - 128, int32(s[4]) - 128, int32(s[5]) - 128, int32(s[6]) - 128, int32(s[7]) - 128}
		o := forwardEight(&in)
		for x, v := range o {
			if x&3 == 0 {
				mid[8*y+x] = v << 2
			} else {
				mid[8*y+x] = (v + 1<<10) >> 11
			}
		}
	}
	for x := range 8 {
		in := [8]int32{mid[x], mid[8+x], mid[16+x], mid[24+x], mid[32+x], mid[40+x], mid[48+x], mid[56+x]}
		o := forwardEight(&in)
		for y, v := range o {
			if y&3 == 0 {
				v = (v + 2) >> 2
			} else {
				v = (v + 1<<14) >> 15
			}
			k := 8*y + x
			v = quotient(v, d.half[k], d.recip[k], d.scale[k])
			out[k] = int16(v)
			if v != 0 {
				set |= 1 << k
			}
		}
	}
	return set
}
