package tokenize

import (
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/normal"
	"github.com/shardify/shardify/tokenize/split"
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
	special       map[string]int32  // added tokens
	before, after []int32           // ids that the post-processor puts around a text
	raw           *added            // looked for in the text as it is; nil without such tokens
	normalizer    normal.Normalizer // nil without one
	normalized    *added            // looked for in normalized text
	split         split.Splitter
	words         *model.Lexicon
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

	t       *Tokenizer
	coder   *model.Coder
	norm    normal.Memory // what the normalizer writes
	cuts    split.Memory
	room    int // how much normalized text the rest of the text may still become
	special int64
	spelled int64
}

// NewEncoder makes an encoder.
func (t *Tokenizer) NewEncoder() *Encoder {
	return &Encoder{t: t, coder: model.NewCoder(t.words), norm: normal.Memory{Watch: t.split.When == split.FirstPiece}}
}

// Counts are those of all texts so far.
func (e *Encoder) Counts() Counts {
	return Counts{Unknown: e.coder.Unknown, Dropped: e.coder.Dropped, Special: e.special, Spelled: e.spelled}
}

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
	e.coder.Out, e.room = ids, normal.MayGrow(len(text))
	_, head := utf8.DecodeRune(text)
	var err error
	if e.t.raw != nil {
		err = e.t.raw.cut(e, text, head, (*Encoder).piece)
	} else if len(text) > 0 {
		err = e.piece(text, head)
	}
	ids, e.coder.Out = e.coder.Out, nil
	return ids, err
}

// piece normalizes what is between added tokens. head is what of s
// comes from the first character of the text, in bytes: 0, unless s begins the text.
func (e *Encoder) piece(s []byte, head int) error {
	if e.t.normalizer != nil {
		var err error
		if s, err = e.t.normalizer.Apply(s, &e.norm, e.room); err != nil || len(s) == 0 {
			return err
		}
		e.room -= len(s)
		if head > 0 {
			head = len(e.norm.Head)
		}
	}
	if e.t.normalized != nil {
		return e.t.normalized.cut(e, s, head, (*Encoder).words)
	}
	return e.words(s, head)
}

// words cuts a piece into words.
func (e *Encoder) words(s []byte, head int) error {
	e.t.split.Cut(e.coder, &e.cuts, s, head)
	return nil
}
