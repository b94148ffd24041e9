package files

import (
	"bytes"
	"hash/maphash"

	"github.com/shardify/shardify/storage/walk"
)

// stems finds the sample of a file: an open hash table of samples, by the stem of
// their first file.
//
// As long as the folders come in the order of a walk, none of them comes twice, so
// the table holds those of the current folder only and stays in the processor's
// cache. When one comes back (a folder with others in between its files, a list of
// files in any order), all samples go into the table and stay.
type stems struct {
	names *names
	g     *groups
	seed  maphash.Seed
	slots []slot // a power of two long, at most half full
	used  int
	all   bool // holds the samples of all folders
	// The file before.
	space        int
	folder, stem []byte
}

// slot is a sample and half of its hash, so that most others are distinguished
// without a look at their names.
type slot struct {
	hash   uint32
	sample uint32 // + 1; 0 is a free slot
}

// fewSlots is what a table begins with.
const fewSlots = 256

func newStems(n *names, g *groups) *stems {
	return &stems{names: n, g: g, seed: maphash.MakeSeed(), slots: make([]slot, fewSlots), space: -1}
}

// sample returns the sample of file i, a new one if need be. Files come in
// ascending order, and mostly the stem is that of the file before.
func (s *stems) sample(i int, folder, stem []byte) uint32 {
	space := s.names.Roots[s.names.Table.Root(i)].Space
	before := len(folder)
	folder = bytes.TrimLeft(folder, "/") // as stem does
	if space != s.space || !bytes.Equal(folder, s.folder) {
		s.enter(space, folder)
	} else if bytes.Equal(stem, s.stem) {
		return s.g.of[i-1]
	}
	s.stem = stem
	if 2*s.used >= len(s.slots) {
		s.rebuild(2*len(s.slots), s.first())
	}
	whole := s.names.Rel(i)
	whole = bytes.TrimLeft(whole[:before+len(stem)], "/")
	h := s.hash(space, whole)
	at := int(h) & (len(s.slots) - 1)
	for ; s.slots[at].sample != 0; at = (at + 1) & (len(s.slots) - 1) {
		if x := s.slots[at]; x.hash == uint32(h>>32) && s.same(x.sample-1, space, whole) {
			return x.sample - 1
		}
	}
	k := uint32(len(s.g.first))
	s.g.first = append(s.g.first, uint32(i))
	s.slots[at] = slot{uint32(h >> 32), k + 1}
	s.used++
	return k
}

// enter begins a folder.
func (s *stems) enter(space int, folder []byte) {
	c := space - s.space
	if c == 0 {
		c = walk.ComparePaths(folder, s.folder)
	}
	s.space, s.folder, s.stem = space, folder, nil
	switch {
	case s.all:
	case c > 0:
		if 8*s.used < len(s.slots) {
			s.slots = s.slots[:fewSlots] // else this folder may be as large as the last
		}
		clear(s.slots)
		s.used = 0
	default:
		s.all = true
		n := fewSlots
		for n < 4*len(s.g.first) {
			n *= 2
		}
		s.rebuild(n, 0)
	}
}

// first is the first sample in the table.
func (s *stems) first() int {
	if s.all {
		return 0
	}
	return len(s.g.first) - s.used
}

// rebuild makes a table of n slots with all samples from first on.
func (s *stems) rebuild(n, first int) {
	if n <= cap(s.slots) {
		s.slots = s.slots[:n]
		clear(s.slots)
	} else {
		s.slots = make([]slot, n)
	}
	s.used = len(s.g.first) - first
	for k := first; k < len(s.g.first); k++ {
		i := int(s.g.first[k])
		h := s.hash(s.names.Roots[s.names.Table.Root(i)].Space, s.names.Stem(i))
		at := int(h) & (n - 1)
		for s.slots[at].sample != 0 {
			at = (at + 1) & (n - 1)
		}
		s.slots[at] = slot{uint32(h >> 32), uint32(k) + 1}
	}
}

func (s *stems) same(sample uint32, space int, stem []byte) bool {
	j := int(s.g.first[sample])
	return s.names.Roots[s.names.Table.Root(j)].Space == space && bytes.Equal(s.names.Stem(j), stem)
}

func (s *stems) hash(space int, stem []byte) uint64 {
	return maphash.Bytes(s.seed, stem) + uint64(space)*0x9e3779b97f4a7c15
}
