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
	"github.com/shardify/shardify/tokenize/normal"
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
				var own normal.Memory
				var err error
				if written, err = t.normalizer.Apply(written, &own, normal.MayGrow(len(written))); err != nil || len(written) == 0 {
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
