package sparse

import "github.com/shardify/shardify"

type whole interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// taker copies the numbers [lo, lo+len(to)) of a list to `to`. rising says that each is greater than the one
// before it; bad is the place of the first that is not below width, or -1.
type taker func(to []int32, list []byte, lo, width int) (rising bool, bad int)

var takers = map[shardify.DType]taker{
	shardify.I8: take[int8], shardify.I16: take[int16], shardify.I32: take[int32], shardify.I64: take[int64],
	shardify.U8: take[uint8], shardify.U16: take[uint16], shardify.U32: take[uint32], shardify.U64: take[uint64],
}

func take[I whole](to []int32, list []byte, lo, width int) (rising bool, bad int) {
	from := shardify.View[I](list)[lo:]
	from = from[:len(to)]
	last, falls := int64(-1), int64(0)
	for i, c := range from {
		if uint64(int64(c)) >= uint64(width) {
			return false, i
		}
		v := int64(c)
		falls |= v - last - 1 // negative where v is not above the number before it
		last = v
		to[i] = int32(v)
	}
	return falls >= 0, -1
}

// number is an element as an error shows it.
func number(list []byte, kind shardify.DType, at int) (n int64, huge bool) {
	switch kind {
	case shardify.I8:
		return int64(shardify.View[int8](list)[at]), false
	case shardify.I16:
		return int64(shardify.View[int16](list)[at]), false
	case shardify.I32:
		return int64(shardify.View[int32](list)[at]), false
	case shardify.U8:
		return int64(list[at]), false
	case shardify.U16:
		return int64(shardify.View[uint16](list)[at]), false
	case shardify.U32:
		return int64(shardify.View[uint32](list)[at]), false
	case shardify.U64:
		return int64(shardify.View[uint64](list)[at]), true
	}
	return shardify.View[int64](list)[at], false
}
