package tokenize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/split"
	"github.com/shardify/shardify/tokenize/trie"
)

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
	tokens := trie.New()
	for token, id := range all.vocab {
		if len(token) > maxPiece {
			return shardify.Unsupported("model.vocab: id %d is a token of %d bytes (at most %d)", id, len(token), maxPiece)
		}
		if token != "" {
			tokens.Add([]byte(token), id)
		}
	}
	m := model.NewWordPiece(tokens, f.Prefix, unk, min(f.Most, 1<<20))
	t.vocab, t.Size = all.vocab, all.size
	t.split.Bounded = false
	t.words = model.NewLexicon(m, all.vocab, false)
	return nil
}

// scored is an entry of a vocabulary of the form [token, score].
type scored struct {
	token string
	score float64
}

// UnmarshalJSON reads the two.
func (s *scored) UnmarshalJSON(b []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil || len(parts) != 2 {
		return fmt.Errorf("%.60s is not [token, score]", b)
	}
	if err := json.Unmarshal(parts[0], &s.token); err != nil {
		return fmt.Errorf("%.60s: the token is not text", b)
	}
	if err := json.Unmarshal(parts[1], &s.score); err != nil {
		return fmt.Errorf("%.60s: the score is not a number", b)
	}
	if c := parts[1][0]; c == '-' || '0' <= c && c <= '9' { // else it is null
		s.score = scoreOf(parts[1])
	}
	return nil
}

func (t *Tokenizer) parseUnigram(raw json.RawMessage) error {
	f := struct {
		Type         string            `json:"type"`
		UnkID        *int64            `json:"unk_id"`
		Vocab        []json.RawMessage `json:"vocab"`
		ByteFallback bool              `json:"byte_fallback"`
	}{}
	if err := unmarshal("model", raw, &f, true); err != nil {
		return err
	}
	if f.UnkID == nil || *f.UnkID < 0 || *f.UnkID >= int64(len(f.Vocab)) {
		id := "null"
		if f.UnkID != nil {
			id = fmt.Sprint(*f.UnkID)
		}
		return shardify.Corrupt(-1, "model.unk_id %s: the vocabulary has %d tokens", id, len(f.Vocab))
	}
	m := &model.Unigram[float64]{Tokens: trie.New(), Scores: make([]float64, len(f.Vocab)), Unk: int32(*f.UnkID), Floor: math.Inf(-1)}
	vocab, least := make(map[string]int32, len(f.Vocab)), math.Inf(1)
	for i, raw := range slices.Backward(f.Vocab) {
		var s scored
		if err := s.UnmarshalJSON(raw); err != nil {
			return shardify.Corrupt(-1, "model.vocab[%d]: %v", i, err)
		}
		if len(s.token) > maxPiece {
			return shardify.Unsupported("model.vocab[%d]: a token of %d bytes (at most %d)", i, len(s.token), maxPiece)
		}
		least = min(least, s.score)
		m.Scores[i] = s.score
		if _, ok := vocab[s.token]; ok { // of a token that is there twice, the last one counts
			continue
		}
		vocab[s.token] = int32(i)
		if s.token != "" {
			m.Tokens.Add([]byte(s.token), int32(i))
		}
	}
	m.Tokens.Pack()
	m.UnkScore = least - model.UnknownPenalty
	m.Named = func(s []byte) (int32, bool) { id, ok := vocab[string(s)]; return id, ok }
	if f.ByteFallback {
		var err error
		if m.Bytes, err = fallback(vocab); err != nil {
			return err
		}
	}
	t.vocab, t.Size = vocab, len(f.Vocab)
	t.split.Bounded = false
	t.words = model.NewLexicon(m, vocab, false)
	return nil
}

type jsonBPE struct {
	Type          string           `json:"type"`
	Dropout       *float64         `json:"dropout"`
	UnkToken      *string          `json:"unk_token"`
	SubwordPrefix *string          `json:"continuing_subword_prefix"`
	WordSuffix    *string          `json:"end_of_word_suffix"`
	FuseUnk       bool             `json:"fuse_unk"`
	ByteFallback  bool             `json:"byte_fallback"`
	IgnoreMerges  bool             `json:"ignore_merges"`
	Vocab         map[string]int64 `json:"vocab"`
	Merges        json.RawMessage  `json:"merges"`
}

func (t *Tokenizer) parseBPE(raw json.RawMessage) error {
	var f jsonBPE
	if err := unmarshal("model", raw, &f, true); err != nil {
		return err
	}
	if f.Dropout != nil && *f.Dropout != 0 {
		return shardify.Unsupported("model.dropout %g: ids would be random (without it: null)", *f.Dropout)
	}
	for key, v := range map[string]*string{"continuing_subword_prefix": f.SubwordPrefix, "end_of_word_suffix": f.WordSuffix} {
		if v != nil && *v != "" {
			return shardify.Unsupported("model.%s %q", key, *v)
		}
	}
	all, err := vocabulary(f.Vocab)
	if err != nil {
		return err
	}
	m := &model.BPE{Unk: -1, Fuse: f.FuseUnk}
	if f.UnkToken != nil {
		id, ok := all.vocab[*f.UnkToken]
		if !ok {
			return shardify.Corrupt(-1, "model.unk_token %q is not in the vocabulary", *f.UnkToken)
		}
		m.Unk = id
	}
	words := all.vocab
	if t.split.Kind == split.ByteLevel {
		if words, err = byteWords(m, all.vocab); err != nil {
			return err
		}
	} else {
		m.Chars = charTokens(all.vocab)
		if f.ByteFallback {
			if m.Bytes, err = fallback(all.vocab); err != nil {
				return err
			}
		}
	}
	if err := parseMerges(m, f.Merges, all.vocab, func(left, right string) {
		t.split.Bounded = t.split.Bounded && !crosses(string(t.split.Mark), left, right)
	}); err != nil {
		return err
	}
	t.vocab, t.Size = all.vocab, all.size
	if _, ok := all.vocab[string(t.split.Mark)]; !ok || f.IgnoreMerges || t.split.Kind == split.ByteLevel {
		t.split.Bounded = false
	}
	t.words = model.NewLexicon(m, words, f.IgnoreMerges)
	return nil
}

