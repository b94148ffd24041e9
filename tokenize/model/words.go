package model

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// shortWord is the length up to which a word is two numbers and its length.
const shortWord = 16

// words finds the id of words that are one token.
type words struct {
	slots []wordSlot // open addressing; short words
	shift uint
	long  map[string]int32
}

type wordSlot struct {
	a, b uint64
	id   int32
	n    int32 // length, 0 is an empty slot
}

func newWords(n int) words {
	size := 1 << bits.Len(uint(2*n))
	return words{slots: make([]wordSlot, size), shift: uint(64 - bits.TrailingZeros(uint(size))), long: map[string]int32{}}
}

// add puts a word in that is not there yet.
func (t *words) add(w []byte, id int32) {
	if len(w) > shortWord {
		t.long[string(w)] = id
		return
	}
	a, b := twoWords(w)
	i := hashOf(a, b, len(w)) >> t.shift
	for t.slots[i].n != 0 {
		i = (i + 1) & uint64(len(t.slots)-1)
	}
	t.slots[i] = wordSlot{a, b, id, int32(len(w))}
}

// find finds a word of 1 to shortWord bytes, by its two numbers and their hash; -1 if it is not there.
func (t *words) find(a, b, hash uint64, n int) int32 {
	slots := t.slots
	for i := hash >> t.shift; ; i++ {
		s := &slots[i&uint64(len(slots)-1)]
		if s.a == a && s.b == b && int(s.n) == n {
			return s.id
		}
		if s.n == 0 {
			return -1
		}
	}
}

// twoWords are the numbers that say with its length what a word of up to 16 bytes is.
func twoWords(w []byte) (a, b uint64) {
	n := len(w)
	switch {
	case n >= 8:
		return binary.LittleEndian.Uint64(w), binary.LittleEndian.Uint64(w[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(w)) | uint64(binary.LittleEndian.Uint32(w[n-4:]))<<32, 0
	case n > 0:
		return uint64(w[0]) | uint64(w[n>>1])<<8 | uint64(w[n-1])<<16, 0
	}
	return 0, 0
}

// The hash begins elsewhere in each process, so that no text can be made that is slow.
var hashA, hashB = hashSeeds()

func hashSeeds() (a, b uint64) {
	seed := maphash.MakeSeed()
	return maphash.String(seed, "a"), maphash.String(seed, "b")
}

func hashOf(a, b uint64, n int) uint64 {
	hi, lo := bits.Mul64(a^hashA, b^hashB^uint64(n))
	hi, lo = bits.Mul64(hi^lo^hashB, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// hashLong is the hash of a word of more than shortWord bytes.
func hashLong(w []byte) uint64 {
	h := uint64(len(w))
	for len(w) > shortWord {
		a, b := twoWords(w[:shortWord])
		h = hashOf(a^h, b, shortWord)
		w = w[shortWord:]
	}
	a, b := twoWords(w)
	return hashOf(a^h, b, len(w))
}

// Words that are more than one token are remembered: 65,536 of them, each in a slot of one
// cache line.
const (
	cacheBits = 16
	cacheWord = 34
	cacheIDs  = 7
)

type cacheSlot struct {
	ids  [cacheIDs]int32
	n, k uint8 // length of the word, number of ids
	w    [cacheWord]byte
}

// is reports whether the slot has the word.
func (s *cacheSlot) is(w []byte) bool { return int(s.n) == len(w) && string(s.w[:s.n]) == string(w) }

// keep remembers a word of at most cacheWord bytes and its ids, at most cacheIDs.
func (s *cacheSlot) keep(w []byte, ids []int32) {
	s.n, s.k = uint8(len(w)), uint8(len(ids))
	copy(s.w[:], w)
	copy(s.ids[:], ids)
}

// slot is the only place where a word of at most cacheWord bytes is remembered.
func (c *Coder) slot(w []byte) *cacheSlot {
	if len(w) > shortWord {
		return c.slotOf(hashLong(w))
	}
	a, b := twoWords(w)
	return c.slotOf(hashOf(a, b, len(w)))
}

func (c *Coder) slotOf(hash uint64) *cacheSlot { return &c.cache[hash&(1<<cacheBits-1)] }
