package dataset

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
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
	if err == nil && k.MemberMax > 0 && len(key)+1+k.MemberMax > index.MaxTarName {
		err = shardify.Mismatch("key %q is %d bytes long, with a dot and a member's name of %d it exceeds %d: shorten the field's name",
			key, len(key), k.MemberMax, index.MaxTarName)
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
