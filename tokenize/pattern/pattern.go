package pattern

import "github.com/shardify/shardify/tokenize/chars"

// Pattern is a regular expression that cuts text into words. Each has a scanner of its own
// that finds the same words in one pass.
type Pattern uint8

// The patterns.
const (
	Whole  Pattern = iota // all of it is one word
	GPT2                  // GPT-2
	CL100K                // Llama 3, and cl100k of tiktoken
	Qwen2                 // the same with digits one by one
	O200K                 // capitals begin words
	Digits                // numbers one by one, and what is between them
	Spaced                // white space between words is left out
)

// The texts of patterns that have a scanner. A text that is not here is another pattern,
// however near it looks.
var byText = map[string]Pattern{
	`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`:                                          GPT2,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`: CL100K,
	`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`:      Qwen2,
	`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`: O200K,
}

// Names are the names of patterns.
var Names = []string{"gpt2", "cl100k", "llama3", "qwen2", "o200k"}

var byName = map[string]Pattern{"gpt2": GPT2, "cl100k": CL100K, "llama3": CL100K, "qwen2": Qwen2, "o200k": O200K}

// Named is the pattern of a name.
func Named(name string) (Pattern, bool) {
	chars.Load()
	p, ok := byName[name]
	return p, ok
}

// Of is the pattern of a regular expression, which is one of those above to the letter.
func Of(text string) (Pattern, bool) {
	chars.Load()
	p, ok := byText[text]
	return p, ok
}

// Next is the end of the word that begins at s[i].
func (p Pattern) Next(s []byte, i int) int {
	switch p {
	case GPT2:
		return nextGPT2(s, i)
	case CL100K:
		return nextCL100K(s, i, 3)
	case Qwen2:
		return nextCL100K(s, i, 1)
	case O200K:
		return nextO200K(s, i)
	case Digits:
		return nextDigits(s, i)
	}
	return len(s)
}

// runOther is where the characters from i on end that are neither letter, number nor space.
func runOther(s []byte, i int) int {
	for i < len(s) {
		k, n := chars.At(s, i)
		if k&(chars.Letter|chars.Number|chars.Space) != 0 {
			break
		}
		i += n
	}
	return i
}

// runNewlines is where CR, LF and the character more end.
func runNewlines(s []byte, i int, more byte) int {
	for i < len(s) && (s[i] == '\r' || s[i] == '\n' || s[i] == more) {
		i++
	}
	return i
}

// contraction is the length of 's, 't, 're, 've, 'm, 'll or 'd at s[i], 0 without one.
// Folded, capitals count too, and the long s.
func contraction(s []byte, i int, fold bool) int {
	if i+1 >= len(s) || s[i] != '\'' {
		return 0
	}
	low := func(c byte) byte {
		if fold && 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		return c
	}
	var second byte
	switch low(s[i+1]) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		second = 'e'
	case 'l':
		second = 'l'
	case 0xc5: // U+017F
		if fold && i+2 < len(s) && s[i+2] == 0xbf {
			return 3
		}
		return 0
	default:
		return 0
	}
	if i+2 < len(s) && low(s[i+2]) == second {
		return 3
	}
	return 0
}

// spaces is the end of \s+(?!\S)|\s+ at i, where white space is: the last character of a run
// belongs to what follows, unless it is the only one.
func spaces(s []byte, i int) int {
	j, last := i, i
	for j < len(s) {
		k, n := chars.At(s, j)
		if k&chars.Space == 0 {
			if last > i {
				return last
			}
			break
		}
		last, j = j, j+n
	}
	return j
}

// lines is the end of \s*[\r\n]+|\s+(?!\S)|\s+ at i, where white space is.
func lines(s []byte, i int) int {
	j, last, end := i, i, 0
	for j < len(s) {
		k, n := chars.At(s, j)
		if k&chars.Space == 0 {
			break
		}
		last, j = j, j+n
		if k&chars.Newline != 0 {
			end = j
		}
	}
	switch {
	case end > 0:
		return end
	case j < len(s) && last > i:
		return last
	}
	return j
}

func nextGPT2(s []byte, i int) int {
	if n := contraction(s, i, false); n > 0 {
		return i + n
	}
	j := i
	if s[i] == ' ' && i+1 < len(s) {
		j++
	}
	k, n := chars.At(s, j)
	switch {
	case k&chars.Letter != 0:
		return chars.Run(s, j+n, chars.Letter)
	case k&chars.Number != 0:
		return chars.Run(s, j+n, chars.Number)
	case k&chars.Space == 0:
		return runOther(s, j+n)
	}
	return spaces(s, i)
}

// nextCL100K takes at most most digits to a word.
func nextCL100K(s []byte, i, most int) int {
	if n := contraction(s, i, true); n > 0 {
		return i + n
	}
	k, n := chars.At(s, i)
	if k&chars.Letter != 0 {
		return chars.Run(s, i+n, chars.Letter)
	}
	if k&chars.Number != 0 {
		return numbers(s, i, most)
	}
	if j := i + n; k&chars.Newline == 0 && j < len(s) { // one character of another kind, and letters
		if l, m := chars.At(s, j); l&chars.Letter != 0 {
			return chars.Run(s, j+m, chars.Letter)
		}
	}
	return symbolsOrSpaces(s, i, k, n, '\n')
}

// symbolsOrSpaces is the end of what the longer patterns have last:
// ` ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`, at a character of class k and length n.
// more may follow symbols as newlines do.
func symbolsOrSpaces(s []byte, i int, k byte, n int, more byte) int {
	if k&chars.Space == 0 {
		return runNewlines(s, runOther(s, i+n), more)
	}
	if s[i] == ' ' {
		if j := runOther(s, i+1); j > i+1 {
			return runNewlines(s, j, more)
		}
	}
	return lines(s, i)
}

func numbers(s []byte, i, most int) int {
	for ; most > 0 && i < len(s); most-- {
		k, n := chars.At(s, i)
		if k&chars.Number == 0 {
			break
		}
		i += n
	}
	return i
}

func nextO200K(s []byte, i int) int {
	k, n := chars.At(s, i)
	if k&chars.Number != 0 {
		return numbers(s, i, 3)
	}
	// One character that is not a letter may come first; a mark may be that or part of the word.
	begins := [2]int{-1, i}
	if k&(chars.Letter|chars.Newline) == 0 {
		begins[0] = i + n
	}
	for _, b := range begins {
		if b >= 0 && b < len(s) {
			if j := capitalsAndSmall(s, b); j >= 0 {
				return j + contraction(s, j, true)
			}
		}
	}
	for _, b := range begins {
		if b >= 0 && b < len(s) {
			if j := chars.Run(s, b, chars.Upper); j > b {
				return j + contraction(s, j, true)
			}
		}
	}
	return symbolsOrSpaces(s, i, k, n, '/')
}

// capitalsAndSmall is the end of [Lu Lt Lm Lo M]*[Ll Lm Lo M]+ at i, -1 if there is no match.
// Without small letters at the end, the first part gives back characters until the second one
// has its own, which then is the last character that is in both.
func capitalsAndSmall(s []byte, i int) int {
	both := -1
	for i < len(s) {
		k, n := chars.At(s, i)
		if k&chars.Upper == 0 {
			if k&chars.Lower != 0 {
				return chars.Run(s, i+n, chars.Lower)
			}
			break
		}
		i += n
		if k&chars.Lower != 0 {
			both = i
		}
	}
	return both
}

// nextDigits is one number, or a stretch without one.
func nextDigits(s []byte, i int) int {
	k, n := chars.At(s, i)
	if k&chars.Numeric != 0 {
		return i + n
	}
	for i += n; i < len(s); i += n {
		if k, n = chars.At(s, i); k&chars.Numeric != 0 {
			break
		}
	}
	return i
}
