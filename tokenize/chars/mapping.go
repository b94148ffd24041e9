package chars

import (
	"strconv"
	"sync"
)

// Mapping has what characters become.
type Mapping struct {
	has *Props
	to  map[rune]string
}

// newMapping reads a table of mappings.
func newMapping(name string) *Mapping {
	m := &Mapping{to: map[rune]string{}}
	eachMapping(name, func(r rune, to []rune) { m.to[r] = string(to) })
	return m.done()
}

// done makes the table that says which characters change.
func (m *Mapping) done() *Mapping {
	m.has = newProps(func(all []byte) {
		for r := range m.to {
			all[r] = 1
		}
	})
	return m
}

// Of is what a character becomes, if it does not stay.
func (m *Mapping) Of(r rune) (to string, changes bool) {
	if m.has.Of(r) == 0 {
		return "", false
	}
	return m.to[r], true
}

// LowerMap has the lower case of characters.
var LowerMap = sync.OnceValue(func() *Mapping { return newMapping("lower") })

// rangeProps reads a table of ranges, with the bit that each of its words means.
func rangeProps(name string, bits map[string]byte) func() *Props {
	return sync.OnceValue(func() *Props {
		return newProps(func(all []byte) {
			eachRange(name, func(lo, hi rune, rest string) { mark(all, lo, hi, bits[rest]) })
		})
	})
}

// Bits of tables of ranges.
const (
	Dropped = 1 << iota
	ToSpace
	Punctuation
)

// Characters that normalizers and pre-tokenizers change or cut at, as bits: StripAccents, BertNormalizer,
// BertPreTokenizer, Nmt.
var (
	Accents   = rangeProps("strip_accents", map[string]byte{"": Dropped})
	BertMarks = rangeProps("bert_marks", map[string]byte{"": Dropped})
	BertClean = rangeProps("bert_clean", map[string]byte{"-": Dropped, "20": ToSpace})
	BertPunct = rangeProps("bert_punct", map[string]byte{"p": Punctuation, "s": ToSpace})
	NmtClean  = sync.OnceValue(func() *Props {
		return newProps(func(all []byte) {
			for _, r := range [][2]rune{{1, 8}, {0xb, 0xb}, {0xe, 0x1f}, {0x7f, 0x7f}, {0x8f, 0x8f}, {0x9f, 0x9f}} {
				mark(all, r[0], r[1], Dropped)
			}
			for _, r := range [][2]rune{{9, 0xa}, {0xc, 0xd}, {0x1680, 0x1680}, {0x200b, 0x200f}, {0x2028, 0x2029}, {0x2581, 0x2581}, {0xfeff, 0xfeff}, {0xfffd, 0xfffd}} {
				mark(all, r[0], r[1], ToSpace)
			}
		})
	})
	wordChars = rangeProps("word", map[string]byte{"": 1})
)

// Scripts has the script of each character; 0 is one that goes on with any script.
var Scripts = sync.OnceValue(func() *Props {
	return newProps(func(all []byte) {
		eachRange("scripts", func(lo, hi rune, rest string) {
			n, err := strconv.ParseUint(rest, 10, 8)
			must(err)
			mark(all, lo, hi, byte(n)+1)
		})
	})
})

// InWord reports whether words have the character.
func InWord(r rune) bool { return wordChars().Of(r) != 0 }
