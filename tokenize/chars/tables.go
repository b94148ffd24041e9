package chars

import (
	"embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed tables/*.txt
var tableFiles embed.FS

// Classes of characters, as bits of tables/classes.txt, and one more.
const (
	Letter  = 1 << iota // L
	Number              // N
	Space               // White_Space
	Upper               // Lu Lt Lm Lo M
	Lower               // Ll Lm Lo M
	Newline             // CR LF
	Numeric             // what Digits takes alone: tables/numeric.txt
)

// Props has a byte for every character, in blocks of 256 that are kept once.
type Props struct {
	index  [(utf8.MaxRune + 1) >> 8]uint16
	blocks [][256]byte
}

// Of is the byte of a character.
func (p *Props) Of(r rune) byte { return p.blocks[p.index[uint32(r)>>8]][byte(r)] }

// newProps takes what set puts into an array of all characters.
func newProps(fill func(all []byte)) *Props {
	all := make([]byte, utf8.MaxRune+1)
	fill(all)
	p, seen := &Props{}, map[[256]byte]uint16{}
	for i := range p.index {
		b := [256]byte(all[i<<8:])
		k, ok := seen[b]
		if !ok {
			k = uint16(len(p.blocks))
			seen[b], p.blocks = k, append(p.blocks, b)
		}
		p.index[i] = k
	}
	return p
}

// class has the classes of all characters, ascii those of the first 128. They are there
// once a tokenizer is loaded.
var (
	class *Props
	ascii [256]byte
)

// Load reads the classes of characters. It comes before ClassOf, At, Run and RunInk; later calls do nothing.
func Load() { load() }

var load = sync.OnceFunc(func() {
	class = newProps(func(all []byte) {
		eachRange("classes", func(lo, hi rune, rest string) {
			bits, err := strconv.ParseUint(rest, 10, 8)
			must(err)
			mark(all, lo, hi, byte(bits))
		})
		eachRange("numeric", func(lo, hi rune, _ string) { mark(all, lo, hi, Numeric) })
	})
	for i := range rune(utf8.RuneSelf) {
		ascii[i] = class.Of(i)
	}
})

func mark(all []byte, lo, hi rune, bits byte) {
	for r := lo; r <= hi; r++ {
		all[r] |= bits
	}
}

// eachRange reads a table of lines "first last rest", first and last in hexadecimal.
func eachRange(name string, f func(lo, hi rune, rest string)) {
	eachLine(name, func(line string) {
		a, line, _ := strings.Cut(line, " ")
		b, rest, _ := strings.Cut(line, " ")
		f(hexRune(a), hexRune(b), rest)
	})
}

// eachMapping reads a table of lines "character what it becomes", all in hexadecimal.
func eachMapping(name string, f func(r rune, to []rune)) {
	eachLine(name, func(line string) {
		words := strings.Fields(line)
		to := make([]rune, 0, len(words)-1)
		for _, w := range words[1:] {
			to = append(to, hexRune(w))
		}
		f(hexRune(words[0]), to)
	})
}

func eachLine(name string, f func(string)) {
	text, err := tableFiles.ReadFile("tables/" + name + ".txt")
	must(err)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			f(line)
		}
	}
}

func hexRune(s string) rune {
	n, err := strconv.ParseUint(s, 16, 21)
	must(err)
	return rune(n)
}

// must is for tables, which are part of the program.
func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("a table of package tokenize: %v", err))
	}
}

// ClassOf is the classes of a character, as bits.
func ClassOf(r rune) byte { return class.Of(r) }
