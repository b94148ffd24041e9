package tokenize

import (
	"sync"
	"unicode/utf8"
)

// clusterTable has the letters of tables/graphemes.txt; Hangul is computed.
var clusterTable = sync.OnceValue(func() *props {
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

func clusterKind(t *props, r rune) byte {
	switch {
	case r < 0x1100 || r > 0xd7fb:
		return t.of(r)
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
	return t.of(r)
}

// clusterLen is the length of the extended grapheme cluster that s begins with, by the rules
// GB3 to GB13 of Unicode's annex 29.
func clusterLen(s []byte, t *props) int {
	if s[0] < utf8.RuneSelf && s[0] != '\r' && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1
	}
	r, n := utf8.DecodeRune(s)
	before := clusterKind(t, r)
	pictograph := before == 'x'              // and only e after it
	conjunct, linked := before == 'c', false // and only e, l, z after it
	joined := false                          // pictograph and z
	for pairs := 0; n < len(s); {
		next, k := utf8.DecodeRune(s[n:])
		kind, on := clusterKind(t, next), false
		switch {
		case before == 'k' || kind == 'k':
			on = r == '\r' && next == '\n' && n == 1
		case before == jamoL:
			on = kind == jamoL || kind == jamoV || kind == ofLV || kind == ofLVT
		case before == jamoV || before == ofLV:
			on = kind == jamoV || kind == jamoT
		case before == jamoT || before == ofLVT:
			on = kind == jamoT
		case before == 'r' && kind == 'r':
			on = pairs == 0
			pairs++
		}
		extends := kind == 'e' || kind == 'l' || kind == 'z'
		if before != 'k' && kind != 'k' {
			on = on || extends || kind == 'm' || before == 'p' || conjunct && linked && kind == 'c' || joined && kind == 'x'
		}
		if !on {
			break
		}
		joined = pictograph && kind == 'z'
		pictograph = kind == 'x' || pictograph && (kind == 'e' || kind == 'l')
		conjunct, linked = kind == 'c' || conjunct && extends, kind != 'c' && (linked || kind == 'l')
		before = kind
		n += k
	}
	return n
}
