package pq

import (
	"encoding/binary"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/guard"
)

// decode reads the thrift structure at the start of b into v, a pointer to a struct
// of package format, and returns its length. io.ErrUnexpectedEOF means that b ends
// before the structure does. What is decoded points into b.
//
// The library allocates what lists claim to hold, so the structure is measured first:
// every length must fit the bytes that follow, and the memory of all lists together a
// multiple of the bytes.
func decode(b []byte, v any) (int, error) {
	w := walker{b: b}
	if err := w.structure(0, kindOther); err != nil {
		return 0, err
	}
	if w.weight > maxGrowth*int64(w.at)+minWeight {
		return 0, shardify.Corrupt(-1, "metadata of %d bytes with lists that take %s", w.at, shardify.FormatSize(w.weight))
	}
	err := guard.Do(func() error {
		var p thrift.CompactProtocol
		return thrift.NewDecoder(p.NewReaderFromBytes(b[:w.at:w.at])).Decode(v)
	})
	if err != nil {
		return 0, shardify.Corrupt(-1, "metadata: %v", err)
	}
	return w.at, nil
}

const (
	maxGrowth = 64
	minWeight = 64 << 10
	maxDepth  = 24
)

// Types of the compact protocol.
const (
	tStop, tTrue, tFalse, tI8, tI16, tI32, tI64, tDouble = 0, 1, 2, 3, 4, 5, 6, 7
	tBinary, tList, tSet, tMap, tStruct                  = 8, 9, 10, 11, 12
)

// kind is what a structure is, as far as the memory of lists goes.
type kind int

const (
	kindOther kind = iota
	kindRowGroup
	kindColumn
)

// Memory of the elements of lists, not less than the sizes of the types in package
// format.
const (
	weightColumn = 1024
	weightGroup  = 256
	weightStruct = 256
	weightOther  = 24
)

// walker measures a structure of the compact protocol.
type walker struct {
	b      []byte
	at     int
	weight int64
}

func (w *walker) byte() (byte, error) {
	if w.at >= len(w.b) {
		return 0, io.ErrUnexpectedEOF
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *walker) uvarint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.at:])
	switch {
	case n == 0:
		return 0, io.ErrUnexpectedEOF
	case n < 0:
		return 0, shardify.Corrupt(-1, "metadata: a number of more than 64 bits")
	}
	w.at += n
	return v, nil
}

func (w *walker) skip(n uint64) error {
	if n > uint64(len(w.b)-w.at) {
		return io.ErrUnexpectedEOF
	}
	w.at += int(n)
	return nil
}

// structure walks to the end of a structure of the kind.
func (w *walker) structure(depth int, k kind) error {
	if depth > maxDepth {
		return shardify.Corrupt(-1, "metadata: structures of more than %d levels", maxDepth)
	}
	id := int64(0)
	for {
		h, err := w.byte()
		if err != nil {
			return err
		}
		if h == tStop {
			return nil
		}
		if h>>4 != 0 {
			id += int64(h >> 4)
		} else {
			u, err := w.uvarint()
			if err != nil {
				return err
			}
			id = int64(u>>1) ^ -int64(u&1)
		}
		in := kindOther
		switch {
		case depth == 0 && id == 4:
			in = kindRowGroup
		case k == kindRowGroup && id == 1:
			in = kindColumn
		}
		if err := w.value(h&15, depth, in, false); err != nil {
			return err
		}
	}
}

func (w *walker) value(t byte, depth int, in kind, listed bool) error {
	switch t {
	case tTrue, tFalse:
		if !listed { // else the value is in the type
			return nil
		}
		return w.skip(1)
	case tI8:
		return w.skip(1)
	case tI16, tI32, tI64:
		_, err := w.uvarint()
		return err
	case tDouble:
		return w.skip(8)
	case tBinary:
		n, err := w.uvarint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case tList, tSet:
		return w.list(depth, in)
	case tMap:
		return w.pairs(depth)
	case tStruct:
		return w.structure(depth+1, in)
	}
	return shardify.Corrupt(-1, "metadata: value of type %d", t)
}

func (w *walker) list(depth int, in kind) error {
	if depth > maxDepth {
		return shardify.Corrupt(-1, "metadata: lists of more than %d levels", maxDepth)
	}
	h, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(h >> 4)
	if n == 15 {
		if n, err = w.uvarint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.b)-w.at) { // an element takes a byte at least
		return io.ErrUnexpectedEOF
	}
	t := h & 15
	w.weight += int64(n) * weightOf(t, in)
	for range n {
		if err := w.value(t, depth+1, in, true); err != nil {
			return err
		}
	}
	return nil
}

func weightOf(t byte, in kind) int64 {
	switch {
	case t != tStruct:
		return weightOther
	case in == kindColumn:
		return weightColumn
	case in == kindRowGroup:
		return weightGroup
	}
	return weightStruct
}

func (w *walker) pairs(depth int) error {
	n, err := w.uvarint()
	if err != nil || n == 0 {
		return err
	}
	t, err := w.byte()
	if err != nil {
		return err
	}
	if n > uint64(len(w.b)-w.at) {
		return io.ErrUnexpectedEOF
	}
	w.weight += int64(n) * 2 * weightStruct
	for range n {
		if err := w.value(t>>4, depth+1, kindOther, true); err != nil {
			return err
		}
		if err := w.value(t&15, depth+1, kindOther, true); err != nil {
			return err
		}
	}
	return nil
}
