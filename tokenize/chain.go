package tokenize

import (
	"bytes"
	"encoding/json"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// chain is a sequence of pre-tokenizers, each of which cuts the pieces that the one before it
// has made. Sequences that split has a loop for do not need it.
type chain []cutter

// cutter is one pre-tokenizer. It passes the pieces of s, none of them empty, to next. As the
// reference says, a piece begins the text if it begins within head, the bytes of s that come from
// the first character of the text; it may be less than 0. A cutter that writes text keeps it in *room, which is its own, until it
// returns.
type cutter interface {
	cut(s []byte, head int, room *[]byte, next func(s []byte, head int))
}

// cut passes s through the cutters from k on.
func (c chain) cut(e *Encoder, k int, s []byte, head int) {
	if k == len(c) {
		e.word(s)
		return
	}
	if len(e.rooms) < len(c) {
		e.rooms = make([][]byte, len(c))
	}
	c[k].cut(s, head, &e.rooms[k], func(s []byte, head int) { c.cut(e, k+1, s, head) })
}

// behavior says how the pieces that a cutter has found are used.
type behavior uint8

const (
	removed behavior = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

var behaviors = map[string]behavior{
	"Removed": removed, "Isolated": isolated, "MergedWithPrevious": mergedWithPrevious, "MergedWithNext": mergedWithNext, "Contiguous": contiguous,
}

// matcher is the length of the match that s[i:] begins with, or of what comes before the next
// match or the end.
type matcher func(s []byte, i int) (n int, is bool)

// delimited cuts around matches; inverted, around what is between them.
type delimited struct {
	match  matcher
	as     behavior
	invert bool
}

func (d delimited) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	from, last := 0, false // of the piece that is not passed on yet; the last part was a match
	pass := func(to int) {
		if from < to {
			next(s[from:to], head-from)
		}
		from = to
	}
	for i := 0; i < len(s); {
		n, is := d.match(s, i)
		is = is != d.invert
		switch d.as {
		case contiguous:
			if is != last {
				pass(i)
			}
		case mergedWithPrevious:
			if !is || last {
				pass(i)
			}
		case mergedWithNext: // of matches in a row, the last one
			if is || !last {
				pass(i)
			}
		default:
			pass(i)
		}
		i += n
		if is && d.as == removed {
			from = i
		}
		last = is
	}
	pass(len(s))
}

// matchEach matches each character that is one.
func matchEach(is func(r rune) bool) matcher {
	return func(s []byte, i int) (int, bool) {
		r, n := utf8.DecodeRune(s[i:])
		if is(r) {
			return n, true
		}
		for i+n < len(s) {
			r, k := utf8.DecodeRune(s[i+n:])
			if is(r) {
				break
			}
			n += k
		}
		return n, false
	}
}

func matchClass(bits byte) matcher {
	return matchEach(func(r rune) bool { return class.of(r)&bits != 0 })
}

var matchPunctuation = matchEach(func(r rune) bool { return bertPunct().of(r)&punctuation != 0 })

// matchText matches a text.
func matchText(text []byte) matcher {
	return func(s []byte, i int) (int, bool) {
		if bytes.HasPrefix(s[i:], text) {
			return len(text), true
		}
		if k := bytes.Index(s[i:], text); k >= 0 {
			return k, false
		}
		return len(s) - i, false
	}
}

// wordsOrOther is the regular expression \w+|[^\w\s]+.
type wordsOrOther struct{}

func (wordsOrOther) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	kind := func(i int) (kind byte, n int) { // 0 is white space
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case inWord(r):
			return 1, n
		case class.of(r)&space == 0:
			return 2, n
		}
		return 0, n
	}
	for i := 0; i < len(s); {
		k, n := kind(i)
		j := i + n
		for j < len(s) {
			other, n := kind(j)
			if other != k {
				break
			}
			j += n
		}
		if k != 0 {
			next(s[i:j], head-i)
		}
		i = j
	}
}

// scriptOf has the script of each character; 0 is one that goes on with any script.
var scriptOf = sync.OnceValue(func() *props {
	return newProps(func(all []byte) {
		eachRange("scripts", func(lo, hi rune, rest string) {
			n, err := strconv.ParseUint(rest, 10, 8)
			must(err)
			mark(all, lo, hi, byte(n)+1)
		})
	})
})

// scripts cuts where the script changes. As in the reference, what comes before the first
// character that has a script is left out, and so is a text without one.
type scripts struct{ of *props }

func (c scripts) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	from, last := -1, byte(0)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if k := c.of.of(r); k != 0 && k != last {
			if from >= 0 {
				next(s[from:i], head-from)
			}
			from, last = i, k
		}
		i += n
	}
	if from >= 0 {
		next(s[from:], head-from)
	}
}

// byPattern cuts by a pattern that has a scanner.
type byPattern struct{ pattern }

func (p byPattern) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	for i := 0; i < len(s); {
		j := p.next(s, i)
		next(s[i:j], head-i)
		i = j
	}
}

