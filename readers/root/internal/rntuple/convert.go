package rntuple

import "github.com/shardify/shardify"

// convertible reports whether a field of type dst may be stored as src without
// loss: the same type, a narrower one of its kind, or the other sign of the same
// width (whose bits are taken as they are, as the writer does).
func convertible(dst, src shardify.DType) bool {
	switch {
	case src == shardify.Invalid || dst == shardify.Invalid:
		return false
	case dst == src:
		return true
	case dst.IsFloat() || src.IsFloat():
		return dst.IsFloat() && src.IsFloat() && src.Size() < dst.Size()
	case dst == shardify.Bool:
		return false
	case dst.Size() == src.Size():
		return src != shardify.Bool
	}
	return src.Size() < dst.Size()
}

// sameValues reports that decoded elements of src are values of dst already.
func sameValues(dst, src shardify.DType) bool {
	return dst == src || dst.IsInt() && src.IsInt() && dst.Size() == src.Size()
}
