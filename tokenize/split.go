package tokenize

import "bytes"

// split cuts normalized text into words.
type split struct {
	kind    splitKind
	outer   pattern // byteLevel: cuts first, so that prefix goes to each of its words
	inner   pattern
	prefix  bool // a space before what does not begin with one
	mark    []byte
	when    prependWhen
	each    bool   // metaspace: every mark begins a word
	bounded bool   // no token of the model goes on beyond the end of a word, so that text may be cut there
	user    *trie  // pieces of SentencePiece that are cut out first
	chars   *props // bert: where to cut
	chain   chain
}

type splitKind uint8

const (
	noSplit splitKind = iota
	byteLevel
	metaspace
	bert
	userPieces
	unsplit // the model cuts
	chained // by chain
)

type prependWhen uint8

const (
	never prependWhen = iota
	firstPiece
	always
)

func (p *split) cut(e *Encoder, s []byte, head int) {
	switch p.kind {
	case byteLevel:
		p.byteLevel(e, s)
	case metaspace:
		if p.outer == whole {
			p.metaspace(e, s, head)
			return
		}
		for i := 0; i < len(s); { // white space is left out
			from := run(s, i, space)
			if i = runInk(s, from); from < i {
				p.metaspace(e, s[from:i], head-from)
			}
		}
	case bert:
		cutBert(e, s)
	case unsplit:
		e.t.model.encode(e, s)
	case userPieces:
		p.cutUser(e, s)
	case chained:
		p.chain.cut(e, 0, s, head)
	default:
		p.marked(e, s)
	}
}

func (p *split) byteLevel(e *Encoder, s []byte) {
	if p.outer == whole {
		e.wordsOf(p.inner, p.withPrefix(e, s))
		return
	}
	for i := 0; i < len(s); {
		j := p.outer.next(s, i)
		e.wordsOf(p.inner, p.withPrefix(e, s[i:j]))
		i = j
	}
}

// withPrefix is s after a space, if it needs one.
func (p *split) withPrefix(e *Encoder, s []byte) []byte {
	if !p.prefix || s[0] == ' ' {
		return s
	}
	e.cut = append(append(e.cut[:0], ' '), s...)
	return e.cut
}

// metaspace makes marks of spaces.
func (p *split) metaspace(e *Encoder, s []byte, head int) {
	e.cut = p.appendMarks(e.cut[:0], s, head)
	p.marked(e, e.cut)
}

// appendMarks appends s with marks in place of spaces, after one more mark if it needs that.
func (p *split) appendMarks(out, s []byte, head int) []byte {
	if s[0] != ' ' && !bytes.HasPrefix(s, p.mark) && (p.when == always || p.when == firstPiece && head > 0) {
		out = append(out, p.mark...)
	}
	for {
		i := bytes.IndexByte(s, ' ')
		if i < 0 {
			break
		}
		out = append(append(out, s[:i]...), p.mark...)
		s = s[i+1:]
	}
	return append(out, s...)
}

// marked cuts before marks: before each, or, where the model takes all as one word, before
// those that no token crosses.
func (p *split) marked(e *Encoder, s []byte) {
	if !p.each && !p.bounded {
		e.word(s)
		return
	}
	for len(s) > 0 {
		j := 0
		if p.each && bytes.HasPrefix(s, p.mark) { // else the marks that a word begins with stay together
			if j = len(p.mark); bytes.HasPrefix(s[j:], p.mark) {
				e.word(s[:j])
				s = s[j:]
				continue
			}
		}
		j += wordEnd(s[j:], p.mark)
		e.word(s[:j])
		s = s[j:]
	}
}
