package order

import "math/bits"

// golden is 2^64 divided by the golden ratio, made odd.
const golden = 0x9e3779b97f4a7c15

// mix64 is the finaliser of SplitMix64: a bijection that scatters every bit.
func mix64(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// derive makes a key from a seed and the words that say what the key is for.
func derive(seed uint64, words ...uint64) uint64 {
	h := mix64(seed + golden)
	for _, w := range words {
		h = mix64(h ^ mix64(w+golden))
	}
	return h
}

// Words that say what a key is for: the second one, after the epoch.
const (
	forSamples = 1 + iota // all samples of a part: Global
	forBlocks             // its blocks: Block
	forWindow             // samples of a window
	forMix                // positions of a mixing cycle
	forDraw               // weighted draws
	forClasses            // the classes of one round
	forMembers            // the members of a class
	// 8 and 9 are of package images.
	forOffset  = 10 // where a sample of a stream begins
	forBatches = 11 // the batches of a window, by a budget
)

// rounds of the Feistel network. With halves of three bits and more, six give
// permutations whose places and pairs pass a chi-square test over 20,000 keys; with
// smaller halves even ten do not.
const (
	rounds   = 6
	minWidth = 6
)

// perm is a permutation of [0, n): an unbalanced Feistel network over the bits
// of n-1, walked again while it leads out of [0, n). No table, any place in
// constant time.
type perm struct {
	n            uint64
	low          uint   // bits of the lower half
	maskH, maskL uint64 // of both halves
	keys         [rounds]uint64
}

func newPerm(n int64, key uint64) perm {
	width := uint(max(minWidth, bits.Len64(uint64(max(n, 1)-1))))
	low := width / 2
	p := perm{n: uint64(n), low: low, maskH: 1<<(width-low) - 1, maskL: 1<<low - 1}
	for i := range p.keys {
		key += golden
		p.keys[i] = mix64(key)
	}
	return p
}

// scatter is the round function; its upper 32 bits are good.
func scatter(x, key uint64) uint64 {
	x = (x + key) * golden
	x = (x ^ x>>29) * 0xbf58476d1ce4e5b9
	return x >> 32
}

// at is the element at place x of [0, n).
func (p *perm) at(x uint64) uint64 {
	for {
		h, l := x>>p.low, x&p.maskL
		h ^= scatter(l, p.keys[0]) & p.maskH
		l ^= scatter(h, p.keys[1]) & p.maskL
		h ^= scatter(l, p.keys[2]) & p.maskH
		l ^= scatter(h, p.keys[3]) & p.maskL
		h ^= scatter(l, p.keys[4]) & p.maskH
		l ^= scatter(h, p.keys[5]) & p.maskL
		if x = h<<p.low | l; x < p.n {
			return x
		}
	}
}

// list replaces places of [0, n) by their elements.
func (p *perm) list(x []int64) {
	low, maskH, maskL, k, n := p.low&63, p.maskH, p.maskL, &p.keys, p.n
	var left [256]uint8 // places in part of those that have left [0, n)
	for len(x) > 0 {
		part := x[:min(len(x), len(left))]
		x = x[len(part):]
		for i := range part {
			left[i] = uint8(i)
		}
		// Those that have left walk on together: a guess at each whether it has would be wrong too often.
		for walk := left[:len(part)]; len(walk) > 0; {
			again := 0
			for _, i := range walk {
				v := uint64(part[i])
				h, l := v>>low, v&maskL
				h ^= scatter(l, k[0]) & maskH
				l ^= scatter(h, k[1]) & maskL
				h ^= scatter(l, k[2]) & maskH
				l ^= scatter(h, k[3]) & maskL
				h ^= scatter(l, k[4]) & maskH
				l ^= scatter(h, k[5]) & maskL
				v = h<<low | l
				part[i] = int64(v)
				left[again] = i
				again += int((n - 1 - v) >> 63) // 1 if v >= n: both are below 1<<63
			}
			walk = left[:again]
		}
	}
}

// place is the inverse of at.
func (p *perm) place(x uint64) uint64 {
	for {
		h, l := x>>p.low, x&p.maskL
		for i := rounds - 2; i >= 0; i -= 2 {
			l ^= scatter(h, p.keys[i+1]) & p.maskL
			h ^= scatter(l, p.keys[i]) & p.maskH
		}
		if x = h<<p.low | l; x < p.n {
			return x
		}
	}
}
