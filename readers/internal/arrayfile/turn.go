package arrayfile

import "github.com/shardify/shardify/codecs/voxels"

// turned are the axes of a sample whose first index is the fastest in the file, without those of
// length 1; nil where their order makes no difference.
func (a *Array) turned() (dims []int) {
	if !a.Turn {
		return nil
	}
	for _, d := range a.Shape[:len(a.Shape)-a.Inner] {
		if d == 0 {
			return nil
		}
		if d != 1 {
			dims = append(dims, d)
		}
	}
	if len(dims) < 2 {
		return nil
	}
	return dims
}

const (
	turnBytes = 8 << 20 // of an array are read before they are turned
	turnItems = 64      // of the last axis that are turned together
)

// sample reads a sample whose axes are turned. Values that become longer are turned as they are stored, at the end of
// where they belong, and converted from the first to the last one in place.
func (w *worker) sample(src *feed, a *Array, dims []int, dst []byte) error {
	size, width := a.DType.Size(), a.width()
	if a.Kernel == nil || width > size {
		return w.turn(src, a, dims, dst)
	}
	stored := *a
	stored.Kernel = nil
	tail := dst[len(dst)/size*(size-width):]
	if err := w.turn(src, &stored, dims, tail); err != nil {
		return err
	}
	a.Kernel(dst, tail)
	return nil
}

// turn reads a sample plane by plane along its last axis, which is the slowest in the file, and
// puts several planes at once where they belong.
func (w *worker) turn(src *feed, a *Array, dims []int, dst []byte) error {
	last := dims[len(dims)-1]
	item := len(dst)
	for _, d := range dims {
		item /= d
	}
	plane := len(dst) / last
	each := min(max(turnBytes/plane, 1), turnItems, last)
	w.out = voxels.Grow(w.out, each*plane)
	for from := 0; from < last; from += each {
		n := min(each, last-from)
		out := w.out[:n*plane]
		if err := w.straight(src, a, out); err != nil {
			return err
		}
		voxels.Place(dst, out, dims, item, from, n)
	}
	return nil
}
