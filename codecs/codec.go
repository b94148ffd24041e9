// Package codecs decodes whole buffers of the compressions that more than one
// file format stores. deflate has its own package, inflate.
//
//	n, err := codec.Zstd(dst, src)
//
// Every function has the same contract. len(dst) is the exact decoded size, known
// from the format around the data: fewer or more bytes are an error. All of src
// belongs to the data. dst and src do not overlap; dst is never grown, nor is a
// byte behind its length written, and its content after an error is undefined.
// Errors wrap shardify.ErrCorrupt, or shardify.ErrUnsupported for valid data in a
// form that is not decoded. Memory beside dst is bounded by a constant plus a
// small multiple of the input, whatever the input says. All are safe to call
// concurrently.
//
// n is the number of bytes decoded: len(dst) without an error, else how far it
// came as far as that is known.
package codecs

import "github.com/shardify/shardify"

// size checks that n bytes were decoded, as many as dst holds.
func size(codec string, n int, dst []byte) (int, error) {
	if n != len(dst) {
		return n, shardify.Corrupt(-1, "%s: decoded to %d bytes, not %d", codec, n, len(dst))
	}
	return n, nil
}

// damaged names the codec in front of what a library said.
func damaged(codec string, n int, err error) (int, error) {
	return n, shardify.Corrupt(-1, "%s: %v", codec, err)
}
