package split

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/model"
	"github.com/shardify/shardify/tokenize/pattern"
	"github.com/shardify/shardify/tokenize/trie"
)

// Splitter cuts normalized text into words.
type Splitter struct {
	Kind    Kind
	Outer   pattern.Pattern // ByteLevel: cuts first, so that Prefix goes to each of its words
	Inner   pattern.Pattern
	Prefix  bool // a space before what does not begin with one
	Mark    []byte
	When    Prepend
	Each    bool         // Metaspace: every mark begins a word
	Bounded bool         // no token of the model goes on beyond the end of a word, so that text may be cut there
	User    *trie.Trie   // pieces of SentencePiece that are cut out first
	Chars   *chars.Props // Bert: where to cut
	Chain   Chain
}

// Kind is how a Splitter cuts.
type Kind uint8

// What text is cut by.
const (
	None       Kind = iota // marks, if Each or Bounded say so
	ByteLevel              // Outer, and each of its words by Inner; ids of bytes
	Metaspace              // marks in place of spaces
	Bert                   // white space, and around punctuation
	UserPieces             // User
	Unsplit                // nothing: the model cuts
	Chained                // Chain
)

// Prepend is where Metaspace puts a mark before a piece that has none.
type Prepend uint8

// Before which pieces.
const (
	Never      Prepend = iota
	FirstPiece         // of a text
	Always
)

// Cut passes the words of s, which is not empty, to c. head is how many bytes of s come from the first character of
// the text: 0, unless s begins the text.
func (p *Splitter) Cut(c *model.Coder, m *Memory, s []byte, head int) {
	switch p.Kind {
	case ByteLevel:
		p.byteLevel(c, m, s)
	case Metaspace:
		if p.Outer == pattern.Whole {
			p.metaspace(c, m, s, head)
			return
		}
		for i := 0; i < len(s); { // white space is left out
			from := chars.Run(s, i, chars.Space)
			if i = chars.RunInk(s, from); from < i {
				p.metaspace(c, m, s[from:i], head-from)
			}
		}
	case Bert:
		p.bert(c, s)
	case Unsplit:
		c.Text(s)
	case UserPieces:
		p.cutUser(c, s)
	case Chained:
		p.Chain.cut(c, m, 0, s, head)
	default:
		p.marked(c, s)
	}
}

func (p *Splitter) byteLevel(c *model.Coder, m *Memory, s []byte) {
	if p.Outer == pattern.Whole {
		wordsOf(c, p.Inner, p.withPrefix(m, s))
		return
	}
	for i := 0; i < len(s); {
		j := p.Outer.Next(s, i)
		wordsOf(c, p.Inner, p.withPrefix(m, s[i:j]))
		i = j
	}
}

// withPrefix is s after a space, if it needs one.
func (p *Splitter) withPrefix(m *Memory, s []byte) []byte {
	if !p.Prefix || s[0] == ' ' {
		return s
	}
	m.cut = append(append(m.cut[:0], ' '), s...)
	return m.cut
}

// metaspace makes marks of spaces.
func (p *Splitter) metaspace(c *model.Coder, m *Memory, s []byte, head int) {
	m.cut = p.appendMarks(m.cut[:0], s, head)
	p.marked(c, m.cut)
}

// appendMarks appends s with marks in place of spaces, after one more mark if it needs that.
func (p *Splitter) appendMarks(out, s []byte, head int) []byte {
	if s[0] != ' ' && !bytes.HasPrefix(s, p.Mark) && (p.When == Always || p.When == FirstPiece && head > 0) {
		out = append(out, p.Mark...)
	}
	for {
		i := bytes.IndexByte(s, ' ')
		if i < 0 {
			break
		}
		out = append(append(out, s[:i]...), p.Mark...)
		s = s[i+1:]
	}
	return append(out, s...)
}

// marked cuts before marks: before each, or, where the model takes all as one word, before
// those that no token crosses.
func (p *Splitter) marked(c *model.Coder, s []byte) {
	if !p.Each && !p.Bounded {
		c.Word(s)
		return
	}
	for len(s) > 0 {
		j := 0
		if p.Each && bytes.HasPrefix(s, p.Mark) { // else the marks that a word begins with stay together
			if j = len(p.Mark); bytes.HasPrefix(s[j:], p.Mark) {
				c.Word(s[:j])
				s = s[j:]
				continue
			}
		}
		j += model.WordEnd(s[j:], p.Mark)
		c.Word(s[:j])
		s = s[j:]
	}
}

// Memory is the memory of cutting, of one goroutine.
type Memory struct {
	cut   []byte   // what is written before text is cut
	rooms [][]byte // the same, for each Cutter of a chain
}

// wordsOf is the path of byte-level text: nothing is written between the text and its ids.
func wordsOf(c *model.Coder, p pattern.Pattern, s []byte) {
	for i := 0; i < len(s); {
		j := p.Next(s, i)
		c.Word(s[i:j])
		i = j
	}
}

// bert cuts at white space, which is left out, and around punctuation.
func (p *Splitter) bert(c *model.Coder, s []byte) {
	from := 0
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(s[i:])
		}
		if k := p.Chars.Of(r); k != 0 {
			if from < i {
				c.Word(s[from:i])
			}
			if k&chars.Punctuation != 0 {
				c.Word(s[i : i+n])
			}
			from = i + n
		}
		i += n
	}
	if from < len(s) {
		c.Word(s[from:])
	}
}

// cutUser cuts out pieces that the user defined; they are not merged with others.
func (p *Splitter) cutUser(c *model.Coder, s []byte) {
	from := 0
	for i := 0; i < len(s); {
		v, n := p.User.Longest(s[i:])
		if v < 0 {
			i++
			continue
		}
		if from < i {
			p.marked(c, s[from:i])
		}
		c.Out = append(c.Out, v)
		i += n
		from = i
	}
	if from < len(s) {
		p.marked(c, s[from:])
	}
}
