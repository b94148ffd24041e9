package tokenize

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/normal"
	"github.com/shardify/shardify/tokenize/split"
	"github.com/shardify/shardify/tokenize/trie"
)

// Types of pieces in a model of SentencePiece.
const (
	normalPiece  = 1
	unknownPiece = 2
	controlPiece = 3
	userPiece    = 4
	unusedPiece  = 5
	bytePiece    = 6
)

type piece struct {
	text  string
	score float32
	kind  uint64
}

// spModel is what a .model says, as far as it is about encoding.
type spModel struct {
	pieces   []piece
	kind     uint64 // 1 unigram, 2 BPE
	suffix   bool   // white space ends words instead of beginning them
	fallback bool
	charsmap []byte
	prefix   bool // a space before the text
	remove   bool // white space at both ends, and all but one of several
	escape   bool // spaces become U+2581
}

// loadModel reads the protocol buffer ModelProto.
func loadModel(data []byte) (*Tokenizer, error) {
	f := spModel{kind: 1, prefix: true, remove: true, escape: true}
	err := eachField("", data, func(tag, value uint64, part []byte) error {
		switch tag {
		case 1:
			p, err := parsePiece(part)
			if err != nil {
				return shardify.Corrupt(-1, "piece %d: %v", len(f.pieces), err)
			}
			f.pieces = append(f.pieces, p)
		case 2:
			return eachField("trainer_spec", part, func(tag, value uint64, _ []byte) error {
				switch tag {
				case 3:
					f.kind = value
				case 24:
					f.suffix = value != 0
				case 35:
					f.fallback = value != 0
				}
				return nil
			})
		case 3:
			return eachField("normalizer_spec", part, func(tag, value uint64, part []byte) error {
				switch tag {
				case 2:
					f.charsmap = part
				case 3:
					f.prefix = value != 0
				case 4:
					f.remove = value != 0
				case 5:
					f.escape = value != 0
				}
				return nil
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f.tokenizer()
}

// eachField reads a message of protocol buffers.
func eachField(place string, b []byte, f func(tag, value uint64, part []byte) error) error {
	if place != "" {
		place += ": "
	}
	size := len(b)
	damaged := func(what string) error {
		return shardify.Corrupt(int64(size-len(b)), "%sno model of SentencePiece, or a damaged one: %s", place, what)
	}
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		if n <= 0 || key>>3 == 0 || key>>3 > 1<<29 {
			return damaged("no field begins here")
		}
		value, part := uint64(0), []byte(nil)
		rest := b[n:]
		switch key & 7 {
		case 0:
			if value, n = binary.Uvarint(rest); n <= 0 {
				return damaged("it ends inside a number")
			}
			rest = rest[n:]
		case 1, 5:
			k := 8
			if key&7 == 5 {
				k = 4
			}
			if len(rest) < k {
				return damaged("it ends inside a number")
			}
			part, rest = rest[:k], rest[k:]
		case 2:
			k, n := binary.Uvarint(rest)
			if n <= 0 || k > uint64(len(rest)-n) {
				return damaged(fmt.Sprintf("it ends inside field %d", key>>3))
			}
			part, rest = rest[n:n+int(k)], rest[n+int(k):]
		default:
			return damaged("no field begins here")
		}
		if err := f(key>>3, value, part); err != nil {
			return err
		}
		b = rest
	}
	return nil
}

func parsePiece(b []byte) (piece, error) {
	p := piece{kind: normalPiece}
	err := eachField("", b, func(tag, value uint64, part []byte) error {
		switch tag {
		case 1:
			p.text = string(part)
		case 2:
			if len(part) == 4 {
				p.score = math.Float32frombits(binary.LittleEndian.Uint32(part))
			}
		case 3:
			p.kind = value
		}
		return nil
	})
	switch {
	case err != nil:
		return p, err
	case p.text == "":
		return p, fmt.Errorf("it has no text")
	case !utf8.ValidString(p.text):
		return p, fmt.Errorf("%q is not UTF-8", p.text)
	case len(p.text) > maxPiece:
		return p, fmt.Errorf("it has %d bytes (at most %d)", len(p.text), maxPiece)
	case p.kind < normalPiece || p.kind > bytePiece:
		return p, fmt.Errorf("%q is of type %d", p.text, p.kind)
	case p.score != p.score:
		return p, fmt.Errorf("%q: its score is not a number", p.text)
	}
	return p, nil
}

// space is what SentencePiece writes for a space.
const spaceMark = "\u2581"

func (f *spModel) tokenizer() (*Tokenizer, error) {
	if len(f.pieces) == 0 {
		return nil, shardify.Corrupt(-1, "the model of SentencePiece has no pieces")
	}
	t := &Tokenizer{Kind: "SentencePiece model", Size: len(f.pieces), vocab: map[string]int32{}}
	unk := int32(-1)
	for i, p := range f.pieces {
		if old, ok := t.vocab[p.text]; ok {
			return nil, shardify.Corrupt(-1, "piece %d %q is piece %d too", i, p.text, old)
		}
		t.vocab[p.text] = int32(i)
		if p.kind == unknownPiece {
			if unk >= 0 {
				return nil, shardify.Corrupt(-1, "pieces %d and %d are both the unknown piece", unk, i)
			}
			unk = int32(i)
		}
	}
	if unk < 0 {
		return nil, shardify.Corrupt(-1, "no piece of the model is the unknown one")
	}
	var bytes *[256]int32
	if f.fallback {
		var err error
		if bytes, err = f.bytePieces(t.vocab); err != nil {
			return nil, err
		}
	}
	n, user, err := f.normalizer()
	if err != nil {
		return nil, err
	}
	t.normalizer = normal.Normalizer{n}
	t.split = split.Splitter{Mark: []byte(spaceMark)}
	var words map[string]int32
	var m model.Model
	switch f.kind {
	case 1:
		t.Model, t.split.Kind = "Unigram", split.Unsplit
		m = f.unigram(t.vocab, unk, bytes)
	case 2:
		t.Model = "BPE"
		if m, err = f.bpe(&t.split, t.vocab, unk, bytes); err != nil {
			return nil, err
		}
		if user != nil {
			t.split.User, t.split.Kind = user, split.UserPieces
		}
		if t.split.Bounded {
			words = f.mergeable()
		}
	default:
		kind := "word"
		if f.kind != 3 {
			kind = "character"
		}
		return nil, shardify.Unsupported("a model of SentencePiece of type %d (%s)", f.kind, kind)
	}
	t.words = model.NewLexicon(m, words, false)
	return t, nil
}

// mergeable are the pieces that may be found in text.
func (f *spModel) mergeable() map[string]int32 {
	m := map[string]int32{}
	for i, p := range f.pieces {
		if p.kind == normalPiece {
			m[p.text] = int32(i)
		}
	}
	return m
}

func (f *spModel) bytePieces(vocab map[string]int32) (*[256]int32, error) {
	list, err := fallback(vocab)
	if err != nil {
		return nil, err
	}
	for b, id := range list {
		if f.pieces[id].kind != bytePiece {
			return nil, shardify.Corrupt(-1, "piece %d stands for byte 0x%02x, but is of type %d", id, b, f.pieces[id].kind)
		}
	}
	return list, nil
}

func (f *spModel) unigram(vocab map[string]int32, unk int32, bytes *[256]int32) model.Model {
	m := model.Unigram[float32]{Tokens: trie.New(), Scores: make([]float32, len(f.pieces)), Unk: unk, Bytes: bytes, Floor: -1e5}
	id, ok := vocab[spaceMark]
	bounded := ok && f.pieces[id].kind == normalPiece
	least, most := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	for _, q := range f.pieces {
		if q.kind == normalPiece {
			least, most = min(least, q.score), max(most, q.score)
		}
	}
	for i, q := range f.pieces {
		m.Scores[i] = q.score
		switch q.kind {
		case userPiece: // wins over all others
			m.Scores[i] = float32(float32(len(q.text))*most) - 0.1
			fallthrough
		case normalPiece:
			m.Tokens.Add([]byte(q.text), int32(i))
			for k := range q.text {
				if k > 0 && crosses(spaceMark, q.text[:k], q.text[k:]) {
					bounded = false
				}
			}
		}
	}
	m.Tokens.Pack()
	m.UnkScore = least - model.UnknownPenalty
	var mark []byte
	if bounded {
		mark = []byte(spaceMark)
	}
	return model.NewSPUnigram(m, mark)
}

// bpe merges pieces of the highest score first. Any two merge whose joined text is a piece.
func (f *spModel) bpe(p *split.Splitter, vocab map[string]int32, unk int32, bytes *[256]int32) (*model.SPBPE, error) {
	if len(f.pieces) >= model.SPFrozen {
		return nil, shardify.Unsupported("%d pieces", len(f.pieces))
	}
	m := &model.SPBPE{Merge: model.BPE{Pairs: model.NewPairs(4 * len(f.pieces))}, Chars: map[rune]int32{}, Unk: unk, Bytes: bytes}
	var scores []float32
	for i, q := range f.pieces {
		switch q.kind {
		case unusedPiece:
			return nil, shardify.Unsupported("piece %d %q is unused: merging with such pieces", i, q.text)
		case normalPiece, userPiece:
			scores = append(scores, q.score)
			if r, n := utf8.DecodeRuneInString(q.text); n == len(q.text) {
				m.Chars[r] = int32(i)
			}
		}
	}
	slices.SortFunc(scores, func(a, b float32) int { return -compare(a, b) })
	scores = slices.Compact(scores)
	symbol := func(s string) (int32, bool) {
		if id, ok := vocab[s]; ok && (f.pieces[id].kind == normalPiece || f.pieces[id].kind == userPiece) {
			return id, true
		}
		r, n := utf8.DecodeRuneInString(s)
		return model.SPChar | r, n == len(s)
	}
	_, known := vocab[spaceMark]
	p.Bounded = known && f.pieces[vocab[spaceMark]].kind == normalPiece
	for i, q := range f.pieces {
		if q.kind != normalPiece && q.kind != userPiece {
			continue
		}
		rank, _ := slices.BinarySearchFunc(scores, q.score, func(a, b float32) int { return -compare(a, b) })
		for k := range q.text {
			left, ok1 := symbol(q.text[:k])
			right, ok2 := symbol(q.text[k:])
			if k > 0 && ok1 && ok2 {
				m.Merge.Pairs.Set(left, right, uint32(rank), int32(i))
				p.Bounded = p.Bounded && !crosses(spaceMark, q.text[:k], q.text[k:])
			}
		}
	}
	return m, nil
}

func compare(a, b float32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (f *spModel) normalizer() (*normal.SentencePiece, *trie.Trie, error) {
	var user *trie.Trie
	for i, p := range f.pieces {
		if p.kind == userPiece {
			if user == nil {
				user = trie.New()
			}
			user.Add([]byte(p.text), int32(i))
		}
	}
	var table *normal.Charsmap
	if len(f.charsmap) > 0 {
		var err error
		if table, err = normal.NewCharsmap(f.charsmap); err != nil {
			return nil, nil, shardify.Corrupt(-1, "normalizer_spec: precompiled_charsmap: %v", err)
		}
	}
	mark := " "
	if f.escape {
		mark = spaceMark
	}
	return normal.NewSentencePiece(table, user, mark, f.prefix, f.suffix, f.remove), user, nil
}
