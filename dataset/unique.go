package dataset

import (
	"slices"

	"github.com/zeebo/xxh3"
)

// Unique finds names that come twice, in 8 bytes each.
type Unique struct{ hashes []uint64 }

// Add takes a name.
func (u *Unique) Add(name []byte) { u.hashes = append(u.hashes, xxh3.Hash(name)) }

// Repeated are names that may have come twice: all that did, and very rarely another.
type Repeated map[uint64]struct{}

// Has reports whether a name may have come twice.
func (r Repeated) Has(name []byte) bool {
	_, ok := r[xxh3.Hash(name)]
	return ok
}

// Twice sorts the names and tells.
func (u *Unique) Twice() Repeated {
	slices.Sort(u.hashes)
	var r Repeated
	for i := 1; i < len(u.hashes); i++ {
		if u.hashes[i] != u.hashes[i-1] {
			continue
		}
		if r == nil {
			r = Repeated{}
		}
		r[u.hashes[i]] = struct{}{}
	}
	return r
}
