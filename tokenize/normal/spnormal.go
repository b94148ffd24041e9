package normal

import (
	"bytes"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/tokenize/trie"
)

// SentencePiece does what a model does to a text before it is cut.
type SentencePiece struct {
	table  *Charsmap  // nil: characters stay
	user   *trie.Trie // pieces that stay as they are; nil without such pieces
	prefix bool
	suffix bool
	remove bool
	mark   []byte
	plain  [utf8.RuneSelf]bool // characters that stay what they are before another of ASCII
	inWord [256]bool           // those of them that are not spaces
}

// NewSentencePiece makes what a model's normalizer_spec says: table and user may be nil.
func NewSentencePiece(table *Charsmap, user *trie.Trie, mark string, prefix, suffix, remove bool) *SentencePiece {
	n := &SentencePiece{table: table, user: user, mark: []byte(mark), prefix: prefix, suffix: suffix, remove: remove}
	for c := range n.plain {
		n.plain[c] = (n.user == nil || !n.user.Begins(byte(c))) && (n.table == nil || !n.table.begins(byte(c)))
		n.inWord[c] = n.plain[c] && c != ' '
	}
	return n
}

// next is the normalized form of the beginning of s, and its length; -1 if the table has no end.
func (n *SentencePiece) next(s []byte) (to []byte, k int) {
	if s[0] < utf8.RuneSelf && n.plain[s[0]] && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	if n.user != nil {
		if v, k := n.user.Longest(s); v >= 0 {
			return s[:k], k
		}
	}
	if n.table != nil {
		if to, k := n.table.find(s, false); k != 0 {
			return to, k
		}
	}
	k = 1
	if s[0] >= utf8.RuneSelf {
		_, k = utf8.DecodeRune(s)
	}
	return s[:k], k
}

func (n *SentencePiece) Apply(dst, s []byte, limit int) ([]byte, error) {
	if n.remove {
		for len(s) > 0 {
			to, k := n.next(s)
			if string(to) != " " {
				break
			}
			s = s[k:]
		}
	}
	if len(s) == 0 {
		return dst, nil
	}
	if n.prefix && !n.suffix {
		dst = append(dst, n.mark...)
	}
	afterSpace := n.remove
	for len(s) > 0 {
		same := 0
		for same+1 < len(s) && n.inWord[s[same]] && s[same+1] < utf8.RuneSelf {
			same++
		}
		if same > 0 {
			if dst, s, afterSpace = append(dst, s[:same]...), s[same:], false; len(dst) > limit {
				return nil, tooLong()
			}
			continue
		}
		to, k := n.next(s)
		if k < 0 {
			return nil, shardify.Corrupt(-1, "normalizer_spec: precompiled_charsmap looks for texts of more than %d bytes", maxKey)
		}
		s = s[k:]
		if afterSpace {
			to = bytes.TrimLeft(to, " ")
		}
		for _, c := range to {
			if c == ' ' {
				dst = append(dst, n.mark...)
			} else {
				dst = append(dst, c)
			}
		}
		if len(to) > 0 {
			afterSpace = n.remove && to[len(to)-1] == ' '
		}
		if len(dst) > limit {
			return nil, tooLong()
		}
	}
	if n.remove {
		for bytes.HasSuffix(dst, n.mark) {
			dst = dst[:len(dst)-len(n.mark)]
		}
	}
	if n.prefix && n.suffix {
		dst = append(dst, n.mark...)
	}
	return dst, nil
}
