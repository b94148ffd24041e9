package tokenize

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// spUnigram is unigram over a whole text, whose sums go on from word to word. What a word
// becomes is remembered where it does not depend on the sum before it: where the best way
// through the word is better than all others by more than rounding can change.
type spUnigram struct {
	unigram[float32]
	mark []byte  // begins words; nil: tokens go on beyond the end of a word, so that none is remembered
	low  float32 // above it, no word reaches the floor
}

// halfStep bounds the rounding of a sum above the floor.
const halfStep = 1.0 / 256

func (m *spUnigram) encode(e *Encoder, s []byte) {
	if m.mark == nil {
		m.unigram.encode(e, s)
		return
	}
	for sum := float32(0); len(s) > 0; {
		w := s[:wordEnd(s, m.mark)]
		s = s[len(w):]
		if len(w) > cacheWord || sum < m.low || sum > -m.floor {
			sum = m.run(e, w, sum)
			continue
		}
		slot := e.slot(w)
		if slot.is(w) {
			for _, id := range slot.ids[:slot.k] {
				sum += m.scores[id]
				e.out = append(e.out, id)
			}
			continue
		}
		from, unknown := len(e.out), e.counts.Unknown+e.fallen
		sum = m.run(e, w, sum)
		if k := len(e.out) - from; k <= cacheIDs && unknown == e.counts.Unknown+e.fallen && m.clear(w) {
			slot.keep(w, e.out[from:])
		}
	}
}

// wordEnd is where the marks that s begins with and what follows them end.
func wordEnd(s, mark []byte) int {
	j := 0
	for bytes.HasPrefix(s[j:], mark) {
		j += len(mark)
	}
	if k := bytes.Index(s[j:], mark); k >= 0 {
		return j + k
	}
	return len(s)
}

// clear tells whether the best way through a word of at most cacheWord bytes does not depend
// on rounding, with sums of two and more ways that are exact.
func (m *spUnigram) clear(w []byte) bool {
	var best, second [cacheWord + 1]float64
	for i := range best {
		best[i], second[i] = math.Inf(-1), math.Inf(-1)
	}
	best[0] = 0
	put := func(i, j int, score float64) {
		for _, sum := range [2]float64{best[i] + score, second[i] + score} {
			if sum > best[j] {
				best[j], sum = sum, best[j]
			}
			second[j] = max(second[j], sum)
		}
	}
	chars := 0
	for i := 0; i < len(w); chars++ {
		n, single, at := 1, false, uint32(0)
		if w[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(w[i:])
		}
		for j := i; j < len(w); {
			if at = m.tokens.step(at, w[j]); at == 0 {
				break
			}
			j++
			if v := m.tokens.value[at]; v >= 0 {
				put(i, j, float64(m.scores[v]))
				single = single || j == i+n
			}
		}
		if !single {
			put(i, i+n, float64(m.unkIs))
		}
		i += n
	}
	return best[len(w)]-second[len(w)] > 2*halfStep*float64(chars+1)
}
