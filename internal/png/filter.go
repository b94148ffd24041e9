package png

import "encoding/binary"

// unfilter adds to a row what its filter took away. before is the row above, step the
// bytes of a pixel, at least 1.
func unfilter(filter byte, row, before []byte, step int) bool {
	before = before[:len(row)]
	switch filter {
	case 0:
	case 1:
		sub(row, step)
	case 2:
		up(row, before)
	case 3:
		average(row, before, step)
	case 4:
		switch step {
		case 3:
			paeth3(row, before)
		case 4:
			paeth4(row, before)
		default:
			paeth(row, before, step)
		}
	default:
		return false
	}
	return true
}

func sub(row []byte, step int) {
	if step == 3 {
		var a, b, c byte
		for ; len(row) >= 3; row = row[3:] {
			a, b, c = a+row[0], b+row[1], c+row[2]
			row[0], row[1], row[2] = a, b, c
		}
		return
	}
	for i := step; i < len(row); i++ {
		row[i] += row[i-step]
	}
}

// up adds eight bytes at a time: their lower seven bits as one number, and the upper ones
// without carry.
func up(row, before []byte) {
	const low = 0x7f7f7f7f7f7f7f7f
	for len(row) >= 8 {
		x, y := binary.LittleEndian.Uint64(row), binary.LittleEndian.Uint64(before)
		binary.LittleEndian.PutUint64(row, (x&low+y&low)^(x^y)&^low)
		row, before = row[8:], before[8:]
	}
	for i, v := range before {
		row[i] += v
	}
}

func average(row, before []byte, step int) {
	for i := range min(step, len(row)) {
		row[i] += before[i] / 2
	}
	if step == 3 {
		if len(row) < 3 {
			return
		}
		a, b, c := uint32(row[0]), uint32(row[1]), uint32(row[2])
		for row, before = row[3:], before[3:]; len(row) >= 3 && len(before) >= 3; row, before = row[3:], before[3:] {
			a = (uint32(row[0]) + (a+uint32(before[0]))/2) & 255
			b = (uint32(row[1]) + (b+uint32(before[1]))/2) & 255
			c = (uint32(row[2]) + (c+uint32(before[2]))/2) & 255
			row[0], row[1], row[2] = byte(a), byte(b), byte(c)
		}
		return
	}
	for i := step; i < len(row); i++ {
		row[i] += byte((int(row[i-step]) + int(before[i])) / 2)
	}
}

// predict is the one of left, above and corner that is nearest to left + above - corner.
func predict(left, above, corner int32) int32 {
	a, b := above-corner, left-corner
	c := a + b
	a, b, c = (a^a>>31)-a>>31, (b^b>>31)-b>>31, (c^c>>31)-c>>31
	if b < a {
		a, left = b, above
	}
	if c < a {
		left = corner
	}
	return left
}

func paeth(row, before []byte, step int) {
	for i := range row {
		left, corner := int32(0), int32(0)
		if i >= step {
			left, corner = int32(row[i-step]), int32(before[i-step])
		}
		row[i] += byte(predict(left, int32(before[i]), corner))
	}
}

func paeth3(row, before []byte) {
	var l0, l1, l2, c0, c1, c2 int32
	for ; len(row) >= 3 && len(before) >= 3; row, before = row[3:], before[3:] {
		a0, a1, a2 := int32(before[0]), int32(before[1]), int32(before[2])
		l0 = (int32(row[0]) + predict(l0, a0, c0)) & 255
		l1 = (int32(row[1]) + predict(l1, a1, c1)) & 255
		l2 = (int32(row[2]) + predict(l2, a2, c2)) & 255
		row[0], row[1], row[2] = byte(l0), byte(l1), byte(l2)
		c0, c1, c2 = a0, a1, a2
	}
}

func paeth4(row, before []byte) {
	var l0, l1, l2, l3, c0, c1, c2, c3 int32
	for ; len(row) >= 4 && len(before) >= 4; row, before = row[4:], before[4:] {
		a0, a1, a2, a3 := int32(before[0]), int32(before[1]), int32(before[2]), int32(before[3])
		l0 = (int32(row[0]) + predict(l0, a0, c0)) & 255
		l1 = (int32(row[1]) + predict(l1, a1, c1)) & 255
		l2 = (int32(row[2]) + predict(l2, a2, c2)) & 255
		l3 = (int32(row[3]) + predict(l3, a3, c3)) & 255
		row[0], row[1], row[2], row[3] = byte(l0), byte(l1), byte(l2), byte(l3)
		c0, c1, c2, c3 = a0, a1, a2, a3
	}
}
