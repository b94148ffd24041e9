package tfrecord

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/protowire"
)

// Kind is what the values of a feature are: the number of its field.
type Kind uint8

// The kinds.
const (
	None   Kind = iota // a feature without a kind, which is a missing value
	Bytes              // text, images, any bytes
	Floats             // f32
	Ints               // i64
)

// String is the name of the kind.
func (k Kind) String() string { return [...]string{"none", "bytes", "f32", "i64"}[k&3] }

const highBits = 0x8080808080808080

func eight(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// Value is the values of a feature. Its methods may be used until the record goes.
type Value struct {
	Kind  Kind
	Count int // of values
	Size  int // bytes of all of them, if they are Bytes

	flat []byte // the packed numbers, or the one value, where it is nothing else
	one  bool   // flat counts
	list []byte // else the feature's fields from the first of the kind on
}

// Parse reads the message of a feature, and checks all of it.
func (v *Value) Parse(b []byte) error {
	*v = Value{}
	if v.quick(b) {
		return nil
	}
	f := protowire.Fields{B: b}
	for begin := 0; f.Next(); begin = f.I {
		if f.Wire != protowire.Bytes || f.Num < 1 || f.Num > 3 {
			continue
		}
		if k := Kind(f.Num); k != v.Kind { // of a oneof the last one counts; equal kinds are joined
			v.Kind, v.Count, v.Size, v.list = k, 0, 0, b[begin:]
		}
		if err := v.add(f.Val); err != nil {
			return shifted(err, f.I-len(f.Val))
		}
	}
	return f.Err
}

// quick reads the form that almost all features have: one list, in it one field.
func (v *Value) quick(b []byte) bool {
	if len(b) < 2 || b[0] != 0x0a && b[0] != 0x12 && b[0] != 0x1a {
		return false
	}
	k := Kind(b[0] >> 3)
	list, ok := rest(b[1:])
	if !ok {
		return false
	}
	if len(list) == 0 {
		v.Kind, v.one = k, true
		return true
	}
	if list[0] != 0x0a {
		return false
	}
	p, ok := rest(list[1:])
	if !ok {
		return false
	}
	n := 1
	switch k {
	case Floats:
		if n = len(p) / 4; len(p)%4 != 0 {
			return false
		}
	case Ints:
		var err error
		if n, err = numbers(p); err != nil {
			return false
		}
	}
	v.Kind, v.Count, v.Size, v.flat, v.one = k, n, len(p), p, true
	return true
}

// rest is what follows a length in b, if that is the length of it.
func rest(b []byte) ([]byte, bool) {
	if len(b) > 0 && b[0] < 0x80 {
		return b[1:], int(b[0]) == len(b)-1
	}
	n, k := binary.Uvarint(b)
	if k <= 0 || n != uint64(len(b)-k) {
		return nil, false
	}
	return b[k:], true
}

// add counts the values of a list.
func (v *Value) add(b []byte) error {
	f := protowire.Fields{B: b}
	for f.Next() {
		if f.Num != 1 {
			continue
		}
		switch {
		case v.Kind == Bytes && f.Wire == protowire.Bytes:
			v.Count++
			v.Size += len(f.Val)
		case v.Kind == Floats && f.Wire == protowire.Fixed32, v.Kind == Ints && f.Wire == protowire.Varint:
			v.Count++
		case v.Kind == Floats && f.Wire == protowire.Bytes:
			if len(f.Val)%4 != 0 {
				return shardify.Corrupt(int64(f.I-len(f.Val)), "packed floats of %d bytes", len(f.Val))
			}
			v.Count += len(f.Val) / 4
		case v.Kind == Ints && f.Wire == protowire.Bytes:
			n, err := numbers(f.Val)
			if err != nil {
				return shardify.Amend(err, func(e *shardify.Error) { e.Offset = int64(f.I - len(f.Val)) })
			}
			v.Count += n
		default:
			return shardify.Corrupt(int64(f.I), "wire type %d in a list of %s", f.Wire, v.Kind)
		}
	}
	return f.Err
}

// each calls do for each part of the values: packed numbers, one float, one value of bytes; or one
// number in n.
func (v *Value) each(do func(packed []byte, n uint64, one bool)) {
	if v.one {
		if v.Count > 0 {
			do(v.flat, 0, false)
		}
		return
	}
	for f := (protowire.Fields{B: v.list}); f.Next(); {
		if f.Wire != protowire.Bytes || Kind(f.Num) != v.Kind {
			continue
		}
		for in := (protowire.Fields{B: f.Val}); in.Next(); {
			if in.Num == 1 {
				do(in.Val, in.N, in.Wire == protowire.Varint)
			}
		}
	}
}

// Each calls do for each value of Bytes.
func (v *Value) Each(do func(b []byte)) {
	for w := v.Walk(); w.Next(); {
		do(w.Val)
	}
}

// Walk goes through the values of Bytes, or the features of a list, as far as it is asked to.
type Walk struct {
	Val []byte
	Err error // of a list

	only      bool // the first value was not asked for, which is Val
	kind      Kind
	outer, in protowire.Fields
}

// Walk begins before the first value of Bytes.
func (v *Value) Walk() Walk {
	if v.one {
		return Walk{Val: v.flat, only: v.Count > 0}
	}
	return Walk{kind: v.Kind, outer: protowire.Fields{B: v.list}}
}

// WalkList begins before the first feature of a list of features.
func WalkList(b []byte) Walk { return Walk{in: protowire.Fields{B: b}} }

// Next goes to the next one; false at the end, or with Err set.
func (w *Walk) Next() bool {
	if w.only {
		w.only = false
		return true
	}
	for {
		for w.in.Next() {
			if w.in.Num == 1 && w.in.Wire == protowire.Bytes {
				w.Val = w.in.Val
				return true
			}
		}
		if w.Err = w.in.Err; w.Err != nil || !w.outer.Next() {
			return false
		}
		if w.outer.Wire == protowire.Bytes && Kind(w.outer.Num) == w.kind {
			w.in = protowire.Fields{B: w.outer.Val}
		}
	}
}

// Only is a Value of Bytes with one value.
func Only(b []byte) Value { return Value{Kind: Bytes, Count: 1, Size: len(b), flat: b, one: true} }

// First is the first value of Bytes, nil without one.
func (v *Value) First() (first []byte) {
	if v.one {
		return v.flat
	}
	v.Each(func(b []byte) {
		if first == nil {
			first = b
		}
	})
	return first
}

// PutFloats writes the values of Floats to dst, which has 4 bytes for each.
func (v *Value) PutFloats(dst []byte) {
	if v.one {
		copy(dst, v.flat)
		return
	}
	v.each(func(b []byte, _ uint64, _ bool) { dst = dst[copy(dst, b):] })
}

// PutInts writes the values of Ints to dst, which has 8 bytes for each.
func (v *Value) PutInts(dst []byte) {
	if v.one {
		unpackInts(dst, v.flat)
		return
	}
	v.each(func(b []byte, n uint64, one bool) {
		if one {
			binary.LittleEndian.PutUint64(dst, n)
			dst = dst[8:]
			return
		}
		dst = dst[unpackInts(dst, b):]
	})
}

// unpackInts writes packed numbers, of which numbers has approved.
func unpackInts(dst, b []byte) int {
	at := 0
	for i := 0; i < len(b); {
		if i+8 <= len(b) && eight(b[i:])&highBits == 0 {
			for _, c := range b[i : i+8] {
				binary.LittleEndian.PutUint64(dst[at:], uint64(c))
				at += 8
			}
			i += 8
			continue
		}
		v, s := uint64(0), 0
		for ; b[i] >= 0x80; i++ {
			v |= uint64(b[i]&0x7f) << s
			s += 7
		}
		v |= uint64(b[i]) << s
		i++
		binary.LittleEndian.PutUint64(dst[at:], v)
		at += 8
	}
	return at
}

// Steps calls do for each feature of a list of features.
func Steps(b []byte, do func(feature []byte) error) error {
	w := WalkList(b)
	for w.Next() {
		if err := do(w.Val); err != nil {
			return shifted(err, w.in.I-len(w.Val))
		}
	}
	return w.Err
}
