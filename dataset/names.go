package dataset

import (
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tar"
)

// KeyCheck applies a sink's rule to names one by one and counts those that break
// it.
type KeyCheck struct {
	MemberMax int // of the longest member name that follows a key and a dot
	Rule      func(key []byte) error
	bad       int64
	first     error
}

// Add checks a name.
func (k *KeyCheck) Add(key []byte) {
	err := k.Rule(key)
	if err == nil && k.MemberMax > 0 && len(key)+1+k.MemberMax > tar.MaxName {
		err = shardify.Mismatch("key %q is %d bytes long, with a dot and a member's name of %d it exceeds %d: shorten the field's name",
			key, len(key), k.MemberMax, tar.MaxName)
	}
	if err != nil {
		if k.bad++; k.first == nil {
			k.first = err
		}
	}
}

// Err is about all names that do not fit, with the first one; nil if all do.
func (k *KeyCheck) Err() error {
	if k.bad > 1 {
		return shardify.Mismatch("%d samples have names that do not fit, the first: %v", k.bad, k.first)
	}
	return k.first
}

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

// Twice sorts the names and returns those that came twice.
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
