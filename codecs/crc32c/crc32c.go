package crc32c

import (
	"encoding/binary"
	"hash/crc32"
)

var table = crc32.MakeTable(crc32.Castagnoli)

// block is what is folded at once.
const block = 256

// least is from how many bytes folding is worth it, most how many one call folds, which cannot be
// interrupted.
const least, most = 16 << 10, 1 << 20

// factors move the halves of 16 bytes by a block.
var factors = [2]uint64{power(8*block + 32), power(8*block - 32)}

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
	if !wide || len(b) < least {
		return crc32.Update(sum, table, b)
	}
	// A block that has the same remainder as all bytes up to it.
	var state [block]byte
	copy(state[:], b)
	binary.LittleEndian.PutUint32(state[:], binary.LittleEndian.Uint32(state[:])^^sum)
	for b = b[block:]; len(b) >= block; {
		n := min(len(b)&^(block-1), most)
		fold(&state, &b[0], n, &factors)
		b = b[n:]
	}
	return crc32.Update(^remainder(&state), table, b)
}
