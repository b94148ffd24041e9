package model

import (
	"slices"
	"testing"

	"github.com/shardify/shardify/tokenize/trie"
)

// TestBytesAreNotRemembered: the scores of bytes are not those of the unknown character that they
// replace, so that sums would be wrong from there on.
func TestBytesAreNotRemembered(t *testing.T) {
	const mark = "\u2581"
	m := NewSPUnigram(Unigram[float32]{Tokens: trie.New(), Scores: make([]float32, 3+256), UnkScore: -11, Floor: -1e5, Bytes: new([256]int32)}, []byte(mark))
	for b := range m.Bytes {
		m.Bytes[b] = int32(3 + b)
	}
	for i, w := range []string{mark, mark + "a"} {
		m.Tokens.Add([]byte(w), int32(i+1))
		m.Scores[i+1] = -1
	}
	m.Tokens.Pack()
	c := NewCoder(NewLexicon(m, nil, false))
	m.Encode(c, []byte(mark+"a"+mark+"\u00e9"))
	if want := []int32{2, 1, 3 + 0xc3, 3 + 0xa9}; !slices.Equal(c.Out, want) {
		t.Errorf("%d, want %d", c.Out, want)
	}
	for word, want := range map[string]bool{mark + "a": true, mark + "\u00e9": false} {
		if got := c.slot([]byte(word)).is([]byte(word)); got != want {
			t.Errorf("%s: remembered %v", word, got)
		}
	}
}
