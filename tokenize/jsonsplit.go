package tokenize

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/normal"
	"github.com/shardify/shardify/tokenize/pattern"
	"github.com/shardify/shardify/tokenize/split"
)

// parseSplit reads how text is cut into words: by a loop for the usual sequences, which keep the
// bytes of byte-level models, by a chain for the others.
func (t *Tokenizer) parseSplit(raw, model json.RawMessage) error {
	err := parseUsual("pre_tokenizer", raw, &t.split, t.normalizer)
	if err != nil && !errors.Is(err, shardify.ErrUnsupported) {
		return err
	}
	if err == nil && t.split.Kind == split.ByteLevel {
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

func parseUsual(place string, raw json.RawMessage, p *split.Splitter, n normal.Normalizer) error {
	*p = split.Splitter{Mark: []byte(spaceMark), Bounded: true}
	err := sequence(place, "pretokenizers", raw, func(place, kind string, raw json.RawMessage) error {
		if p.Kind != split.None {
			return shardify.Unsupported("%s: type %s after others", place, kind)
		}
		switch kind {
		case "ByteLevel":
			return parseByteLevel(p, place, raw)
		case "Split":
			return parseSplitOn(p, place, raw, n)
		case "Digits":
			return parseDigits(p, place, raw)
		case "Metaspace":
			return parseMetaspace(p, place, raw)
		case "WhitespaceSplit":
			if p.Outer != pattern.Whole {
				return notSupported(place, kind)
			}
			p.Outer = pattern.Spaced
			return nil
		case "BertPreTokenizer":
			if p.Outer != pattern.Whole {
				return notSupported(place, kind)
			}
			p.Kind, p.Chars = split.Bert, chars.BertPunct()
			return nil
		}
		return notSupported(place, kind)
	})
	if err == nil && p.Kind == split.None && p.Outer != pattern.Whole {
		return shardify.Unsupported("%s: patterns without ByteLevel after them", place)
	}
	return err
}

func parseByteLevel(p *split.Splitter, place string, raw json.RawMessage) error {
	f := struct {
		Type        string `json:"type"`
		Prefix      bool   `json:"add_prefix_space"`
		TrimOffsets bool   `json:"trim_offsets"`
		UseRegex    bool   `json:"use_regex"`
	}{UseRegex: true}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return err
	}
	if p.Outer == pattern.Spaced {
		return shardify.Unsupported("%s: type ByteLevel after WhitespaceSplit", place)
	}
	p.Kind, p.Prefix = split.ByteLevel, f.Prefix
	if f.UseRegex {
		p.Inner = pattern.GPT2
	}
	if !p.Prefix && p.Inner == pattern.Whole { // one scanner is enough
		p.Outer, p.Inner = pattern.Whole, p.Outer
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
func (f *jsonSplit) scanner(place string) (pattern.Pattern, error) {
	if f.Pattern.Regex == nil {
		return pattern.Whole, shardify.Unsupported("%s: Split at %s", place, quoted(f.Pattern.String))
	}
	s, ok := pattern.Of(*f.Pattern.Regex)
	if !ok {
		return pattern.Whole, shardify.Unsupported("%s: Split by the pattern %q", place, *f.Pattern.Regex)
	}
	return s, nil
}

func parseSplitOn(p *split.Splitter, place string, raw json.RawMessage, n normal.Normalizer) error {
	var f jsonSplit
	if err := unmarshal(place, raw, &f, true); err != nil {
		return err
	}
	if f.Pattern.String != nil && *f.Pattern.String == " " && n.RemovesSpaces() {
		return nil // no space is left
	}
	s, err := f.scanner(place)
	if err != nil {
		return err
	}
	if f.Behavior != "Isolated" || f.Invert {
		return shardify.Unsupported("%s: Split with behavior %s, invert %v", place, f.Behavior, f.Invert)
	}
	if p.Outer != pattern.Whole {
		return shardify.Unsupported("%s: Split after another pre-tokenizer", place)
	}
	p.Outer = s
	return nil
}

func quoted(s *string) string {
	if s == nil {
		return "nothing"
	}
	return fmt.Sprintf("%q", *s)
}

func parseDigits(p *split.Splitter, place string, raw json.RawMessage) error {
	var f struct {
		Type       string `json:"type"`
		Individual bool   `json:"individual_digits"`
	}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return err
	}
	if !f.Individual || p.Outer != pattern.Whole {
		return shardify.Unsupported("%s: Digits that are not individual, or after another pre-tokenizer", place)
	}
	p.Outer = pattern.Digits
	return nil
}

func parseMetaspace(p *split.Splitter, place string, raw json.RawMessage) error {
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
	if p.Outer != pattern.Whole && p.Outer != pattern.Spaced {
		return shardify.Unsupported("%s: Metaspace after a pattern", place)
	}
	if utf8.RuneCountInString(f.Replacement) != 1 {
		return shardify.Corrupt(-1, "%s: replacement %q is not one character", place, f.Replacement)
	}
	p.Kind, p.Mark, p.When, p.Each = split.Metaspace, []byte(f.Replacement), split.Always, f.Split == nil || *f.Split
	if f.AddPrefix != nil && !*f.AddPrefix {
		p.When = split.Never
	}
	if f.Scheme != nil {
		switch *f.Scheme {
		case "always":
			p.When = split.Always
		case "first":
			p.When = split.FirstPiece
		case "never":
			p.When = split.Never
		default:
			return shardify.Corrupt(-1, "%s: prepend_scheme %q", place, *f.Scheme)
		}
	}
	return nil
}

// parseChain reads pre-tokenizers one by one.
func parseChain(place string, raw json.RawMessage, p *split.Splitter) error {
	*p = split.Splitter{Kind: split.Chained, Mark: []byte(spaceMark)}
	return sequence(place, "pretokenizers", raw, func(place, kind string, raw json.RawMessage) error {
		c, err := parseCutter(place, kind, raw, p)
		p.Chain = append(p.Chain, c...)
		return err
	})
}

func parseCutter(place, kind string, raw json.RawMessage, p *split.Splitter) (split.Chain, error) {
	var f struct {
		Type       string `json:"type"`
		Delimiter  string `json:"delimiter"`
		Behavior   string `json:"behavior"`
		Individual bool   `json:"individual_digits"`
	}
	one := split.Splitter{Mark: p.Mark}
	switch kind {
	case "Whitespace", "WhitespaceSplit", "UnicodeScripts", "Punctuation", "CharDelimiterSplit", "Digits", "BertPreTokenizer":
		if err := unmarshal(place, raw, &f, true); err != nil {
			return nil, err
		}
	}
	switch kind {
	case "Whitespace":
		return split.Chain{split.WordsOrOther{}}, nil
	case "WhitespaceSplit":
		return split.Chain{split.Delimited{Match: split.MatchClass(chars.Space), As: split.Removed}}, nil
	case "UnicodeScripts":
		return split.Chain{split.Scripts{Of: chars.Scripts()}}, nil
	case "BertPreTokenizer":
		return split.Chain{split.Delimited{Match: split.MatchClass(chars.Space), As: split.Removed}, split.Delimited{Match: split.MatchPunctuation, As: split.Isolated}}, nil
	case "Digits":
		if f.Individual {
			return split.Chain{split.Delimited{Match: split.MatchClass(chars.Numeric), As: split.Isolated}}, nil
		}
		return split.Chain{split.Delimited{Match: split.MatchClass(chars.Numeric), As: split.Contiguous}}, nil
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(f.Delimiter) != 1 {
			return nil, shardify.Corrupt(-1, "%s: delimiter %q is not one character", place, f.Delimiter)
		}
		return split.Chain{split.Delimited{Match: split.MatchText([]byte(f.Delimiter)), As: split.Removed}}, nil
	case "Punctuation":
		as, ok := split.Behaviors[f.Behavior]
		if f.Behavior == "" {
			as, ok = split.Isolated, true
		}
		if !ok {
			return nil, shardify.Corrupt(-1, "%s: behavior %q", place, f.Behavior)
		}
		return split.Chain{split.Delimited{Match: split.MatchPunctuation, As: as}}, nil
	case "ByteLevel":
		err := parseByteLevel(&one, place, raw)
		return split.Chain{split.AsLetters{Prefix: one.Prefix, Words: max(one.Inner, one.Outer)}}, err
	case "Metaspace":
		err := parseMetaspace(&one, place, raw)
		if one.When == split.FirstPiece {
			p.When = split.FirstPiece
		}
		return split.Chain{split.Marks{By: &one}}, err
	case "Split":
		return parseSplitCutter(place, raw)
	}
	return nil, notSupported(place, kind)
}

func parseSplitCutter(place string, raw json.RawMessage) (split.Chain, error) {
	var f jsonSplit
	if err := unmarshal(place, raw, &f, true); err != nil {
		return nil, err
	}
	as, ok := split.Behaviors[f.Behavior]
	if !ok {
		return nil, shardify.Corrupt(-1, "%s: behavior %q", place, f.Behavior)
	}
	if text := f.Pattern.String; text != nil && *text != "" {
		return split.Chain{split.Delimited{Match: split.MatchText([]byte(*text)), As: as, Invert: f.Invert}}, nil
	}
	s, err := f.scanner(place)
	if err == nil && (as != split.Isolated || f.Invert) {
		err = shardify.Unsupported("%s: Split with behavior %s, invert %v", place, f.Behavior, f.Invert)
	}
	return split.Chain{split.ByPattern{Pattern: s}}, err
}
