package filter

import "github.com/shardify/shardify"

// shuffle is filter 2: all first bytes of the elements, then all second bytes,
// and so on. Bytes that do not fill an element follow as they are.
type shuffle struct{ size int }

func newShuffle(f *Spec, elemSize int) (stage, error) {
	size := elemSize
	if len(f.Client) > 0 {
		size = int(f.Client[0])
	}
	if size <= 0 {
		return nil, shardify.Corrupt(-1, "shuffle: elements of %d bytes", size)
	}
	if size == 1 {
		return identity{}, nil
	}
	return shuffle{size}, nil
}

func (shuffle) encoded(n int) (int, bool) { return n, true }

func (f shuffle) decode(dst, src []byte, _ bool, _ *Scratch) ([]byte, error) {
	if len(src) > len(dst) {
		return nil, shardify.Corrupt(-1, "shuffle: %d bytes, not %d", len(src), len(dst))
	}
	if len(src) < 2*f.size {
		return src, nil
	}
	unshuffle(dst[:len(src)], src, f.size)
	return dst[:len(src)], nil
}
