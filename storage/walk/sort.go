package walk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// sort puts the entries into natural order.
func (l *listing) sort() {
	if at, ok := l.numbered(); ok {
		l.sortAlike(at)
		return
	}
	slices.SortFunc(l.entries, func(a, b entry) int { return natural(l.bytes(a), l.bytes(b)) })
}

func (l *listing) bytes(e entry) []byte { return l.names[e.off : e.off+uint32(e.size)] }

// numbered reports whether the names differ only in characters at the place of a letter or of a digit,
// as those of numbered files do, and from which byte on they differ. Their natural order is then
// that of their bytes.
func (l *listing) numbered() (at int, ok bool) {
	if len(l.entries) < 2 {
		return 0, false
	}
	first := l.bytes(l.entries[0])
	at = len(first)
	for _, e := range l.entries[1:] {
		name := l.bytes(e)
		if len(name) != len(first) {
			return 0, false
		}
		k := firstDifference(name, first)
		at = min(at, k)
		for ; k < len(name); k++ {
			if digit(name[k]) != digit(first[k]) {
				return 0, false
			}
		}
	}
	return at, true
}

// keyed is an entry with the eight bytes that decide its place, mostly.
type keyed struct {
	key uint64
	entry
}

// sortAlike sorts names of one length by their bytes from at on.
func (l *listing) sortAlike(at int) {
	list := make([]keyed, len(l.entries))
	var key [8]byte
	for i, e := range l.entries {
		clear(key[copy(key[:], l.bytes(e)[at:]):])
		list[i] = keyed{binary.BigEndian.Uint64(key[:]), e}
	}
	slices.SortFunc(list, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return bytes.Compare(l.bytes(a.entry), l.bytes(b.entry))
	})
	for i := range list {
		l.entries[i] = list[i].entry
	}
}
