package model

import (
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify/tokenize/trie"
)

// Unigram takes the tokens whose scores have the highest sum. Sums are of type F, as in the
// reference: where two are nearly the same, that decides.
type Unigram[F float32 | float64] struct {
	Tokens   *trie.Trie
	Scores   []F
	Unk      int32
	UnkScore F
	Floor    F           // sums below it are raised
	Bytes    *[256]int32 // what unknown characters become; nil: the unknown token
	// Named finds the text of neighbours that are unknown: it may be a token as a whole.
	Named func(s []byte) (int32, bool)
}

// node is the best way to a place in the text.
type node[F float32 | float64] struct {
	score F
	from  int32 // -1 without one
	id    int32
}

// UnknownPenalty is how much less than the least score an unknown character has.
const UnknownPenalty = 10

// Encode appends the ids of a word.
func (m *Unigram[F]) Encode(c *Coder, w []byte) { m.run(c, w, 0) }

// run appends the ids of a text whose sums begin with sum, and returns the sum at its end.
func (m *Unigram[F]) run(c *Coder, w []byte, sum F) F {
	room := roomOf[F](c)
	nodes := slices.Grow((*room)[:0], len(w)+1)[:len(w)+1]
	*room = nodes
	for i := range nodes {
		nodes[i].from = -1
	}
	nodes[0] = node[F]{score: sum}
	far := 0 // no node after it has been reached
	for i := 0; i < len(w); {
		if nodes[i].score < m.Floor {
			m.raise(nodes[i : far+1])
		}
		n, here, single := 1, nodes[i].score, false
		if w[i] >= utf8.RuneSelf {
			_, n = utf8.DecodeRune(w[i:])
		}
		at := uint32(0)
		for j := i; j < len(w); {
			var v int32
			if at, v = m.Tokens.Next(at, w[j]); at == 0 {
				break
			}
			if j++; v < 0 {
				continue
			}
			sum := m.Scores[v] + here
			if t := &nodes[j]; t.from < 0 || sum > t.score {
				*t = node[F]{sum, int32(i), v}
				far = max(far, j)
			}
			single = single || j == i+n
		}
		if !single {
			sum := m.UnkScore + here
			if t := &nodes[i+n]; t.from < 0 || sum > t.score {
				*t = node[F]{sum, int32(i), m.Unk}
				far = max(far, i+n)
			}
		}
		i += n
	}
	m.back(c, w, nodes)
	sum = nodes[len(w)].score
	if cap(nodes) > 1<<20 {
		*room = nil
	}
	return sum
}

// raise makes sums begin again at the first node, before they are too large to be exact.
func (m *Unigram[F]) raise(nodes []node[F]) {
	by := nodes[0].score
	for i := range nodes {
		if nodes[i].from >= 0 {
			nodes[i].score -= by
		}
	}
}

// back appends the ids on the best way, which is found from its end.
func (m *Unigram[F]) back(c *Coder, w []byte, nodes []node[F]) {
	from := len(c.Out)
	for i := len(w); i > 0; {
		t := nodes[i]
		if t.id != m.Unk {
			c.Out = append(c.Out, t.id)
			i = int(t.from)
			continue
		}
		j := i
		for i > 0 && nodes[i].id == m.Unk {
			i = int(nodes[i].from)
		}
		m.unknown(c, w[i:j])
	}
	slices.Reverse(c.Out[from:])
}

// unknown appends the tokens for unknown characters, from the last to the first.
func (m *Unigram[F]) unknown(c *Coder, s []byte) {
	if m.Named != nil {
		if id, ok := m.Named(s); ok {
			c.Out = append(c.Out, id)
			return
		}
	}
	if m.Bytes == nil {
		c.Unknown += int64(utf8.RuneCount(s))
		c.Out = append(c.Out, m.Unk)
		return
	}
	c.fallen++
	for _, b := range slices.Backward(s) {
		c.Out = append(c.Out, m.Bytes[b])
	}
}

// roomOf is the memory of c for nodes.
func roomOf[F float32 | float64](c *Coder) *[]node[F] {
	if room, ok := any(&c.best32).(*[]node[F]); ok {
		return room
	}
	return any(&c.best64).(*[]node[F])
}
