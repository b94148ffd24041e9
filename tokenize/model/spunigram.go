package model

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// SPUnigram is unigram over a whole text, whose sums go on from word to word. What a word
// becomes is remembered where it does not depend on the sum before it: where the best way
// through the word is better than all others by more than rounding can change.
type SPUnigram struct {
	Unigram[float32]
	Mark []byte  // begins words; nil: tokens go on beyond the end of a word, so that none is remembered
	low  float32 // above it, no word reaches the floor
}

// NewSPUnigram makes a model; without a mark, tokens go on beyond the end of a word.
func NewSPUnigram(u Unigram[float32], mark []byte) *SPUnigram {
	return &SPUnigram{Unigram: u, Mark: mark, low: u.Floor - float32(cacheWord*min(u.UnkScore, -1))}
}

// halfStep bounds the rounding of a sum above the floor.
const halfStep = 1.0 / 256

// Encode appends the ids of a text.
func (m *SPUnigram) Encode(c *Coder, s []byte) {
	if m.Mark == nil {
		m.Unigram.Encode(c, s)
		return
	}
	for sum := float32(0); len(s) > 0; {
		w := s[:WordEnd(s, m.Mark)]
		s = s[len(w):]
		if len(w) > cacheWord || sum < m.low || sum > -m.Floor {
			sum = m.run(c, w, sum)
			continue
		}
		slot := c.slot(w)
		if slot.is(w) {
			for _, id := range slot.ids[:slot.k] {
				sum += m.Scores[id]
				c.Out = append(c.Out, id)
			}
			continue
		}
		from, unknown, clear := len(c.Out), c.Unknown+c.fallen, false
		sum, clear = m.word(c, w, sum)
		if k := len(c.Out) - from; k <= cacheIDs && clear && unknown == c.Unknown+c.fallen {
			slot.keep(w, c.Out[from:])
		}
	}
}

// WordEnd is where the marks that s begins with and what follows them end.
func WordEnd(s, mark []byte) int {
	j := 0
	for bytes.HasPrefix(s[j:], mark) {
		j += len(mark)
	}
	if k := bytes.Index(s[j:], mark); k >= 0 {
		return j + k
	}
	return len(s)
}

// way is the best way to a place in a word, and sums of the two best ones that are exact.
type way struct{ best, second float64 }

// word is run for a word of at most cacheWord bytes, whose sums do not reach the floor. clear
// reports whether the best way does not depend on rounding, and so not on the sum before the word.
func (m *SPUnigram) word(c *Coder, w []byte, sum float32) (end float32, clear bool) {
	var nodes [cacheWord + 1]node[float32]
	var ways [cacheWord + 1]way
	for i := range nodes[:len(w)+1] {
		nodes[i].from = -1
		ways[i] = way{math.Inf(-1), math.Inf(-1)}
	}
	nodes[0], ways[0].best = node[float32]{score: sum}, 0
	chars := 0
	for i := 0; i < len(w); chars++ {
		n, here, single, at := 1, nodes[i].score, false, uint32(0)
		if w[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(w[i:])
		}
		for j := i; j < len(w); {
			var v int32
			if at, v = m.Tokens.Next(at, w[j]); at == 0 {
				break
			}
			if j++; v < 0 {
				continue
			}
			score := m.Scores[v]
			if t := &nodes[j]; t.from < 0 || score+here > t.score {
				*t = node[float32]{score + here, int32(i), v}
			}
			ways[j].also(&ways[i], float64(score))
			single = single || j == i+n
		}
		if !single {
			if t := &nodes[i+n]; t.from < 0 || m.UnkScore+here > t.score {
				*t = node[float32]{m.UnkScore + here, int32(i), m.Unk}
			}
			ways[i+n].also(&ways[i], float64(m.UnkScore))
		}
		i += n
	}
	m.back(c, w, nodes[:len(w)+1])
	last := &ways[len(w)]
	return nodes[len(w)].score, last.best-last.second > 2*halfStep*float64(chars+1)
}

// also adds the ways that go on from another place.
func (w *way) also(from *way, score float64) {
	if sum := from.best + score; sum > w.best {
		w.best, w.second = sum, max(w.best, from.second+score)
	} else {
		w.second = max(w.second, sum)
	}
}
