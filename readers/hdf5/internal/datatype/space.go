package datatype

import (
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"math"
)

// spaceKind is the kind of a dataspace.
type spaceKind uint8

// Kinds of data spaces.
const (
	scalar spaceKind = 0 // one element
	Simple spaceKind = 1
	Null   spaceKind = 2 // no element
)

// Unlimited is the largest size of a dimension without one.
const Unlimited int64 = -1

// Space is a dataspace. Elements x element size is known to fit an int64.
type Space struct {
	Kind    spaceKind
	Dims    []int64
	MaxDims []int64 // as long as Dims
}

// Rank is the number of dimensions.
func (s *Space) Rank() int { return len(s.Dims) }

// Elements is the number of elements; 1 for a scalar, 0 for null.
func (s *Space) Elements() int64 {
	if s.Kind == Null {
		return 0
	}
	n := int64(1)
	for _, d := range s.Dims {
		n *= d
	}
	return n
}

// MaxRank bounds the dimensions of a dataspace.
const MaxRank = 32

// ParseSpace parses a dataspace message.
//
//	v1: u8 1, u8 rank, u8 flags, 5 reserved, sizes, [max sizes: bit 0], [permutation: bit 1]
//	v2: u8 2, u8 rank, u8 flags, u8 kind, sizes, [max sizes: bit 0]
func ParseSpace(f *meta.File, b []byte, at int64) (Space, error) {
	d := f.Decode(b, at, "dataspace")
	version, rank, flags, kind := d.U8(), int(d.U8()), d.U8(), d.U8()
	s := Space{Kind: Simple}
	switch version {
	case 1:
		d.Skip(4)
		if rank == 0 {
			s.Kind = scalar
		}
	case 2:
		s.Kind = spaceKind(kind)
		if s.Kind > Null || s.Kind != Simple && rank != 0 {
			return s, d.Corrupt("kind %d of rank %d", kind, rank)
		}
	default:
		return s, d.CorruptAt(0, "version is %d", version)
	}
	if rank > MaxRank {
		return s, d.Corrupt("rank %d", rank)
	}
	if s.Kind != Simple {
		return s, d.Err()
	}
	s.Dims, s.MaxDims = make([]int64, rank), make([]int64, rank)
	for i := range s.Dims {
		v := d.Length()
		if v > math.MaxInt64 {
			return s, d.Corrupt("size %d", v)
		}
		s.Dims[i] = int64(v)
	}
	copy(s.MaxDims, s.Dims)
	if flags&1 != 0 {
		for i := range s.MaxDims {
			v := d.Length()
			switch {
			case v == math.MaxUint64>>(64-8*f.LengthSize):
				s.MaxDims[i] = Unlimited
			case v > math.MaxInt64 || int64(v) < s.Dims[i]:
				return s, d.Corrupt("size %d, at most %d", s.Dims[i], v)
			default:
				s.MaxDims[i] = int64(v)
			}
		}
	}
	if err := d.Err(); err != nil {
		return s, err
	}
	if _, ok := s.Bytes(1); !ok {
		return s, d.Corrupt("sizes %v overflow", s.Dims)
	}
	return s, nil
}

// Bytes is the size of the elements; ok is false when it exceeds an int64.
func (s *Space) Bytes(element int) (n int64, ok bool) {
	if s.Kind == Null {
		return 0, true
	}
	n = int64(element)
	for _, d := range s.Dims {
		if d == 0 {
			return 0, true
		}
	}
	for _, d := range s.Dims {
		if n, ok = meta.Product(n, d); !ok {
			return 0, false
		}
	}
	return n, true
}
