package tokenize

import (
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/chars"
	"github.com/shardify/shardify/tokenize/trie"
)

// addedToken is a token that is found in the text before it is cut into words.
type addedToken struct {
	content        string
	id             int32
	word           bool // only where no letter of a word is beside it
	lstrip, rstrip bool // takes the white space before it, after it
	normalized     bool // looked for in the text that is normalized
	special        bool
}

// added finds tokens: the leftmost, of those the longest.
type added struct {
	tokens []addedToken
	trie   *trie.Trie
	first  [256]bool
}

// maxAdded bounds the length of an added token: at each place in a text as much may be read.
const maxAdded = 1024

func newAdded() *added { return &added{trie: trie.New()} }

// add adds a token that is written so; the first of those that are written the same counts.
func (a *added) add(written []byte, t addedToken) {
	a.trie.Add(written, int32(len(a.tokens)))
	a.tokens = append(a.tokens, t)
	a.first[written[0]] = true
}

// find is the first token at or after from: its place, and the token; nil without one.
func (a *added) find(s []byte, from int) (start, stop int, t *addedToken) {
	for i := from; i < len(s); i++ {
		if !a.first[s[i]] {
			continue
		}
		if v, n := a.trie.Longest(s[i:]); v >= 0 {
			return i, i + n, &a.tokens[v]
		}
	}
	return 0, 0, nil
}

// cut hands the added tokens in s and what is between them to e. The rules are those of the
// reference even where they are odd: a token that is not a word of its own is passed over with
// all of its bytes, and tokens within white space that another one took are still found, so
// that start may go back.
func (a *added) cut(e *Encoder, s []byte, head int, rest func(*Encoder, []byte, int) error) error {
	start, blankTo := 0, 0 // the text that was not passed on yet; the end of the white space that was scanned
	for at := 0; ; {
		i, j, t := a.find(s, at)
		if t == nil {
			break
		}
		at = j
		if t.word && (endsWithWord(s[:i]) || beginsWithWord(s[j:])) {
			continue
		}
		if t.special && e.Specials != AsToken {
			if e.Specials == Refused {
				return shardify.Mismatch("the text holds the special token %q", t.content)
			}
			e.spelled++
			continue
		}
		if t.lstrip {
			for i > start {
				r, n := utf8.DecodeLastRune(s[start:i])
				if chars.ClassOf(r)&chars.Space == 0 {
					break
				}
				i -= n
			}
			i = max(i, start)
		}
		if t.rstrip {
			if blankTo < j {
				blankTo = chars.Run(s, j, chars.Space)
			}
			j = blankTo
		}
		if i > j {
			return shardify.Unsupported("the added token %q in white space that another token takes: the tokenizers library fails on it", t.content)
		}
		if start < i {
			if err := rest(e, s[start:i], head-start); err != nil {
				return err
			}
		}
		if i < j { // else another token has taken all of it
			e.coder.Out = append(e.coder.Out, t.id)
			e.special++
		}
		start = j
	}
	if start < len(s) {
		return rest(e, s[start:], head-start)
	}
	return nil
}

func endsWithWord(s []byte) bool {
	r, n := utf8.DecodeLastRune(s)
	return n > 0 && chars.InWord(r)
}

func beginsWithWord(s []byte) bool {
	r, n := utf8.DecodeRune(s)
	return n > 0 && chars.InWord(r)
}
