package chars

import (
	"sync"
	"unicode/utf8"
)

// ClusterTable has the letters of tables/graphemes.txt; Hangul is computed.
var ClusterTable = sync.OnceValue(func() *Props {
	return newProps(func(all []byte) {
		eachRange("graphemes", func(lo, hi rune, rest string) { mark(all, lo, hi, rest[0]) })
	})
})

// Kinds of Hangul beside the letters of the table.
const (
	jamoL = 'L'
	jamoV = 'V'
	jamoT = 'T'
	ofLV  = '2'
	ofLVT = '3'
)

func clusterKind(t *Props, r rune) byte {
	switch {
	case r < 0x1100 || r > 0xd7fb:
		return t.Of(r)
	case r < 0x1160 || 0xa960 <= r && r <= 0xa97c:
		return jamoL
	case r < 0x11a8 || 0xd7b0 <= r && r <= 0xd7c6:
		return jamoV
	case r < 0x1200 || 0xd7cb <= r:
		return jamoT
	case isHangul(r):
		if (r-hangulS)%countT == 0 {
			return ofLV
		}
		return ofLVT
	}
	return t.Of(r)
}

// cluster is the state at the end of the characters of a cluster so far.
type cluster struct {
	before     byte // the kind of the last one
	pictograph bool // and only e and l after it
	joined     bool // pictograph and z
	conjunct   bool // and only e, l and z after it
	linked     bool // there was an l
	flag       bool // the last one is the second of two regional indicators
}

// ClusterLen is the length of the extended grapheme cluster that s, which is not empty, begins with, by the
// rules GB3 to GB13 of Unicode's annex 29. The table is ClusterTable().
func ClusterLen(s []byte, t *Props) int {
	if s[0] < utf8.RuneSelf && s[0] != '\r' && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1
	}
	if s[0] == '\r' && len(s) > 1 && s[1] == '\n' {
		return 2
	}
	r, n := utf8.DecodeRune(s)
	c := cluster{}
	c.add(clusterKind(t, r))
	for n < len(s) {
		next, k := utf8.DecodeRune(s[n:])
		kind := clusterKind(t, next)
		if !c.joins(kind) {
			break
		}
		c.add(kind)
		n += k
	}
	return n
}

// joins reports whether a character goes on with the cluster.
func (c *cluster) joins(kind byte) bool {
	if c.before == 'k' || kind == 'k' {
		return false
	}
	switch kind {
	case 'e', 'l', 'z', 'm':
		return true
	}
	switch c.before {
	case 'p':
		return true
	case jamoL:
		return kind == jamoL || kind == jamoV || kind == ofLV || kind == ofLVT
	case jamoV, ofLV:
		return kind == jamoV || kind == jamoT
	case jamoT, ofLVT:
		return kind == jamoT
	case 'r':
		return kind == 'r' && !c.flag
	}
	return kind == 'c' && c.conjunct && c.linked || kind == 'x' && c.joined
}

// add adds a character.
func (c *cluster) add(kind byte) {
	c.joined = c.pictograph && kind == 'z'
	c.flag = c.before == 'r' && kind == 'r'
	switch kind {
	case 'e', 'l':
		c.linked = c.linked || kind == 'l'
	case 'z':
		c.pictograph = false
	default:
		c.pictograph, c.conjunct, c.linked = kind == 'x', kind == 'c', false
	}
	c.before = kind
}