func vocabulary(f map[string]int64) (*ids, error) {
	if len(f) == 0 {
		return nil, shardify.Corrupt(-1, "model.vocab has no tokens")
	}
	all := &ids{vocab: make(map[string]int32, len(f)), names: make(map[int32]string, len(f))}
	for token, id := range f {
		if err := all.add("model.vocab", token, id); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// byteWords are the tokens as bytes of text. Those that have other letters are in no text.
func byteWords(m *model.BPE, vocab map[string]int32) (map[string]int32, error) {
	m.Bytes = new([256]int32)
	var back [512]int16 // 1 + byte
	for b, r := range chars.ByteLetters {
		id, ok := vocab[string(r)]
		if !ok {
			return nil, shardify.Corrupt(-1, "model.vocab: byte 0x%02x has no token %q", b, string(r))
		}
		m.Bytes[b], back[r] = id, int16(b+1)
	}
	words := make(map[string]int32, len(vocab))
	var w []byte
next:
	for token, id := range vocab {
		w = w[:0]
		for _, r := range token {
			if int(r) >= len(back) || back[r] == 0 {
				continue next
			}
			w = append(w, byte(back[r]-1))
		}
		words[string(w)] = id
	}
	return words, nil
}

// charTokens are the tokens of one character.
func charTokens(vocab map[string]int32) map[rune]int32 {
	chars := map[rune]int32{}
	for token, id := range vocab {
		if r, n := utf8.DecodeRuneInString(token); n == len(token) && n > 0 {
			chars[r] = id
		}
	}
	return chars
}

// fallback are the tokens <0x00> to <0xFF>.
func fallback(vocab map[string]int32) (*[256]int32, error) {
	var list [256]int32
	for b := range list {
		name := fmt.Sprintf("<0x%02X>", b)
		id, ok := vocab[name]
		if !ok {
			return nil, shardify.Corrupt(-1, "model.byte_fallback: the vocabulary has no %s", name)
		}
		list[b] = id
	}
	return &list, nil
}

// parseMerges reads pairs, or texts with a space, as old files have them. It calls each for every one.
func parseMerges(m *model.BPE, raw json.RawMessage, vocab map[string]int32, each func(left, right string)) error {
	var merges [][]string
	if list := bytes.TrimLeft(bytes.TrimPrefix(bytes.TrimSpace(raw), []byte("[")), " \t\r\n"); len(list) > 0 && list[0] == '"' {
		var lines []string
		if err := unmarshal("model.merges", raw, &lines, false); err != nil {
			return err
		}
		merges = make([][]string, 0, len(lines))
		for _, line := range lines {
			if !strings.HasPrefix(line, "#version") {
				merges = append(merges, strings.Split(line, " "))
			}
		}
	} else if err := unmarshal("model.merges", raw, &merges, false); err != nil {
		return err
	}
	m.Pairs = model.NewPairs(len(merges))
	var joined []byte
	for i, pair := range merges {
		if len(pair) != 2 {
			return shardify.Corrupt(-1, "model.merges[%d] %q has %d parts: a merge has two", i, pair, len(pair))
		}
		left, ok1 := vocab[pair[0]]
		right, ok2 := vocab[pair[1]]
		joined = append(append(joined[:0], pair[0]...), pair[1]...)
		id, ok3 := vocab[string(joined)]
		for k, ok := range []bool{ok1, ok2, ok3} {
			if !ok {
				return shardify.Corrupt(-1, "model.merges[%d] %q: token %q is not in the vocabulary", i, pair, append(pair[:2:2], string(joined))[k])
			}
		}
		if pair[0] == "" || pair[1] == "" {
			return shardify.Corrupt(-1, "model.merges[%d] %q: an empty part", i, pair)
		}
		m.Pairs.Set(left, right, uint32(i), id)
		each(pair[0], pair[1])
	}
	return nil
}

// modelType is the type of a model, which files of old versions do not name.
func modelType(raw json.RawMessage) (string, error) {
	var keys map[string]json.RawMessage
	if err := unmarshal("model", raw, &keys, false); err != nil {
		return "", err
	}
	kind, err := typeOf("model", raw)
	switch {
	case err != nil || kind != "":
	case keys["merges"] != nil:
		kind = "BPE"
	case keys["unk_id"] != nil:
		kind = "Unigram"
	case keys["continuing_subword_prefix"] != nil:
		kind = "WordPiece"
	}
	return kind, err
}

// parseModel reads the vocabulary and what makes ids of words.
func (t *Tokenizer) parseModel(raw json.RawMessage) error {
	kind, err := modelType(raw)
	if err != nil {
		return err
	}
	t.Model = kind
	switch kind {
	case "BPE":
		return t.parseBPE(raw)
	case "WordPiece":
		return t.parseWordPiece(raw)
	case "Unigram":
		return t.parseUnigram(raw)
	}
	return notSupported("model", kind)
}

// crosses reports whether a token of two parts goes on beyond the end of a word, where mark begins words.
func crosses(mark, left, right string) bool {
	return !strings.HasSuffix(left, mark) && strings.HasPrefix(right, mark)
}
