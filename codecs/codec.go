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
