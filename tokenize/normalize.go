package tokenize

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// normalizer is the steps that change a text before it is cut into words.
type normalizer []step

// step is one of them. It returns s where nothing changes, else dst with what it appended.
// More than limit bytes are an error.
type step interface {
	apply(dst, s []byte, limit int) ([]byte, error)
}

// What a text may grow to: by as much, and by so much more.
const (
	growTimes = 64
	growBytes = 1 << 16
)

// mayGrow is the limit for a text of n bytes.
func mayGrow(n int) int { return growTimes*n + growBytes }

// apply runs the steps; the result is valid until the next call.
func (n normalizer) apply(s []byte, e *Encoder, limit int) ([]byte, error) {
	k := 0
	watch := e.t.split.when == firstPiece
	if watch {
		_, n := utf8.DecodeRune(s)
		e.head = s[:n]
	}
	for _, st := range n {
		if len(s) == 0 {
			break
		}
		if watch && len(e.head) > 0 {
			e.head = firstBy(st, e.head, s)
		}
		out, err := st.apply(e.norm[k][:0], s, limit)
		if err != nil {
			return nil, err
		}
		if len(out) > limit {
			return nil, tooLong()
		}
		if len(out) == 0 || &out[0] != &s[0] {
			e.norm[k] = out
			k = 1 - k
		}
		s = out
	}
	return s, nil
}

// firstBy is what a step makes of the first character of s, which is head.
func firstBy(st step, head, s []byte) []byte {
	switch st := st.(type) {
	case replaceText:
		if bytes.HasPrefix(s, st.from) {
			return st.to
		}
	case replaceSpaces:
		if bytes.HasPrefix(s, []byte("  ")) {
			return st.to
		}
	case trim:
		st.right = false // the text goes on
		out, _ := st.apply(nil, head, 0)
		return out
	}
	out, err := st.apply(nil, head, mayGrow(len(head)))
	if err != nil {
		return nil
	}
	return out
}

func tooLong() error {
	return shardify.Unsupported("the normalizer makes a text more than %d times as long", growTimes)
}

// removesSpaces reports whether the result has no U+0020.
func (n normalizer) removesSpaces() bool {
	if len(n) == 0 {
		return false
	}
	r, ok := n[len(n)-1].(replaceText)
	return ok && string(r.from) == " " && !bytes.Contains(r.to, r.from)
}

type prepend []byte

func (p prepend) apply(dst, s []byte, _ int) ([]byte, error) {
	return append(append(dst, p...), s...), nil
}

type replaceText struct{ from, to []byte }

func (r replaceText) apply(dst, s []byte, limit int) ([]byte, error) {
	i := bytes.Index(s, r.from)
	if i < 0 {
		return s, nil
	}
	for ; i >= 0; i = bytes.Index(s, r.from) {
		dst = append(append(dst, s[:i]...), r.to...)
		if s = s[i+len(r.from):]; len(dst) > limit {
			return nil, tooLong()
		}
	}
	return append(dst, s...), nil
}

// replaceSpaces is the regular expression ` {2,}`.
type replaceSpaces struct{ to []byte }

func (r replaceSpaces) apply(dst, s []byte, limit int) ([]byte, error) {
	two := []byte("  ")
	i := bytes.Index(s, two)
	if i < 0 {
		return s, nil
	}
	for ; i >= 0; i = bytes.Index(s, two) {
		dst = append(append(dst, s[:i]...), r.to...)
		if s = bytes.TrimLeft(s[i:], " "); len(dst) > limit {
			return nil, tooLong()
		}
	}
	return append(dst, s...), nil
}

// mapping has what characters become.
type mapping struct {
	has *props
	to  map[rune]string
}

// newMapping reads a table of mappings.
func newMapping(name string) *mapping {
	m := &mapping{to: map[rune]string{}}
	eachMapping(name, func(r rune, to []rune) { m.to[r] = string(to) })
	return m.done()
}

// done makes the table that says which characters change.
func (m *mapping) done() *mapping {
	m.has = newProps(func(all []byte) {
		for r := range m.to {
			all[r] = 1
		}
	})
	return m
}

var lowerMap = sync.OnceValue(func() *mapping { return newMapping("lower") })

