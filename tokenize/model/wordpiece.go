package model

import (
	"unicode/utf8"

	"github.com/shardify/shardify/tokenize/trie"
)

// WordPiece takes the longest token that a word begins with, then the longest that goes on.
type WordPiece struct {
	tokens   *trie.Trie
	unk      int32
	most     int    // characters of a word
	inside   uint32 // the node of the prefix that tokens within a word have
	noInside bool   // no token has it
}

// NewWordPiece makes a model. A token that begins with prefix goes on within a word. A word of more than most
// characters is unknown.
func NewWordPiece(tokens *trie.Trie, prefix string, unk int32, most int) *WordPiece {
	m := &WordPiece{tokens: tokens, unk: unk, most: most}
	for _, c := range []byte(prefix) {
		if m.inside = tokens.Step(m.inside, c); m.inside == 0 {
			m.noInside = true
			break
		}
	}
	return m
}

// Encode appends the ids of a word.
func (m *WordPiece) Encode(c *Coder, w []byte) {
	from := len(c.Out)
	if utf8.RuneCount(w) > m.most {
		c.unknownWord(m.unk, w)
		return
	}
	for node, rest := uint32(0), w; len(rest) > 0; node = m.inside {
		v, n := int32(-1), 0
		if node != 0 || len(c.Out) == from || !m.noInside {
			v, n = m.tokens.LongestFrom(node, rest)
		}
		if v < 0 {
			c.Out = c.Out[:from]
			c.unknownWord(m.unk, w)
			return
		}
		c.Out = append(c.Out, v)
		rest = rest[n:]
	}
}

// unknown appends the unknown token for a word.
func (c *Coder) unknownWord(id int32, w []byte) {
	c.Out = append(c.Out, id)
	c.Unknown += int64(utf8.RuneCount(w))
}
