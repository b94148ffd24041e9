package chars

import (
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Form is a normalization form of Unicode, with the tables of the reference.
type Form struct {
	compose bool
	chars   *nfTables
	to      *Mapping // full decompositions, without Hangul
	changes *Props   // characters that are not left as they are in every place
}

// nfTables are what the four forms share.
type nfTables struct {
	class *Props // canonical combining classes
	pairs map[[2]rune]rune
}

// Hangul syllables are computed.
const (
	hangulS, hangulL, hangulV, hangulT = 0xac00, 0x1100, 0x1161, 0x11a7
	countL, countV, countT             = 19, 21, 28
	countS                             = countL * countV * countT
)

func isHangul(r rune) bool { return hangulS <= r && r < hangulS+countS }

var nfShared = sync.OnceValues(func() (*nfTables, *Mapping) {
	t := &nfTables{pairs: map[[2]rune]rune{}}
	t.class = newProps(func(all []byte) {
		eachRange("ccc", func(lo, hi rune, rest string) {
			c, err := strconv.ParseUint(rest, 10, 8)
			must(err)
			mark(all, lo, hi, byte(c))
		})
	})
	whole, full := newMapping("nfd"), map[string]rune{}
	gone := newMapping("nfc") // these do not stay when they are composed
	for r, to := range whole.to {
		if gone.has.Of(r) == 0 {
			full[to] = r
		}
	}
	for to, r := range full { // a pair is a character, or one that is composed itself, and the last
		last, n := utf8.DecodeLastRuneInString(to)
		first, k := utf8.DecodeRuneInString(to[:len(to)-n])
		if k < len(to)-n {
			first = full[to[:len(to)-n]]
		}
		t.pairs[[2]rune{first, last}] = r
	}
	return t, whole
})

// NewForm makes NFC, NFD, NFKC or NFKD. The tables of it are made once for each call: keep it.
func NewForm(compatible, compose bool) *Form {
	t, nfd := nfShared()
	f := &Form{compose: compose, chars: t, to: nfd}
	changed := "nfc"
	if compatible {
		f.to = &Mapping{to: map[rune]string{}}
		for r, to := range nfd.to {
			f.to.to[r] = to
		}
		eachMapping("nfkc", func(r rune, to []rune) {
			var s []byte
			for _, c := range to {
				s = f.appendParts(s, c, nfd)
			}
			f.to.to[r] = string(s)
		})
		f.to.done()
		changed = "nfkc"
	}
	f.changes = newProps(func(all []byte) {
		if compose {
			eachMapping(changed, func(r rune, _ []rune) { all[r] = 1 })
			for pair := range t.pairs {
				all[pair[1]] = 1
			}
			mark(all, hangulV, hangulV+countV-1, 1)
			mark(all, hangulT+1, hangulT+countT-1, 1)
		} else {
			for r := range f.to.to {
				all[r] = 1
			}
			mark(all, hangulS, hangulS+countS-1, 1)
		}
		for r := range all {
			if t.class.Of(rune(r)) != 0 {
				all[r] = 1
			}
		}
	})
	return f
}

// appendParts appends the full decomposition of a character.
func (f *Form) appendParts(s []byte, r rune, to *Mapping) []byte {
	switch {
	case isHangul(r):
		i := r - hangulS
		s = utf8.AppendRune(utf8.AppendRune(s, hangulL+i/(countV*countT)), hangulV+i/countT%countV)
		if i%countT != 0 {
			s = utf8.AppendRune(s, hangulT+i%countT)
		}
		return s
	case to.has.Of(r) != 0:
		return append(s, to.to[r]...)
	}
	return utf8.AppendRune(s, r)
}

// Apply appends the form of s to dst; it returns s where nothing changes. It copies what stays, and works on the stretches in between: each begins at the
// character before the first one that changes and ends before the next one that does not.
func (f *Form) Apply(dst, s []byte, _ int) ([]byte, error) {
	done, before := 0, 0 // copied up to; the character before
	changed := false
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			before = i
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if f.changes.Of(r) == 0 {
			before = i
			i += n
			continue
		}
		from := max(before, done)
		for i += n; i < len(s) && s[i] >= utf8.RuneSelf; i += n {
			if r, n = utf8.DecodeRune(s[i:]); f.changes.Of(r) == 0 {
				break
			}
		}
		dst = f.stretch(append(dst, s[done:from]...), s[from:i])
		done, before, changed = i, i, true
	}
	if !changed {
		return s, nil
	}
	return append(dst, s[done:]...), nil
}

// part is a character of a decomposition.
type part struct {
	r     rune
	class uint8
}

// stretch appends the form of a few characters, seldom of many.
func (f *Form) stretch(dst, s []byte) []byte {
	var room [32]part
	var roomBytes [64]byte
	parts, one := room[:0], roomBytes[:0]
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		one = f.appendParts(one[:0], r, f.to)
		for k := 0; k < len(one); {
			r, n := utf8.DecodeRune(one[k:])
			parts = append(parts, part{r, f.chars.class.Of(r)})
			k += n
		}
		i += n
	}
	for i := 0; i < len(parts); i++ { // marks in the order of their classes
		if parts[i].class == 0 {
			continue
		}
		j := i
		for j < len(parts) && parts[j].class != 0 {
			j++
		}
		slices.SortStableFunc(parts[i:j], func(a, b part) int { return int(a.class) - int(b.class) })
		i = j
	}
	if f.compose {
		parts = f.composed(parts)
	}
	for _, p := range parts {
		dst = utf8.AppendRune(dst, p.r)
	}
	return dst
}

// composed joins each starter with the marks after it that have a character with it.
func (f *Form) composed(parts []part) []part {
	starter, n := -1, 0 // its place in the result, and how many are there
	for _, p := range parts {
		if starter >= 0 {
			last := parts[n-1].class
			free := n-1 == starter || last != 0 && last < p.class // nothing in between blocks it
			if free {
				if r, ok := f.pair(parts[starter].r, p.r); ok {
					parts[starter].r = r
					continue
				}
			}
		}
		if p.class == 0 {
			starter = n
		}
		parts[n] = p
		n++
	}
	return parts[:n]
}

// pair is the character that two are together.
func (f *Form) pair(a, b rune) (rune, bool) {
	if l, v := a-hangulL, b-hangulV; 0 <= l && l < countL && 0 <= v && v < countV {
		return hangulS + (l*countV+v)*countT, true
	}
	if t := b - hangulT; isHangul(a) && (a-hangulS)%countT == 0 && 0 < t && t < countT {
		return a + t, true
	}
	r, ok := f.chars.pairs[[2]rune{a, b}]
	return r, ok
}
