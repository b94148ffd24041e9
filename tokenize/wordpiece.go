package tokenize

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// wordPiece takes the longest token that a word begins with, then the longest that goes on.
type wordPiece struct {
	tokens   *trie
	inside   uint32 // the node of the prefix that tokens within a word have
	noInside bool   // no token has it
	unk      int32
	most     int // characters of a word
}

func (m *wordPiece) encode(e *Encoder, w []byte) {
	from := len(e.out)
	if utf8.RuneCount(w) > m.most {
		e.unknown(m.unk, w)
		return
	}
	for node, rest := uint32(0), w; len(rest) > 0; node = m.inside {
		v, n := int32(-1), 0
		if node != 0 || len(e.out) == from || !m.noInside {
			v, n = m.tokens.longestFrom(node, rest)
		}
		if v < 0 {
			e.out = e.out[:from]
			e.unknown(m.unk, w)
			return
		}
		e.out = append(e.out, v)
		rest = rest[n:]
	}
}

// unknown appends the unknown token for a word.
func (e *Encoder) unknown(id int32, w []byte) {
	e.out = append(e.out, id)
	e.counts.Unknown += int64(utf8.RuneCount(w))
}

func (t *Tokenizer) parseWordPiece(raw json.RawMessage) error {
	f := struct {
		Type   string           `json:"type"`
		Unk    string           `json:"unk_token"`
		Prefix string           `json:"continuing_subword_prefix"`
		Most   int              `json:"max_input_chars_per_word"`
		Vocab  map[string]int64 `json:"vocab"`
	}{Unk: "[UNK]", Prefix: "##", Most: 100}
	if err := unmarshal("model", raw, &f, true); err != nil {
		return err
	}
	all, err := vocabulary(f.Vocab)
	if err != nil {
		return err
	}
	unk, ok := all.vocab[f.Unk]
	if !ok {
		return shardify.Corrupt(-1, "model.unk_token %q is not in the vocabulary", f.Unk)
	}
	if f.Most < 0 {
		return shardify.Corrupt(-1, "model.max_input_chars_per_word is %d", f.Most)
	}
	m := &wordPiece{tokens: newTrie(), unk: unk, most: min(f.Most, 1<<20)}
	for token, id := range all.vocab {
		if len(token) > maxPiece {
			return shardify.Unsupported("model.vocab: id %d is a token of %d bytes (at most %d)", id, len(token), maxPiece)
		}
		if token != "" {
			m.tokens.add([]byte(token), id)
		}
	}
	for _, c := range []byte(f.Prefix) {
		if m.inside = m.tokens.step(m.inside, c); m.inside == 0 {
			m.noInside = true
			break
		}
	}
	t.vocab, t.Size, t.model = all.vocab, all.size, m
	t.split.bounded = false
	t.fill(all.vocab, false)
	return nil
}

// cutBert cuts at white space, which is left out, and around punctuation.
func cutBert(e *Encoder, s []byte) {
	chars, from := e.t.split.chars, 0
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(s[i:])
		}
		if k := chars.of(r); k != 0 {
			if from < i {
				e.word(s[from:i])
			}
			if k&punctuation != 0 {
				e.word(s[i : i+n])
			}
			from = i + n
		}
		i += n
	}
	if from < len(s) {
		e.word(s[from:])
	}
}
