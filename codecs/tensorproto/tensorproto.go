// Package tensorproto reads TensorProto of TensorFlow, as tf.io.serialize_tensor and tf.make_tensor_proto write it.
//
//	t, err := tensorproto.Open(message)
//	values, err := t.Append(nil) // of t.DType(), in rows, as t.Shape() says
//
// The values are one piece of bytes, as they are in memory, or lists of numbers, whose last one stands for all that
// follow.
package tensorproto

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/protowire"
)

// Tensor is one tensor. Its values are part of the message.
type Tensor struct {
	dtype   shardify.DType
	shape   []int
	bytes   int64
	content []byte
	values  []byte // little-endian, of numbers that come one by one
}

// kind is a type of TensorFlow: ours, and the field that has numbers of it one by one.
type kind struct {
	dtype shardify.DType
	field uint32
}

// kinds are those that arrays have. A bool is a byte.
var kinds = map[uint64]kind{
	1: {shardify.F32, 5}, 2: {shardify.F64, 6}, 3: {shardify.I32, 7}, 4: {shardify.U8, 7}, 5: {shardify.I16, 7}, 6: {shardify.I8, 7}, 9: {shardify.I64, 10},
	10: {shardify.U8, 11}, 14: {shardify.BF16, 13}, 17: {shardify.U16, 7}, 19: {shardify.F16, 13}, 22: {shardify.U32, 16}, 23: {shardify.U64, 17},
}

const (
	maxDims = 64
	isBool  = 10
)

// DType is the type of the values.
func (t *Tensor) DType() shardify.DType { return t.dtype }

// Shape is that of the array.
func (t *Tensor) Shape() []int { return t.shape }

// Open reads a message, and checks that its values are as many as its shape says.
func Open(message []byte) (*Tensor, error) {
	t, code := &Tensor{}, uint64(0)
	f := protowire.Fields{B: message}
	for f.Next() {
		switch {
		case f.Num == 1 && f.Wire == protowire.Varint:
			code = f.N
		case f.Num == 2 && f.Wire == protowire.Bytes:
			if err := t.dims(f.Val); err != nil {
				return nil, err
			}
		case f.Num == 4 && f.Wire == protowire.Bytes:
			t.content = f.Val
		}
	}
	if f.Err != nil {
		return nil, f.Err
	}
	k, ok := kinds[code]
	if !ok {
		return nil, shardify.Unsupported("a tensor of type %d of TensorFlow, which is no number", code)
	}
	t.dtype = k.dtype
	n := uint64(1)
	for _, d := range t.shape {
		over := uint64(0)
		if over, n = bits.Mul64(n, uint64(d)); over > 0 || n > 1<<40 {
			return nil, shardify.Corrupt(-1, "a tensor of shape %v", t.shape)
		}
	}
	if t.bytes = int64(n) * int64(t.dtype.Size()); len(t.content) == 0 && n > 0 {
		if err := t.list(message, k); err != nil {
			return nil, err
		}
	} else if int64(len(t.content)) != t.bytes {
		return nil, shardify.Corrupt(-1, "a tensor of %d bytes, its shape %v of %v says %d", len(t.content), t.shape, t.dtype, t.bytes)
	}
	if code == isBool && (slices.ContainsFunc(t.content, aboveOne) || slices.ContainsFunc(t.values, aboveOne)) {
		return nil, shardify.Corrupt(-1, "a bool that is neither 0 nor 1")
	}
	return t, nil
}

func aboveOne(b byte) bool { return b > 1 }

// dims reads the shape.
func (t *Tensor) dims(b []byte) error {
	f := protowire.Fields{B: b}
	for f.Next() {
		switch {
		case f.Num == 2 && f.Wire == protowire.Bytes:
			size := uint64(0)
			d := protowire.Fields{B: f.Val}
			for d.Next() {
				if d.Num == 1 && d.Wire == protowire.Varint {
					size = d.N
				}
			}
			if d.Err != nil {
				return d.Err
			}
			if size > 1<<40 || len(t.shape) == maxDims {
				return shardify.Corrupt(-1, "a tensor with a dimension of %d, or more than %d of them", int64(size), maxDims)
			}
			t.shape = append(t.shape, int(size))
		case f.Num == 3 && f.Wire == protowire.Varint && f.N != 0:
			return shardify.Unsupported("a tensor of unknown rank")
		}
	}
	return f.Err
}

// list reads numbers that come one by one, packed or not. There are at least one and at most as many as the shape says.
func (t *Tensor) list(message []byte, k kind) error {
	size, fits := t.dtype.Size(), true
	put := func(v uint64) {
		t.values = binary.LittleEndian.AppendUint64(t.values, v)[:len(t.values)+size]
		rest := 64 - 8*size
		signed := t.dtype == shardify.I8 || t.dtype == shardify.I16 || t.dtype == shardify.I32
		fits = fits && (v<<rest>>rest == v || signed && uint64(int64(v<<rest)>>rest) == v)
	}
	fixed := k.field == 5 || k.field == 6
	f := protowire.Fields{B: message}
	for f.Next() {
		switch {
		case f.Num != k.field:
		case fixed && (f.Wire == protowire.Bytes || f.Wire == protowire.Fixed32 && size == 4 || f.Wire == protowire.Fixed64 && size == 8):
			if len(f.Val)%size != 0 {
				return shardify.Corrupt(-1, "numbers of %d bytes in a tensor of %v", len(f.Val), t.dtype)
			}
			t.values = append(t.values, f.Val...)
		case !fixed && f.Wire == protowire.Varint:
			put(f.N)
		case !fixed && f.Wire == protowire.Bytes:
			for rest := f.Val; len(rest) > 0; {
				v, n := binary.Uvarint(rest)
				if n <= 0 {
					return shardify.Corrupt(-1, "a number of a tensor is cut")
				}
				put(v)
				rest = rest[n:]
			}
		default:
			return shardify.Corrupt(-1, "values of another kind in a tensor of %v", t.dtype)
		}
	}
	if !fits {
		return shardify.Corrupt(-1, "a number that is no %v", t.dtype)
	}
	if n := int64(len(t.values)); n == 0 || n > t.bytes {
		return shardify.Corrupt(-1, "%d values in a tensor of shape %v", n/int64(size), t.shape)
	}
	return f.Err
}

// maxGrown bounds what few numbers of a message make.
const maxGrown = 1 << 30

// Append appends the values to b.
func (t *Tensor) Append(b []byte) ([]byte, error) {
	if t.values == nil {
		return append(b, t.content...), nil
	}
	if t.bytes > maxGrown && int64(len(t.values)) < t.bytes {
		return b, shardify.Unsupported("a tensor of shape %v of which %d bytes are there", t.shape, len(t.values))
	}
	b = append(b, t.values...)
	last := t.values[len(t.values)-t.dtype.Size():]
	for n := int64(len(t.values)); n < t.bytes; n += int64(len(last)) {
		b = append(b, last...)
	}
	return b, nil
}
