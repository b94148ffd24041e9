package h5

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
