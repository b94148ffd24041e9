package split

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/pattern"
)

// Chain is a sequence of pre-tokenizers, each of which cuts the pieces that the one before it
// has made. Sequences that split has a loop for do not need it.
type Chain []Cutter

// Cutter is one pre-tokenizer. It passes the pieces of s, none of them empty, to next. As the
// reference says, a piece begins the text if it begins within head, the bytes of s that come from
// the first character of the text; it may be less than 0. A Cutter that writes text keeps it in *room, which is its own, until it
// returns.
type Cutter interface {
	cut(s []byte, head int, room *[]byte, next func(s []byte, head int))
}

// cut passes s through the cutters from k on.
func (of Chain) cut(c *model.Coder, m *Memory, k int, s []byte, head int) {
	if k == len(of) {
		c.Word(s)
		return
	}
	if len(m.rooms) < len(of) {
		m.rooms = make([][]byte, len(of))
	}
	of[k].cut(s, head, &m.rooms[k], func(s []byte, head int) { of.cut(c, m, k+1, s, head) })
}

// Behavior says how the pieces that a Cutter has found are used.
type Behavior uint8

// The behaviors.
const (
	Removed Behavior = iota
	Isolated
	MergedWithPrevious
	MergedWithNext
	Contiguous
)

// Behaviors are the behaviors by the names that tokenizer.json has for them.
var Behaviors = map[string]Behavior{
	"Removed": Removed, "Isolated": Isolated, "MergedWithPrevious": MergedWithPrevious, "MergedWithNext": MergedWithNext, "Contiguous": Contiguous,
}

// Matcher is the length of the match that s[i:] begins with, or of what comes before the next
// match or the end.
type Matcher func(s []byte, i int) (n int, is bool)

// Delimited cuts around matches; inverted, around what is between them.
type Delimited struct {
	Match  Matcher
	As     Behavior
	Invert bool
}

func (d Delimited) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	from, last := 0, false // of the piece that is not passed on yet; the last part was a match
	pass := func(to int) {
		if from < to {
			next(s[from:to], head-from)
		}
		from = to
	}
	for i := 0; i < len(s); {
		n, is := d.Match(s, i)
		is = is != d.Invert
		switch d.As {
		case Contiguous:
			if is != last {
				pass(i)
			}
		case MergedWithPrevious:
			if !is || last {
				pass(i)
			}
		case MergedWithNext: // of matches in a row, the last one
			if is || !last {
				pass(i)
			}
		default:
			pass(i)
		}
		i += n
		if is && d.As == Removed {
			from = i
		}
		last = is
	}
	pass(len(s))
}

// matchEach matches each character that is one.
func matchEach(is func(r rune) bool) Matcher {
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

// MatchClass matches each character of one of the classes.
func MatchClass(bits byte) Matcher {
	return matchEach(func(r rune) bool { return chars.ClassOf(r)&bits != 0 })
}

// MatchPunctuation matches each character of punctuation.
var MatchPunctuation = matchEach(func(r rune) bool { return chars.BertPunct().Of(r)&chars.Punctuation != 0 })

// MatchText matches a text.
func MatchText(text []byte) Matcher {
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

// WordsOrOther is the regular expression \w+|[^\w\s]+.
type WordsOrOther struct{}

func (WordsOrOther) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	kind := func(i int) (kind byte, n int) { // 0 is white space
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case chars.InWord(r):
			return 1, n
		case chars.ClassOf(r)&chars.Space == 0:
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

// Scripts cuts where the script changes. As in the reference, what comes before the first
// character that has a script is left out, and so is a text without one.
type Scripts struct{ Of *chars.Props }

func (c Scripts) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	from, last := -1, byte(0)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if k := c.Of.Of(r); k != 0 && k != last {
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

// ByPattern cuts by a pattern that has a scanner.
type ByPattern struct{ pattern.Pattern }

func (p ByPattern) cut(s []byte, head int, _ *[]byte, next func([]byte, int)) {
	for i := 0; i < len(s); {
		j := p.Next(s, i)
		next(s[i:j], head-i)
		i = j
	}
}

// AsLetters writes bytes as the letters of byte-level vocabularies.
type AsLetters struct {
	Prefix bool
	Words  pattern.Pattern
}

func (l AsLetters) cut(s []byte, head int, room *[]byte, next func([]byte, int)) {
	own := 0
	if l.Prefix && s[0] != ' ' {
		*room = append(append((*room)[:0], ' '), s...)
		s, own, head = *room, len(*room), head+min(head, 1)
	}
	for i := 0; i < len(s); {
		j := l.Words.Next(s, i)
		k := max(i, min(j, head))
		*room = chars.AppendLetters((*room)[:own], s[i:k])
		of := len(*room) - own
		*room = chars.AppendLetters(*room, s[k:j])
		next((*room)[own:], of)
		i = j
	}
}

// Marks makes marks of spaces, and cuts before each where By.Each says so.
type Marks struct{ By *Splitter }

func (m Marks) cut(s []byte, head int, room *[]byte, next func([]byte, int)) {
	*room = m.By.appendMarks((*room)[:0], s, head)
	if head > 0 { // what is before the last len(s)-head bytes
		head = len(m.By.appendMarks(nil, s[:min(head, len(s))], head))
	}
	if !m.By.Each {
		next(*room, head)
		return
	}
	Delimited{Match: MatchText(m.By.Mark), As: MergedWithNext}.cut(*room, head, nil, next)
}
