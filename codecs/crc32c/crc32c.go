package crc32c

import "hash/crc32"

var table = crc32.MakeTable(crc32.Castagnoli)

// most is how many bytes one call sums, which cannot be interrupted.
const most = 1 << 20

// factors move the halves of 16 bytes by a number of bytes: those of all four parts of a register, then those of each part.
var factors = func() (f [16]uint64) {
	for i, bytes := range []int{256, 192, 128, 64, 48, 32, 16} {
		f[2*i], f[2*i+1] = power(8*bytes+32), power(8*bytes-32)
	}
	return f
}()

// power is x to the n, modulo the polynomial, as instructions that multiply without carry want it
// of reflected numbers.
func power(n int) uint64 {
	r := uint32(1) << 31 // x to the 0, reflected
	for range n {
		r = r>>1 ^ crc32.Castagnoli*(r&1)
	}
	return uint64(r) << 1
}

// Update adds bytes to a sum; 0 is that of none.
func Update(sum uint32, b []byte) uint32 {
	if !wide {
		return crc32.Update(sum, table, b)
	}
	for sum = ^sum; len(b) > 0; {
		n := min(len(b), most)
		sum = update(sum, &b[0], n, &factors)
		b = b[n:]
	}
	return ^sum
}