// asLetters writes bytes as the letters of byte-level vocabularies.
type asLetters struct {
	prefix bool
	words  pattern
}

func (l asLetters) cut(s []byte, head int, room *[]byte, next func([]byte, int)) {
	own := 0
	if l.prefix && s[0] != ' ' {
		*room = append(append((*room)[:0], ' '), s...)
		s, own, head = *room, len(*room), head+min(head, 1)
	}
	for i := 0; i < len(s); {
		j := l.words.next(s, i)
		k := max(i, min(j, head))
		*room = appendLetters((*room)[:own], s[i:k])
		of := len(*room) - own
		*room = appendLetters(*room, s[k:j])
		next((*room)[own:], of)
		i = j
	}
}

func appendLetters(dst, s []byte) []byte {
	for _, b := range s {
		dst = utf8.AppendRune(dst, byteLetters[b])
	}
	return dst
}

// marks makes marks of spaces, and cuts before each where p.each says so.
type marks struct{ p *split }

func (m marks) cut(s []byte, head int, room *[]byte, next func([]byte, int)) {
	*room = m.p.appendMarks((*room)[:0], s, head)
	if head > 0 { // what is before the last len(s)-head bytes
		head = len(m.p.appendMarks(nil, s[:min(head, len(s))], head))
	}
	if !m.p.each {
		next(*room, head)
		return
	}
	delimited{match: matchText(m.p.mark), as: mergedWithNext}.cut(*room, head, nil, next)
}

// parseChain reads pre-tokenizers one by one.
func parseChain(place string, raw json.RawMessage, p *split) error {
	*p = split{kind: chained, mark: []byte(spaceMark)}
	return sequence(place, "pretokenizers", raw, func(place, kind string, raw json.RawMessage) error {
		c, err := parseCutter(place, kind, raw, p)
		p.chain = append(p.chain, c...)
		return err
	})
}

func parseCutter(place, kind string, raw json.RawMessage, p *split) (chain, error) {
	var f struct {
		Type       string `json:"type"`
		Delimiter  string `json:"delimiter"`
		Behavior   string `json:"behavior"`
		Individual bool   `json:"individual_digits"`
	}
	one := split{mark: p.mark}
	switch kind {
	case "Whitespace", "WhitespaceSplit", "UnicodeScripts", "Punctuation", "CharDelimiterSplit", "Digits", "BertPreTokenizer":
		if err := unmarshal(place, raw, &f, true); err != nil {
			return nil, err
		}
	}
	switch kind {
	case "Whitespace":
		return chain{wordsOrOther{}}, nil
	case "WhitespaceSplit":
		return chain{delimited{match: matchClass(space), as: removed}}, nil
	case "UnicodeScripts":
		return chain{scripts{scriptOf()}}, nil
	case "BertPreTokenizer":
		return chain{delimited{match: matchClass(space), as: removed}, delimited{match: matchPunctuation, as: isolated}}, nil
	case "Digits":
		if f.Individual {
			return chain{delimited{match: matchClass(numeric), as: isolated}}, nil
		}
		return chain{delimited{match: matchClass(numeric), as: contiguous}}, nil
	case "CharDelimiterSplit":
		if utf8.RuneCountInString(f.Delimiter) != 1 {
			return nil, shardify.Corrupt(-1, "%s: delimiter %q is not one character", place, f.Delimiter)
		}
		return chain{delimited{match: matchText([]byte(f.Delimiter)), as: removed}}, nil
	case "Punctuation":
		as, ok := behaviors[f.Behavior]
		if f.Behavior == "" {
			as, ok = isolated, true
		}
		if !ok {
			return nil, shardify.Corrupt(-1, "%s: behavior %q", place, f.Behavior)
		}
		return chain{delimited{match: matchPunctuation, as: as}}, nil
	case "ByteLevel":
		err := one.parseByteLevel(place, raw)
		return chain{asLetters{one.prefix, max(one.inner, one.outer)}}, err
	case "Metaspace":
		err := one.parseMetaspace(place, raw)
		if one.when == firstPiece {
			p.when = firstPiece
		}
		return chain{marks{&one}}, err
	case "Split":
		return parseSplitCutter(place, raw)
	}
	return nil, notSupported(place, kind)
}

func parseSplitCutter(place string, raw json.RawMessage) (chain, error) {
	var f jsonSplit
	if err := unmarshal(place, raw, &f, true); err != nil {
		return nil, err
	}
	as, ok := behaviors[f.Behavior]
	if !ok {
		return nil, shardify.Corrupt(-1, "%s: behavior %q", place, f.Behavior)
	}
	if text := f.Pattern.String; text != nil && *text != "" {
		return chain{delimited{matchText([]byte(*text)), as, f.Invert}}, nil
	}
	s, err := f.scanner(place)
	if err == nil && (as != isolated || f.Invert) {
		err = shardify.Unsupported("%s: Split with behavior %s, invert %v", place, f.Behavior, f.Invert)
	}
	return chain{byPattern{s}}, err
}
