package tokenize

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
)

// The file tokenizer.json, as far as it says how text is encoded.
type jsonFile struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []jsonAdded     `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Model         json.RawMessage `json:"model"`
}

type jsonAdded struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// jsonPattern is what is looked for: a text, or what a regular expression says.
type jsonPattern struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func loadJSON(data []byte) (*Tokenizer, error) {
	if at, _ := printable.NotUTF8(data); at >= 0 {
		return nil, shardify.Corrupt(int64(at), "tokenizer.json: byte 0x%02x is not UTF-8", data[at])
	}
	if at := halfPair(data); at >= 0 {
		return nil, shardify.Corrupt(int64(at), "tokenizer.json: %.6s is half of a character", data[at:])
	}
	if data[0] != '{' {
		return nil, shardify.Corrupt(0, "no tokenizer: the JSON is not an object")
	}
	var f jsonFile
	if err := unmarshal("", data, &f, false); err != nil {
		return nil, err
	}
	if f.Version != "1.0" && f.Version != "" {
		return nil, shardify.Unsupported("version %q of tokenizer.json (1.0 is)", f.Version)
	}
	if isNull(f.Model) {
		return nil, shardify.Corrupt(-1, "no tokenizer: the JSON has no model")
	}
	t := &Tokenizer{Kind: "tokenizer.json", special: map[string]int32{}}
	for _, part := range []struct {
		name string
		raw  json.RawMessage
	}{{"truncation", f.Truncation}, {"padding", f.Padding}} {
		if !isNull(part.raw) {
			t.Notes = append(t.Notes, part.name+" of the tokenizer's file has no effect here")
		}
	}
	var err error
	if t.normalizer, err = parseNormalizer("normalizer", f.Normalizer); err != nil {
		return nil, err
	}
	if err := t.parseSplit(f.PreTokenizer, f.Model); err != nil {
		return nil, err
	}
	if err := t.parseModel(f.Model); err != nil {
		return nil, err
	}
	if err := t.parseAdded(f.AddedTokens); err != nil {
		return nil, err
	}
	return t, t.parsePost("post_processor", f.PostProcessor)
}

// halfPair is the place of a surrogate that has no other one, -1 without one. Decoded, any
// two of these would be the same token.
func halfPair(data []byte) int {
	escaped := func(i int) rune { // 0: none
		if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(data[i+2:i+6]), 16, 16)
		if err != nil {
			return 0
		}
		return rune(n)
	}
	for i := 0; ; i += 2 {
		k := bytes.IndexByte(data[i:], '\\')
		if k < 0 {
			return -1
		}
		i += k
		if r := escaped(i); utf16.IsSurrogate(r) {
			if utf16.DecodeRune(r, escaped(i+6)) == utf8.RuneError {
				return i
			}
			i += 10
		} else if i+2 > len(data) {
			return -1
		}
	}
}

// unmarshal decodes a part of the file. strict refuses keys that v does not have: what such
// a key asks for would not be done.
func unmarshal(place string, data []byte, v any, strict bool) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if strict {
		d.DisallowUnknownFields()
	}
	err := d.Decode(v)
	if err == nil && place == "" {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		return shardify.Corrupt(d.InputOffset(), "tokenizer.json goes on after its end")
	}
	if err == nil {
		return nil
	}
	if place != "" {
		place += ": "
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return shardify.Corrupt(int64(len(data)), "%sthe JSON ends early", place)
	case errors.As(err, &syntax):
		return shardify.Corrupt(syntax.Offset, "%sthe JSON is damaged: %v", place, err)
	case errors.As(err, &kind):
		if kind.Field != "" {
			place += kind.Field + ": "
		}
		return shardify.Corrupt(kind.Offset, "%s%s where %s belongs", place, kind.Value, kind.Type)
	}
	return shardify.Unsupported("%s%s", place, strings.TrimPrefix(err.Error(), "json: "))
}

// typeOf is the type of a part.
func typeOf(place string, raw json.RawMessage) (string, error) {
	var p struct {
		Type string `json:"type"`
	}
	err := unmarshal(place, raw, &p, false)
	return p.Type, err
}

// sequence is the parts of a part of type Sequence, under their key, or the part itself.
// Sequences may be nested.
func sequence(place, key string, raw json.RawMessage, f func(place, kind string, raw json.RawMessage) error) error {
	n := 0
	return sequenceIn(place, key, raw, 0, func(place, kind string, raw json.RawMessage) error {
		if n++; n > maxParts {
			return shardify.Unsupported("%s: more than %d parts", place, maxParts)
		}
		return f(place, kind, raw)
	})
}

// maxDepth bounds sequences within sequences, maxParts what is in all of them together.
const (
	maxDepth = 8
	maxParts = 64
)

// maxAround bounds the ids that a template puts around a text.
const maxAround = 1024

func sequenceIn(place, key string, raw json.RawMessage, depth int, f func(place, kind string, raw json.RawMessage) error) error {
	if isNull(raw) {
		return nil
	}
	kind, err := typeOf(place, raw)
	if err != nil {
		return err
	}
	if kind != "Sequence" {
		return f(place, kind, raw)
	}
	parts := map[string]json.RawMessage{}
	if err := unmarshal(place, raw, &parts, false); err != nil {
		return err
	}
	var list []json.RawMessage
	if err := unmarshal(place+"."+key, parts[key], &list, false); err != nil {
		return err
	}
	if depth == maxDepth || len(list) > maxParts {
		return shardify.Unsupported("%s: a sequence of %d parts, %d deep", place, len(list), depth)
	}
	for i, raw := range list {
		if err := sequenceIn(fmt.Sprintf("%s[%d]", place, i), key, raw, depth+1, f); err != nil {
			return err
		}
	}
	return nil
}

func notSupported(place, kind string) error {
	return shardify.Unsupported("%s: type %s", place, kind)
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
	m := &bpe{unk: -1, fuse: f.FuseUnk}
	if f.UnkToken != nil {
		id, ok := all.vocab[*f.UnkToken]
		if !ok {
			return shardify.Corrupt(-1, "model.unk_token %q is not in the vocabulary", *f.UnkToken)
		}
		m.unk = id
	}
	words := all.vocab
	if t.split.kind == byteLevel {
		if words, err = m.byteWords(all.vocab); err != nil {
			return err
		}
	} else {
		m.charTokens(all.vocab)
		if f.ByteFallback {
			if m.bytes, err = fallback(all.vocab); err != nil {
				return err
			}
		}
	}
	if err := m.parseMerges(f.Merges, all.vocab, t.split.crossed); err != nil {
		return err
	}
	t.vocab, t.Size, t.model = all.vocab, all.size, m
	if _, ok := all.vocab[string(t.split.mark)]; !ok || f.IgnoreMerges || t.split.kind == byteLevel {
		t.split.bounded = false
	}
	t.fill(words, f.IgnoreMerges)
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

// byteLetters are the letters that byte-level vocabularies write bytes with.
var byteLetters = func() (letters [256]rune) {
	n := rune(0)
	for b := range letters {
		if c := rune(b); 0x21 <= c && c <= 0x7e || 0xa1 <= c && c <= 0xac || 0xae <= c {
			letters[b] = c
		} else {
			letters[b] = 256 + n
			n++
		}
	}
	return letters
}()

// byteWords are the tokens as bytes of text. Those that have other letters are in no text.
func (m *bpe) byteWords(vocab map[string]int32) (map[string]int32, error) {
	m.bytes = new([256]int32)
	var back [512]int16 // 1 + byte
	for b, r := range byteLetters {
		id, ok := vocab[string(r)]
		if !ok {
			return nil, shardify.Corrupt(-1, "model.vocab: byte 0x%02x has no token %q", b, string(r))
		}
		m.bytes[b], back[r] = id, int16(b+1)
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
func (m *bpe) charTokens(vocab map[string]int32) {
	m.chars = map[rune]int32{}
	for token, id := range vocab {
		if r, n := utf8.DecodeRuneInString(token); n == len(token) && n > 0 {
			m.chars[r] = id
		}
	}
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
func (m *bpe) parseMerges(raw json.RawMessage, vocab map[string]int32, each func(left, right string)) error {
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
	m.pairs = newPairs(len(merges))
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
		m.pairs.set(left, right, uint32(i), id)
		each(pair[0], pair[1])
	}
	return nil
}

// crossed notes a merge that goes on beyond the end of a word.
func (p *split) crossed(left, right string) {
	if !strings.HasSuffix(left, string(p.mark)) && strings.HasPrefix(right, string(p.mark)) {
		p.bounded = false
	}
}

// parseAdded reads the added tokens. The ids must be those that the reference gives them:
// the vocabulary's, or the next ones in their order.
func (t *Tokenizer) parseAdded(list []jsonAdded) error {
	raw, normalized := newAdded(), newAdded()
	last := -1
	size := len(t.vocab)
	for i, a := range list {
		place := fmt.Sprintf("added_tokens[%d] %q", i, a.Content)
		if a.Content == "" {
			return shardify.Corrupt(-1, "%s: an empty token", place)
		}
		id, known := t.vocab[a.Content]
		if !known {
			id, known = t.special[a.Content]
		}
		if !known {
			id = int32(max(size, last+1))
		}
		switch {
		case a.ID < 0 || a.ID >= math.MaxInt32:
			return shardify.Corrupt(-1, "%s: its id is %d: ids are 0 to %d", place, a.ID, math.MaxInt32-1)
		case int64(id) != a.ID:
			return shardify.Corrupt(-1, "%s: its id is %d, but the reference counts %d", place, a.ID, id)
		case len(a.Content) > maxAdded:
			return shardify.Unsupported("%s...: an added token of %d bytes (at most %d)", place[:40], len(a.Content), maxAdded)
		}
		last = max(last, int(id))
		t.special[a.Content] = id
		t.Size = max(t.Size, int(id)+1)
	}
	for _, special := range []bool{true, false} { // of those written the same, special ones come first
		for i, a := range list {
			if a.Special != special {
				continue
			}
			tok := addedToken{content: a.Content, id: int32(a.ID), word: a.SingleWord, lstrip: a.LStrip, rstrip: a.RStrip, normalized: a.Normalized, special: a.Special}
			if !a.Normalized {
				raw.add([]byte(a.Content), tok)
				continue
			}
			written := []byte(a.Content)
			if t.normalizer != nil {
				e := &Encoder{t: t}
				var err error
				if written, err = t.normalizer.apply(written, e, mayGrow(len(written))); err != nil || len(written) == 0 {
					return shardify.Unsupported("added_tokens[%d] %q: nothing is left of it once it is normalized", i, a.Content)
				}
			}
			if len(written) > maxAdded {
				return shardify.Unsupported("added_tokens[%d]: %d bytes once it is normalized (at most %d)", i, len(written), maxAdded)
			}
			normalized.add(written, tok)
		}
	}
	if len(raw.tokens) > 0 {
		t.raw = raw
	}
	if len(normalized.tokens) > 0 {
		t.normalized = normalized
	}
	return nil
}

// parsePost reads what is put around a text.
func (t *Tokenizer) parsePost(place string, raw json.RawMessage) error {
	return sequence(place, "processors", raw, func(place, kind string, raw json.RawMessage) error {
		switch kind {
		case "ByteLevel":
			return nil
		case "TemplateProcessing":
			return t.template(place, raw)
		case "BertProcessing", "RobertaProcessing":
			return t.around(place, raw)
		}
		return notSupported(place, kind)
	})
}

// put adds ids around those that are there already.
func (t *Tokenizer) put(before, after []int32) {
	t.before, t.after = append(before[:len(before):len(before)], t.before...), append(t.after, after...)
}

func (t *Tokenizer) template(place string, raw json.RawMessage) error {
	type named struct {
		ID string `json:"id"`
	}
	var f struct {
		Single []struct {
			SpecialToken *named `json:"SpecialToken"`
			Sequence     *named `json:"Sequence"`
		} `json:"single"`
		SpecialTokens map[string]struct {
			IDs []int64 `json:"ids"`
		} `json:"special_tokens"`
	}
	if err := unmarshal(place, raw, &f, false); err != nil {
		return err
	}
	var parts [2][]int32 // before and after the text
	texts := 0
	for i, p := range f.Single {
		switch {
		case p.SpecialToken != nil:
			s, ok := f.SpecialTokens[p.SpecialToken.ID]
			if !ok {
				return shardify.Corrupt(-1, "%s: single[%d] is %q, which special_tokens does not define", place, i, p.SpecialToken.ID)
			}
			if n := len(parts[0]) + len(parts[1]) + len(s.IDs); n > maxAround {
				return shardify.Unsupported("%s: %d ids around a text (at most %d)", place, n, maxAround)
			}
			for _, id := range s.IDs {
				if id < 0 || int(id) >= t.Size {
					return shardify.Corrupt(-1, "%s: special_tokens %q has id %d: the tokenizer has %d", place, p.SpecialToken.ID, id, t.Size)
				}
				parts[min(texts, 1)] = append(parts[min(texts, 1)], int32(id))
			}
		case p.Sequence != nil && p.Sequence.ID == "A":
			texts++
		default:
			return shardify.Corrupt(-1, "%s: single[%d] is neither a special token nor the text A", place, i)
		}
	}
	if texts != 1 {
		return shardify.Unsupported("%s: a template that has the text %d times", place, texts)
	}
	t.put(parts[0], parts[1])
	return nil
}

func (t *Tokenizer) around(place string, raw json.RawMessage) error {
	var f struct {
		Sep, Cls [2]any
	}
	if err := unmarshal(place, raw, &f, false); err != nil {
		return err
	}
	id := func(v any) (int32, error) {
		n, ok := v.(float64)
		if !ok || n < 0 || n >= float64(t.Size) || n != float64(int32(n)) {
			return 0, shardify.Corrupt(-1, "%s: id %v: the tokenizer has %d", place, v, t.Size)
		}
		return int32(n), nil
	}
	cls, err := id(f.Cls[1])
	if err != nil {
		return err
	}
	sep, err := id(f.Sep[1])
	t.put([]int32{cls}, []int32{sep})
	return err
}

// parseSplit reads how text is cut into words: by a loop for the usual sequences, which keep the
// bytes of byte-level models, by a chain for the others.
func (t *Tokenizer) parseSplit(raw, model json.RawMessage) error {
	err := parseUsual("pre_tokenizer", raw, &t.split, t.normalizer)
	if err != nil && !errors.Is(err, shardify.ErrUnsupported) {
		return err
	}
	if err == nil && t.split.kind == byteLevel {
		kind, e := modelType(model)
		if e != nil || kind == "BPE" {
			return e
		}
		err = shardify.ErrUnsupported // the vocabulary has letters for bytes
	}
	if err != nil {
		return parseChain("pre_tokenizer", raw, &t.split)
	}
	return nil
}

func parseUsual(place string, raw json.RawMessage, p *split, n normalizer) error {
	*p = split{mark: []byte(spaceMark), bounded: true}
	err := sequence(place, "pretokenizers", raw, func(place, kind string, raw json.RawMessage) error {
		if p.kind != noSplit {
			return shardify.Unsupported("%s: type %s after others", place, kind)
		}
		switch kind {
		case "ByteLevel":
			return p.parseByteLevel(place, raw)
		case "Split":
			return p.parseSplitOn(place, raw, n)
		case "Digits":
			return p.parseDigits(place, raw)
		case "Metaspace":
			return p.parseMetaspace(place, raw)
		case "WhitespaceSplit":
			if p.outer != whole {
				return notSupported(place, kind)
			}
			p.outer = spaced
			return nil
		case "BertPreTokenizer":
			if p.outer != whole {
				return notSupported(place, kind)
			}
			p.kind, p.chars = bert, bertPunct()
			return nil
		}
		return notSupported(place, kind)
	})
	if err == nil && p.kind == noSplit && p.outer != whole {
		return shardify.Unsupported("%s: patterns without ByteLevel after them", place)
	}
	return err
}

func (p *split) parseByteLevel(place string, raw json.RawMessage) error {
	f := struct {
		Type        string `json:"type"`
		Prefix      bool   `json:"add_prefix_space"`
		TrimOffsets bool   `json:"trim_offsets"`
		UseRegex    bool   `json:"use_regex"`
	}{UseRegex: true}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return err
	}
	if p.outer == spaced {
		return shardify.Unsupported("%s: type ByteLevel after WhitespaceSplit", place)
	}
	p.kind, p.prefix = byteLevel, f.Prefix
	if f.UseRegex {
		p.inner = gpt2
	}
	if !p.prefix && p.inner == whole { // one scanner is enough
		p.outer, p.inner = whole, p.outer
	}
	return nil
}

type jsonSplit struct {
	Type     string      `json:"type"`
	Pattern  jsonPattern `json:"pattern"`
	Behavior string      `json:"behavior"`
	Invert   bool        `json:"invert"`
}

// scanner is that of a regular expression.
func (f *jsonSplit) scanner(place string) (pattern, error) {
	if f.Pattern.Regex == nil {
		return whole, shardify.Unsupported("%s: Split at %s", place, quoted(f.Pattern.String))
	}
	s, ok := patterns[*f.Pattern.Regex]
	if !ok {
		return whole, shardify.Unsupported("%s: Split by the pattern %q", place, *f.Pattern.Regex)
	}
	return s, nil
}

func (p *split) parseSplitOn(place string, raw json.RawMessage, n normalizer) error {
	var f jsonSplit
	if err := unmarshal(place, raw, &f, true); err != nil {
		return err
	}
	if f.Pattern.String != nil && *f.Pattern.String == " " && n.removesSpaces() {
		return nil // no space is left
	}
	s, err := f.scanner(place)
	if err != nil {
		return err
	}
	if f.Behavior != "Isolated" || f.Invert {
		return shardify.Unsupported("%s: Split with behavior %s, invert %v", place, f.Behavior, f.Invert)
	}
	if p.outer != whole {
		return shardify.Unsupported("%s: Split after another pre-tokenizer", place)
	}
	p.outer = s
	return nil
}

func quoted(s *string) string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("%q", *s)
}

func (p *split) parseDigits(place string, raw json.RawMessage) error {
	var f struct {
		Type       string `json:"type"`
		Individual bool   `json:"individual_digits"`
	}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return err
	}
	if !f.Individual || p.outer != whole {
		return shardify.Unsupported("%s: Digits that are not individual, or after another pre-tokenizer", place)
	}
	p.outer = digits
	return nil
}

func (p *split) parseMetaspace(place string, raw json.RawMessage) error {
	f := struct {
		Type        string  `json:"type"`
		Replacement string  `json:"replacement"`
		StrRep      string  `json:"str_rep"`
		AddPrefix   *bool   `json:"add_prefix_space"`
		Scheme      *string `json:"prepend_scheme"`
		Split       *bool   `json:"split"`
	}{Replacement: "\u2581"}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return err
	}
	if p.outer != whole && p.outer != spaced {
		return shardify.Unsupported("%s: Metaspace after a pattern", place)
	}
	if utf8.RuneCountInString(f.Replacement) != 1 {
		return shardify.Corrupt(-1, "%s: replacement %q is not one character", place, f.Replacement)
	}
	p.kind, p.mark, p.when, p.each = metaspace, []byte(f.Replacement), always, f.Split == nil || *f.Split
	if f.AddPrefix != nil && !*f.AddPrefix {
		p.when = never
	}
	if f.Scheme != nil {
		switch *f.Scheme {
		case "always":
			p.when = always
		case "first":
			p.when = firstPiece
		case "never":
			p.when = never
		default:
			return shardify.Corrupt(-1, "%s: prepend_scheme %q", place, *f.Scheme)
		}
	}
	return nil
}
