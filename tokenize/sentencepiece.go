package tokenize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/shardify/shardify"
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
	n, err := f.normalizer()
	if err != nil {
		return nil, err
	}
	t.normalizer = normalizer{n}
	t.split = split{mark: []byte(spaceMark)}
	switch f.kind {
	case 1:
		t.Model, t.model, t.split.kind = "Unigram", f.unigram(t.vocab, unk, bytes), unsplit
	case 2:
		t.Model = "BPE"
		m, err := f.bpe(&t.split, t.vocab, unk, bytes)
		if err != nil {
			return nil, err
		}
		if t.model = m; n.user != nil {
			t.split.user, t.split.kind = n.user, userPieces
		}
	default:
		kind := "word"
		if f.kind != 3 {
			kind = "character"
		}
		return nil, shardify.Unsupported("a model of SentencePiece of type %d (%s)", f.kind, kind)
	}
	t.words = newWords(0)
	if t.split.bounded {
		t.fill(f.mergeable(), false)
	}
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

func (f *spModel) unigram(vocab map[string]int32, unk int32, bytes *[256]int32) model {
	m := &spUnigram{unigram: unigram[float32]{tokens: newTrie(), scores: make([]float32, len(f.pieces)), unk: unk, bytes: bytes, floor: -1e5, best: func(e *Encoder) *[]node[float32] { return &e.best32 }}}
	p := split{mark: []byte(spaceMark)}
	id, ok := vocab[spaceMark]
	p.bounded = ok && f.pieces[id].kind == normalPiece
	least, most := float32(math.MaxFloat32), float32(-math.MaxFloat32)
	for _, q := range f.pieces {
		if q.kind == normalPiece {
			least, most = min(least, q.score), max(most, q.score)
		}
	}
	for i, q := range f.pieces {
		m.scores[i] = q.score
		switch q.kind {
		case userPiece: // wins over all others
			m.scores[i] = float32(float32(len(q.text))*most) - 0.1
			fallthrough
		case normalPiece:
			m.tokens.add([]byte(q.text), int32(i))
			for k := range q.text {
				if k > 0 {
					p.crossed(q.text[:k], q.text[k:])
				}
			}
		}
	}
	m.tokens.pack()
	m.unkIs = least - unknownPenalty
	if m.low = m.floor - float32(cacheWord*min(m.unkIs, -1)); p.bounded {
		m.mark = p.mark
	}
	return m
}

// Ids of tokens that are not pieces: characters, and pieces that nothing is merged with.
const (
	spChar   = 1 << 30
	spFrozen = 1 << 29
)

