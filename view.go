package shardify

import "unsafe"

// Number is a type whose memory is exactly its value.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// View reads the bytes as values of T without copying, in the machine's byte
// order (little-endian on every machine shardify supports). It panics when b is
// not aligned to T or not a whole number of values: both are bugs of ours, since
// arenas align every buffer to 64 bytes.
func View[T Number](b []byte) []T {
	var z T
	size := unsafe.Sizeof(z)
	if len(b) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%size != 0 || uintptr(len(b))%size != 0 {
		panic("shardify: View of bytes that are not aligned values")
	}
	return unsafe.Slice((*T)(p), uintptr(len(b))/size)
}

// Bytes is the inverse of View.
func Bytes[T Number](v []T) []byte {
	var z T
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), uintptr(len(v))*unsafe.Sizeof(z))
}

// aligned cuts n bytes beginning at a multiple of 64 out of b, which must be at
// least n+63 long.
func aligned(b []byte, n int) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 63)
	return b[skip : skip+n : skip+n]
}
