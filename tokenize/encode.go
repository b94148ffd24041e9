package tokenize

import (
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
)

// Tokenizer is a tokenizer that is loaded. Any number of encoders may use it at once.
type Tokenizer struct {
	// Kind is which file format ruled: "tokenizer.json", "SentencePiece model" or Ranks.
	Kind string
	// Model is "BPE", "Unigram" or "WordPiece".
	Model string
	// Size is the largest id + 1, added tokens included.
	Size int
	// Notes are what people should know of the file: parts of it that have no effect.
	Notes []string

	vocab         map[string]int32
	special       map[string]int32 // added tokens
	before, after []int32          // ids that the post-processor puts around a text
	raw           *added           // looked for in the text as it is; nil without such tokens
	normalizer    normalizer       // nil without one
	normalized    *added           // looked for in normalized text
	split         split
	words         words // that are one token
	model         model
}

// model makes ids of words. It is asked for words that are neither known nor remembered.
type model interface {
	encode(e *Encoder, w []byte)
}

// Counts are what an encoder met that people should hear of.
type Counts struct {
	Unknown int64 // characters that became the unknown token
	Dropped int64 // characters that became nothing, since there is no unknown token
	Special int64 // added tokens in texts
	Spelled int64 // special tokens in texts that stay text
}

// ID is the id of a token, an added one or one of the vocabulary.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.special[token]; ok {
		return id, true
	}
	id, ok := t.vocab[token]
	return id, ok
}

// Template is what the file's post-processor puts before and after each text.
func (t *Tokenizer) Template() (before, after []int32) { return t.before, t.after }

// Specials says how names of special tokens in texts are treated.
type Specials uint8

// As the reference: they are the tokens. Or they are text like any other; or errors.
const (
	AsToken Specials = iota
	AsText
	Refused
)

// Encoder makes ids of texts, one after another. It has memory of its own: one goroutine
// uses it at a time.
type Encoder struct {
	// Specials says how added tokens are treated that the file marks as special.
	Specials Specials

	t      *Tokenizer
	out    []int32
	cache  []cacheSlot
	counts Counts
	fallen int64 // unknown stretches that became bytes
	merge  merging
	norm   [2][]byte // normalized text: what a step reads, and what it writes
	room   int       // how much of it the rest of the text may still become
	cut    []byte    // what is written before text is cut
	head   []byte    // what the normalizer has made of the first character
	rooms  [][]byte  // the same, for each cutter of a chain
	best32 []node[float32]
	best64 []node[float64]
}

// NewEncoder makes an encoder.
func (t *Tokenizer) NewEncoder() *Encoder {
	return &Encoder{t: t, cache: make([]cacheSlot, 1<<cacheBits)}
}

// Counts are those of all texts so far.
func (e *Encoder) Counts() Counts { return e.counts }

// maxText bounds a text: places in it are 31 bits.
const maxText = 1<<31 - 2

// Append appends the ids of a text, without those of the template. The text must be UTF-8.
func (e *Encoder) Append(ids []int32, text []byte) ([]int32, error) {
	if len(text) > maxText {
		return ids, shardify.Unsupported("a text of %d bytes (at most %d)", len(text), maxText)
	}
	if at, why := printable.NotUTF8(text); at >= 0 {
		return ids, shardify.Corrupt(int64(at), "not UTF-8: %s", why)
	}
	e.out, e.room = ids, mayGrow(len(text))
	_, head := utf8.DecodeRune(text)
	var err error
	if e.t.raw != nil {
		err = e.t.raw.cut(e, text, head, (*Encoder).piece)
	} else if len(text) > 0 {
		err = e.piece(text, head)
	}
	ids, e.out = e.out, nil
	return ids, err
}

// piece normalizes what is between added tokens. head is what of s
// comes from the first character of the text, in bytes: 0, unless s begins the text.
func (e *Encoder) piece(s []byte, head int) error {
	if e.t.normalizer != nil {
		var err error
		if s, err = e.t.normalizer.apply(s, e, e.room); err != nil || len(s) == 0 {
			return err
		}
		e.room -= len(s)
		if head > 0 {
			head = len(e.head)
		}
	}
	if e.t.normalized != nil {
		return e.t.normalized.cut(e, s, head, (*Encoder).words)
	}
	return e.words(s, head)
}

// words cuts a piece into words.
func (e *Encoder) words(s []byte, head int) error {
	e.t.split.cut(e, s, head)
	return nil
}

// wordsOf is the path of byte-level text: nothing is written between the text and its ids.
func (e *Encoder) wordsOf(p pattern, s []byte) {
	for i := 0; i < len(s); {
		j := p.next(s, i)
		e.word(s[i:j])
		i = j
	}
}

// word appends the ids of a word: those of the table, or remembered ones, or merged ones.
func (e *Encoder) word(w []byte) {
	var h uint64
	if n := len(w); n <= shortWord {
		a, b := twoWords(w)
		h = hashOf(a, b, n)
		if id := e.t.words.find(a, b, h, n); id >= 0 {
			e.out = append(e.out, id)
			return
		}
	} else {
		if id, ok := e.t.words.long[string(w)]; ok {
			e.out = append(e.out, id)
			return
		}
		if n > cacheWord {
			e.t.model.encode(e, w)
			return
		}
		h = hashLong(w)
	}
	slot := e.slotOf(h)
	if slot.is(w) {
		e.out = append(e.out, slot.ids[:slot.k]...)
		return
	}
	from, unknown := len(e.out), e.counts.Unknown+e.counts.Dropped
	e.t.model.encode(e, w)
	if k := len(e.out) - from; k <= cacheIDs && unknown == e.counts.Unknown+e.counts.Dropped {
		slot.keep(w, e.out[from:])
	}
}

// fill puts the words of the vocabulary that the model makes one token of into the table:
// all of them, if such words are not merged.
func (t *Tokenizer) fill(vocab map[string]int32, all bool) {
	t.words = newWords(len(vocab))
	e := &Encoder{t: t}
	for w, id := range vocab {
		if w == "" {
			continue
		}
		if !all {
			e.out = e.out[:0]
			t.model.encode(e, []byte(w))
			if len(e.out) != 1 || e.out[0] != id {
				continue
			}
		}
		t.words.add([]byte(w), id)
	}
}