// lowercase is character by character.
type lowercase struct{ m *mapping }

func (l lowercase) apply(dst, s []byte, _ int) ([]byte, error) {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRune(s[i:])
		if l.m.has.of(r) != 0 {
			dst = append(dst, l.m.to[r]...)
		} else {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst, nil
}

// remove drops characters.
type remove struct{ chars *props }

func (f remove) apply(dst, s []byte, _ int) ([]byte, error) {
	if isASCII(s) { // no table has any
		return s, nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if f.chars.of(r) == 0 {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst, nil
}

func isASCII(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// rangeProps reads a table of ranges, with the bit that each of its words means.
func rangeProps(name string, bits map[string]byte) func() *props {
	return sync.OnceValue(func() *props {
		return newProps(func(all []byte) {
			eachRange(name, func(lo, hi rune, rest string) { mark(all, lo, hi, bits[rest]) })
		})
	})
}

// Bits of tables of ranges.
const (
	dropped = 1 << iota
	toSpace
	punctuation
)

var (
	accents   = rangeProps("strip_accents", map[string]byte{"": dropped})
	bertMarks = rangeProps("bert_marks", map[string]byte{"": dropped})
	bertClean = rangeProps("bert_clean", map[string]byte{"-": dropped, "20": toSpace})
	bertPunct = rangeProps("bert_punct", map[string]byte{"p": punctuation, "s": toSpace})
	nmtClean  = sync.OnceValue(func() *props {
		return newProps(func(all []byte) {
			for _, r := range [][2]rune{{1, 8}, {0xb, 0xb}, {0xe, 0x1f}, {0x7f, 0x7f}, {0x8f, 0x8f}, {0x9f, 0x9f}} {
				mark(all, r[0], r[1], dropped)
			}
			for _, r := range [][2]rune{{9, 0xa}, {0xc, 0xd}, {0x1680, 0x1680}, {0x200b, 0x200f}, {0x2028, 0x2029}, {0x2581, 0x2581}, {0xfeff, 0xfeff}, {0xfffd, 0xfffd}} {
				mark(all, r[0], r[1], toSpace)
			}
		})
	})
	wordChars = rangeProps("word", map[string]byte{"": 1})
)

// cleanText drops control characters and makes spaces of white space.
type cleanText struct{ chars *props }

func (c cleanText) apply(dst, s []byte, _ int) ([]byte, error) {
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(s[i:])
		}
		switch c.chars.of(r) {
		case 0:
			dst = append(dst, s[i:i+n]...)
		case toSpace:
			dst = append(dst, ' ')
		}
		i += n
	}
	return dst, nil
}

// trim drops white space at the ends.
type trim struct{ left, right bool }

func (t trim) apply(dst, s []byte, _ int) ([]byte, error) {
	lo, hi := 0, len(s)
	if t.left {
		lo = run(s, 0, space)
	}
	for t.right && hi > lo {
		r, n := utf8.DecodeLastRune(s[:hi])
		if class.of(r)&space == 0 {
			break
		}
		hi -= n
	}
	if lo == 0 && hi == len(s) {
		return s, nil
	}
	return append(dst, s[lo:hi]...), nil
}

// toLetters writes bytes as the letters of byte-level vocabularies.
type toLetters struct{}

func (toLetters) apply(dst, s []byte, _ int) ([]byte, error) { return appendLetters(dst, s), nil }

// spaceCJK puts spaces around each Chinese character.
type spaceCJK struct{}

func (spaceCJK) apply(dst, s []byte, _ int) ([]byte, error) {
	if isASCII(s) {
		return s, nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRune(s[i:])
		if isCJK(r) {
			dst = append(append(append(dst, ' '), s[i:i+n]...), ' ')
		} else {
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst, nil
}

// isCJK has the ranges of the reference, of which one begins later than in the original.
func isCJK(r rune) bool {
	return r >= 0x3400 && (r <= 0x4dbf || 0x4e00 <= r && r <= 0x9fff || 0xf900 <= r && r <= 0xfaff ||
		0x20000 <= r && r <= 0x2a6df || 0x2a700 <= r && r <= 0x2b81f || 0x2b920 <= r && r <= 0x2ceaf || 0x2f800 <= r && r <= 0x2fa1f)
}

// parseNormalizer reads the steps; nil without steps.
func parseNormalizer(place string, raw json.RawMessage) (normalizer, error) {
	var n normalizer
	err := sequence(place, "normalizers", raw, func(place, kind string, raw json.RawMessage) error {
		steps, err := parseStep(place, kind, raw)
		n = append(n, steps...)
		return err
	})
	return n, err
}

// maxPut bounds what a normalizer puts in, for each character that it finds.
const maxPut = 1024

func parseStep(place, kind string, raw json.RawMessage) (normalizer, error) {
	switch kind {
	case "NFC", "NFD", "NFKC", "NFKD":
		return normalizer{formOf(strings.Contains(kind, "K"), strings.HasSuffix(kind, "C"))}, nil
	case "Lowercase":
		return normalizer{lowercase{lowerMap()}}, nil
	case "StripAccents":
		return normalizer{remove{accents()}}, nil
	case "Prepend":
		var f struct {
			Type    string `json:"type"`
			Prepend string `json:"prepend"`
		}
		err := unmarshal(place, raw, &f, true)
		if err == nil && len(f.Prepend) > maxPut {
			err = shardify.Unsupported("%s: %d bytes (at most %d)", place, len(f.Prepend), maxPut)
		}
		return normalizer{prepend(f.Prepend)}, err
	case "Strip":
		var f struct {
			Type  string `json:"type"`
			Left  bool   `json:"strip_left"`
			Right bool   `json:"strip_right"`
		}
		err := unmarshal(place, raw, &f, true)
		return normalizer{trim{f.Left, f.Right}}, err
	case "Nmt":
		return normalizer{cleanText{nmtClean()}}, nil
	case "ByteLevel":
		return normalizer{toLetters{}}, nil
	case "Replace":
		return parseReplace(place, raw)
	case "BertNormalizer":
		return parseBert(place, raw)
	case "Precompiled":
		var f struct {
			Type string `json:"type"`
			Map  []byte `json:"precompiled_charsmap"`
		}
		if err := unmarshal(place, raw, &f, true); err != nil {
			return nil, err
		}
		m, err := newCharsmap(f.Map)
		if err != nil {
			return nil, shardify.Corrupt(-1, "%s: precompiled_charsmap: %v", place, err)
		}
		return normalizer{clusters{m, clusterTable()}}, nil
	}
	return nil, notSupported(place, kind)
}

func parseReplace(place string, raw json.RawMessage) (normalizer, error) {
	var f struct {
		Type    string      `json:"type"`
		Pattern jsonPattern `json:"pattern"`
		Content string      `json:"content"`
	}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return nil, err
	}
	from, regex := f.Pattern.String, f.Pattern.Regex
	switch {
	case len(f.Content) > maxPut:
		return nil, shardify.Unsupported("%s: content of %d bytes (at most %d)", place, len(f.Content), maxPut)
	case from != nil && *from != "":
		return normalizer{replaceText{[]byte(*from), []byte(f.Content)}}, nil
	case regex != nil && *regex == " {2,}":
		return normalizer{replaceSpaces{[]byte(f.Content)}}, nil
	case regex != nil:
		return nil, shardify.Unsupported("%s: Replace of the pattern %q", place, *regex)
	}
	return nil, shardify.Unsupported("%s: Replace of nothing", place)
}

func parseBert(place string, raw json.RawMessage) (normalizer, error) {
	f := struct {
		Type      string `json:"type"`
		Clean     bool   `json:"clean_text"`
		Chinese   bool   `json:"handle_chinese_chars"`
		Strip     *bool  `json:"strip_accents"`
		Lowercase bool   `json:"lowercase"`
	}{Clean: true, Chinese: true, Lowercase: true}
	if err := unmarshal(place, raw, &f, true); err != nil {
		return nil, err
	}
	var n normalizer
	if f.Clean {
		n = append(n, cleanText{bertClean()})
	}
	if f.Chinese {
		n = append(n, spaceCJK{})
	}
	if f.Strip != nil && *f.Strip || f.Strip == nil && f.Lowercase {
		n = append(n, formOf(false, false), remove{bertMarks()})
	}
	if f.Lowercase {
		n = append(n, lowercase{lowerMap()})
	}
	return n, nil
}