// bpe merges pieces of the highest score first. Any two merge whose joined text is a piece.
func (f *spModel) bpe(p *split, vocab map[string]int32, unk int32, bytes *[256]int32) (*spBPE, error) {
	if len(f.pieces) >= spFrozen {
		return nil, shardify.Unsupported("%d pieces", len(f.pieces))
	}
	m := &spBPE{merge: bpe{pairs: newPairs(4 * len(f.pieces))}, chars: map[rune]int32{}, unk: unk, bytes: bytes}
	var scores []float32
	for i, q := range f.pieces {
		switch q.kind {
		case unusedPiece:
			return nil, shardify.Unsupported("piece %d %q is unused: merging with such pieces", i, q.text)
		case normalPiece, userPiece:
			scores = append(scores, q.score)
			if r, n := utf8.DecodeRuneInString(q.text); n == len(q.text) {
				m.chars[r] = int32(i)
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
		return spChar | r, n == len(s)
	}
	_, known := vocab[spaceMark]
	p.bounded = known && f.pieces[vocab[spaceMark]].kind == normalPiece
	for i, q := range f.pieces {
		if q.kind != normalPiece && q.kind != userPiece {
			continue
		}
		rank, _ := slices.BinarySearchFunc(scores, q.score, func(a, b float32) int { return -compare(a, b) })
		for k := range q.text {
			left, ok1 := symbol(q.text[:k])
			right, ok2 := symbol(q.text[k:])
			if k > 0 && ok1 && ok2 {
				m.merge.pairs.set(left, right, uint32(rank), int32(i))
				p.crossed(q.text[:k], q.text[k:])
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

// spBPE is BPE over characters that need not be pieces.
type spBPE struct {
	merge bpe
	chars map[rune]int32
	unk   int32
	bytes *[256]int32
}

func (m *spBPE) encode(e *Encoder, w []byte) {
	from := len(e.out)
	ids := e.merge.ids[:0]
	for i := 0; i < len(w); {
		r, n := utf8.DecodeRune(w[i:])
		id, ok := m.chars[r]
		if !ok {
			id = spChar | r
		}
		ids = append(ids, id)
		i += n
	}
	e.merge.ids = ids
	m.merge.all(e)
	// Each unknown character is replaced; without bytes, neighbours are one.
	known := true
	for _, id := range e.out[from:] {
		known = known && id < spFrozen
	}
	if known {
		return
	}
	e.merge.ids = append(e.merge.ids[:0], e.out[from:]...)
	e.out = e.out[:from]
	pending := false
	for _, id := range e.merge.ids {
		if id < spFrozen {
			e.out, pending = append(e.out, id), false
			continue
		}
		if m.bytes == nil {
			e.counts.Unknown++
			if !pending {
				e.out = append(e.out, m.unk)
			}
			pending = true
			continue
		}
		var one [utf8.UTFMax]byte
		for _, c := range utf8.AppendRune(one[:0], id&^spChar) {
			e.out = append(e.out, m.bytes[c])
		}
	}
}

// spNormalizer does what a model does to a text before it is cut.
type spNormalizer struct {
	table  *charsmap // nil: characters stay
	user   *trie     // pieces that stay as they are; nil without such pieces
	prefix bool
	suffix bool
	remove bool
	mark   []byte
	plain  [utf8.RuneSelf]bool // characters that stay what they are before another of ASCII
	inWord [256]bool           // those of them that are not spaces
}

func (f *spModel) normalizer() (*spNormalizer, error) {
	n := &spNormalizer{prefix: f.prefix, suffix: f.suffix, remove: f.remove, mark: []byte(" ")}
	if f.escape {
		n.mark = []byte(spaceMark)
	}
	for i, p := range f.pieces {
		if p.kind == userPiece {
			if n.user == nil {
				n.user = newTrie()
			}
			n.user.add([]byte(p.text), int32(i))
		}
	}
	if len(f.charsmap) > 0 {
		var err error
		if n.table, err = newCharsmap(f.charsmap); err != nil {
			return nil, shardify.Corrupt(-1, "normalizer_spec: precompiled_charsmap: %v", err)
		}
	}
	for c := range n.plain {
		n.plain[c] = (n.user == nil || n.user.first[c] == 0) && (n.table == nil || !n.table.begins(byte(c)))
		n.inWord[c] = n.plain[c] && c != ' '
	}
	return n, nil
}

// next is the normalized form of the beginning of s, and its length; -1 if the table has no end.
func (n *spNormalizer) next(s []byte) (to []byte, k int) {
	if s[0] < utf8.RuneSelf && n.plain[s[0]] && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	if n.user != nil {
		if v, k := n.user.longest(s); v >= 0 {
			return s[:k], k
		}
	}
	if n.table != nil {
		if to, k := n.table.find(s, false); k != 0 {
			return to, k
		}
	}
	k = 1
	if s[0] >= utf8.RuneSelf {
		_, k = utf8.DecodeRune(s)
	}
	return s[:k], k
}

func (n *spNormalizer) apply(dst, s []byte, limit int) ([]byte, error) {
	if n.remove {
		for len(s) > 0 {
			to, k := n.next(s)
			if string(to) != " " {
				break
			}
			s = s[k:]
		}
	}
	if len(s) == 0 {
		return dst, nil
	}
	if n.prefix && !n.suffix {
		dst = append(dst, n.mark...)
	}
	afterSpace := n.remove
	for len(s) > 0 {
		same := 0
		for same+1 < len(s) && n.inWord[s[same]] && s[same+1] < utf8.RuneSelf {
			same++
		}
		if same > 0 {
			if dst, s, afterSpace = append(dst, s[:same]...), s[same:], false; len(dst) > limit {
				return nil, tooLong()
			}
			continue
		}
		to, k := n.next(s)
		if k < 0 {
			return nil, shardify.Corrupt(-1, "normalizer_spec: precompiled_charsmap looks for texts of more than %d bytes", maxKey)
		}
		s = s[k:]
		if afterSpace {
			to = bytes.TrimLeft(to, " ")
		}
		for _, c := range to {
			if c == ' ' {
				dst = append(dst, n.mark...)
			} else {
				dst = append(dst, c)
			}
		}
		if len(to) > 0 {
			afterSpace = n.remove && to[len(to)-1] == ' '
		}
		if len(dst) > limit {
			return nil, tooLong()
		}
	}
	if n.remove {
		for bytes.HasSuffix(dst, n.mark) {
			dst = dst[:len(dst)-len(n.mark)]
		}
	}
	if n.prefix && n.suffix {
		dst = append(dst, n.mark...)
	}
	return dst, nil
}

// cutUser cuts out pieces that the user defined; they are not merged with others.
func (p *split) cutUser(e *Encoder, s []byte) {
	from := 0
	for i := 0; i < len(s); {
		v, n := p.user.longest(s[i:])
		if v < 0 {
			i++
			continue
		}
		if from < i {
			p.marked(e, s[from:i])
		}
		e.out = append(e.out, v)
		i += n
		from = i
	}
	if from < len(s) {
		p.marked(e, s[from:])
	}
}
