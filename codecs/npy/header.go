package npy

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

const (
	// Magic begins every file.
	Magic = "\x93NUMPY"
	// PrefixBytes hold magic, version and the longer form of the header's length.
	PrefixBytes = 12
	// MaxHeader is our bound on headers: 4,000 fields take 90 kB.
	MaxHeader = 1 << 20
	// MaxRank is our bound on axes.
	MaxRank = 64
)

// Header is what comes before the elements of an array.
type Header struct {
	Bytes   int // where the elements begin
	Item    Type
	Fortran bool // columns first; false where that makes no difference
	Shape   []int64
	Data    int64  // bytes of all elements
	Axis    int    // in the file, of the one that shape begins with: 0 if turning is all
	before  string // what String was before along
}

// HeaderBytes returns from the first bytes of an NPY file, PrefixBytes of them or the whole
// file, how many bytes the header takes.
func HeaderBytes(b []byte) (int, error) {
	if len(b) < len(Magic) || string(b[:len(Magic)]) != Magic {
		return 0, shardify.Corrupt(0, "not an NPY file")
	}
	if len(b) < 8 {
		return 0, shardify.Corrupt(int64(len(b)), "truncated: the header ends after %d bytes", len(b))
	}
	wide := b[6] > 1
	if b[6] < 1 || b[6] > 3 || b[7] != 0 {
		return 0, shardify.Unsupported("NPY version %d.%d", b[6], b[7])
	}
	if len(b) < 10 || wide && len(b) < PrefixBytes {
		return 0, shardify.Corrupt(int64(len(b)), "truncated: the header ends after %d bytes", len(b))
	}
	start, n := 10, int64(binary.LittleEndian.Uint16(b[8:]))
	if wide {
		start, n = PrefixBytes, int64(binary.LittleEndian.Uint32(b[8:]))
	}
	if n > MaxHeader {
		return 0, shardify.Corrupt(8, "header of %d bytes, at most %d are read", n, MaxHeader)
	}
	return start + int(n), nil
}

// ParseHeader reads a header of exactly len(b) bytes.
func ParseHeader(b []byte) (Header, error) {
	h := Header{Bytes: len(b)}
	start := 10
	if b[6] > 1 {
		start = PrefixBytes
	}
	l := &literal{s: b[start:], base: start, latin: b[6] < 3}
	v, err := l.whole()
	if err != nil {
		return h, err
	}
	if v.kind != isDict {
		return h, l.fail(v.at, "is %s, not a dict", kindNames[v.kind])
	}
	keys := map[string]*value{"descr": nil, "fortran_order": nil, "shape": nil}
	for i := 0; i < len(v.items); i += 2 {
		k := &v.items[i]
		old, known := keys[k.text]
		if k.kind != isString || !known {
			return h, l.fail(k.at, "unknown key %q", clip(k.text, 20))
		}
		if old != nil {
			return h, l.fail(k.at, "key %s is there twice", k.text)
		}
		keys[k.text] = &v.items[i+1]
	}
	for _, k := range []string{"descr", "fortran_order", "shape"} {
		if keys[k] == nil {
			return h, l.fail(v.at, "key %s is missing", k)
		}
	}
	if err := h.readShape(l, keys["shape"]); err != nil {
		return h, err
	}
	order := keys["fortran_order"]
	if order.kind != isBool {
		return h, l.fail(order.at, "fortran_order is %s", kindNames[order.kind])
	}
	h.Fortran = order.num == 1 && len(h.Shape) > 1
	if h.Item, err = (&typeParser{lit: l}).parse(*keys["descr"]); err != nil {
		return h, err
	}
	return h, h.Measure()
}

func (h *Header) readShape(l *literal, v *value) error {
	if v.kind != isTuple {
		return l.fail(v.at, "shape is %s, not a tuple", kindNames[v.kind])
	}
	if len(v.items) > MaxRank {
		return l.fail(v.at, "shape has %d dimensions", len(v.items))
	}
	for _, d := range v.items {
		if d.kind != isInt {
			return l.fail(d.at, "shape has %s", kindNames[d.kind])
		}
		if d.num < 0 {
			return l.fail(d.at, "shape has the negative dimension %d", d.num)
		}
		h.Shape = append(h.Shape, d.num)
	}
	return nil
}

// Measure finds the bytes of the elements and refuses shapes that overflow,
// or that promise values which take no bytes.
func (h *Header) Measure() error {
	n, zero := int64(1), false
	for _, d := range h.Shape {
		if d == 0 {
			zero = true
			continue
		}
		if n > math.MaxInt64/d {
			return shardify.Corrupt(-1, "shape overflow: %s", h.dims())
		}
		n *= d
	}
	size := int64(max(h.Item.Size, 1))
	if n > math.MaxInt64/4/size {
		return shardify.Corrupt(-1, "shape overflow: %s of %d bytes each", h.dims(), h.Item.Size)
	}
	if zero {
		n = 0
	}
	h.Data = n * int64(h.Item.Size)
	for i := range h.Item.Leaves {
		l := &h.Item.Leaves[i]
		if v := int64(l.Values()); l.Scalar.Size == 0 && l.Scalar.IsText() && v > 0 && n > MaxEmpty/v {
			return shardify.Unsupported("%s values that take no bytes", h.dims())
		}
	}
	return nil
}

// Along moves an axis of the shape, which has several, to its front, as numpy.moveaxis does, and
// notes where the file has it.
func (h *Header) Along(axis int) {
	if axis == 0 {
		return
	}
	h.before = fmt.Sprintf("%v along axis %d", h, axis)
	n := h.Shape[axis]
	h.Shape = slices.Insert(slices.Delete(h.Shape, axis, axis+1), 0, n)
	if h.Axis = axis; len(h.Shape) == 2 { // the other order of a matrix
		h.Axis, h.Fortran = 0, !h.Fortran
	}
}

// Inner are the dimensions behind the first.
func (h *Header) Inner() []int64 {
	if len(h.Shape) == 0 {
		return nil
	}
	return h.Shape[1:]
}

// dims writes the shape for messages: [50,7].
func (h *Header) dims() string {
	return strings.ReplaceAll(fmt.Sprint(h.Shape), " ", ",")
}

// String is what messages say of an array: <f4 [50,7].
func (h *Header) String() string {
	if h.before != "" {
		return h.before
	}
	s := clip(h.Item.Text, 60) + " " + h.dims()
	if h.Fortran {
		s += " in Fortran order"
	}
	return s
}
