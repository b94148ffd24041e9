package h5

import "math"

// SpaceKind is the kind of a dataspace.
type SpaceKind uint8

const (
	Scalar SpaceKind = 0 // one element
	Simple SpaceKind = 1
	Null   SpaceKind = 2 // no element
)

// Unlimited is the largest size of a dimension without one.
const Unlimited int64 = -1

// Space is a dataspace. Elements x element size is known to fit an int64.
type Space struct {
	Kind    SpaceKind
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

// maxRank bounds the dimensions of a dataspace.
const maxRank = 32

// parseSpace parses a dataspace message.
//
//	v1: u8 1, u8 rank, u8 flags, 5 reserved, sizes, [max sizes: bit 0], [permutation: bit 1]
//	v2: u8 2, u8 rank, u8 flags, u8 kind, sizes, [max sizes: bit 0]
func (f *MetaFile) parseSpace(b []byte, at int64) (Space, error) {
	d := f.decode(b, at, "dataspace")
	version, rank, flags, kind := d.u8(), int(d.u8()), d.u8(), d.u8()
	s := Space{Kind: Simple}
	switch version {
	case 1:
		d.skip(4)
		if rank == 0 {
			s.Kind = Scalar
		}
	case 2:
		s.Kind = SpaceKind(kind)
		if s.Kind > Null || s.Kind != Simple && rank != 0 {
			return s, d.corrupt("kind %d of rank %d", kind, rank)
		}
	default:
		return s, d.corruptAt(0, "version is %d", version)
	}
	if rank > maxRank {
		return s, d.corrupt("rank %d", rank)
	}
	if s.Kind != Simple {
		return s, d.err()
	}
	s.Dims, s.MaxDims = make([]int64, rank), make([]int64, rank)
	for i := range s.Dims {
		v := d.length()
		if v > math.MaxInt64 {
			return s, d.corrupt("size %d", v)
		}
		s.Dims[i] = int64(v)
	}
	copy(s.MaxDims, s.Dims)
	if flags&1 != 0 {
		for i := range s.MaxDims {
			v := d.length()
			switch {
			case v == math.MaxUint64>>(64-8*f.LengthSize):
				s.MaxDims[i] = Unlimited
			case v > math.MaxInt64 || int64(v) < s.Dims[i]:
				return s, d.corrupt("size %d, at most %d", s.Dims[i], v)
			default:
				s.MaxDims[i] = int64(v)
			}
		}
	}
	if err := d.err(); err != nil {
		return s, err
	}
	if _, ok := s.bytes(1); !ok {
		return s, d.corrupt("sizes %v overflow", s.Dims)
	}
	return s, nil
}

// bytes is the size of the elements; ok is false when it exceeds an int64.
func (s *Space) bytes(element int) (n int64, ok bool) {
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
		if n, ok = mulFits(n, d); !ok {
			return 0, false
		}
	}
	return n, true
}
