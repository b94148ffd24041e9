package csv

import (
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// settings are what --csv says.
type settings struct {
	sep       byte // 0: that of the file's name; ' ' is any number of blanks and tabs
	quote     byte
	quoteSet  bool
	header    string // auto, yes, none
	encoding  string
	comment   byte
	decimal   byte
	thousands byte
	blank     string // refuse, missing, skip
	skip      int    // lines before the header
	na        map[string]bool
	wide      string // the one field of all columns
	types     coltype.Givens
	text      string // all of them
}

var settingNames = []string{"sep", "quote", "header", "encoding", "comment", "decimal", "thousands", "blank", "skip", "na", "wide", "types"}

const help = "how CSV is written, as KEY=VALUE,...: sep=;|tab|space, quote=none, header=none, decimal=, thousands=, encoding=latin1|utf16, comment=#, skip=N, na=NA,null, blank=missing|skip, wide=NAME, types=COLUMN:f32,..."

// parseSettings reads --csv. A value ends where ",KEY=" begins.
func parseSettings(text string) (*settings, error) {
	s := &settings{text: text, quote: '"', header: "auto", encoding: lines.UTF8, decimal: '.', blank: "refuse"}
	for text != "" {
		key, rest, ok := strings.Cut(text, "=")
		if !ok || !known(key) {
			return nil, shardify.Misuse("--csv: %.40q is not a setting; want KEY=VALUE with one of %s", key, strings.Join(settingNames, ", "))
		}
		value, next := rest, ""
		for at := 0; ; {
			k := strings.IndexByte(rest[at:], ',')
			if k < 0 {
				break
			}
			at += k
			if word, _, ok := strings.Cut(rest[at+1:], "="); ok && known(word) && (at > 0 || key != "sep" && key != "decimal" && key != "thousands") {
				value, next = rest[:at], rest[at+1:]
				break
			}
			at++
		}
		if err := s.set(key, value); err != nil {
			return nil, err
		}
		text = next
	}
	return s, nil
}

func known(key string) bool {
	for _, n := range settingNames {
		if n == key {
			return true
		}
	}
	return false
}

var separators = map[string]byte{"tab": '\t', "space": ' ', "comma": ',', "semicolon": ';', "pipe": '|', `\t`: '\t'}

func (s *settings) set(key, value string) error {
	wrong := func(want string) error { return shardify.Misuse("--csv %s=%q: want %s", key, value, want) }
	one := func(to *byte) error {
		if len(value) != 1 || value[0] >= utf8.RuneSelf || value[0] < ' ' && value[0] != '\t' {
			return wrong("one character")
		}
		*to = value[0]
		return nil
	}
	among := func(to *string, words ...string) error {
		for _, w := range words {
			if w == value {
				*to = w
				return nil
			}
		}
		return wrong(strings.Join(words, ", "))
	}
	switch key {
	case "sep":
		if c, ok := separators[value]; ok {
			s.sep = c
			return nil
		}
		return one(&s.sep)
	case "quote":
		if s.quoteSet = true; value == "none" {
			s.quote = 0
			return nil
		}
		return one(&s.quote)
	case "header":
		return among(&s.header, "auto", "yes", "none")
	case "encoding":
		return among(&s.encoding, lines.UTF8, lines.Latin1, lines.UTF16)
	case "blank":
		return among(&s.blank, "refuse", "missing", "skip")
	case "comment":
		return one(&s.comment)
	case "decimal":
		return one(&s.decimal)
	case "thousands":
		return one(&s.thousands)
	case "skip":
		s.skip = 0
		for _, c := range value {
			if c < '0' || c > '9' || s.skip > 1e6 {
				return wrong("a number of lines")
			}
			s.skip = s.skip*10 + int(c-'0')
		}
	case "na":
		if s.na == nil {
			s.na = map[string]bool{}
		}
		for _, w := range strings.Split(value, ",") {
			s.na[w] = true
		}
	case "wide":
		s.wide = value
		return shardify.Misused(shardify.ValidName(value))
	case "types":
		return s.setTypes(value)
	}
	return nil
}

func (s *settings) setTypes(value string) error {
	all, err := coltype.ParseGivens(optCSV, value, "text, bool, f32, f64 or a whole type such as i64, with ? behind it where cells may be empty",
		func(g *coltype.Given) bool { return g.DType != shardify.F16 && g.DType != shardify.BF16 })
	s.types = append(s.types, all...)
	return err
}

// of is the settings of a file: separator and quote follow from its name.
func (s *settings) of(name string) (dialect, error) {
	d := dialect{settings: s, sep: s.sep, quote: s.quote}
	if d.sep == 0 {
		if d.sep = ','; isTSV(name) {
			d.sep = '\t'
		}
	}
	if d.sep == '\t' && !s.quoteSet {
		d.quote = 0
	}
	d.fast = d.sep != ' ' && s.decimal == '.' && s.thousands == 0
	if c := d.sep; c == d.quote || c == s.decimal || c == s.comment || s.decimal == s.thousands || s.comment != 0 && s.comment == d.quote {
		return d, shardify.Misuse("--csv: one character for two things; columns are separated by %q", d.sep)
	}
	return d, nil
}

// dialect is how one file is written.
type dialect struct {
	*settings
	sep, quote byte
	fast       bool // numbers are as in programs
}

// unpacked is a name in lower case without the extension of a packed file.
func unpacked(name string) string {
	name = strings.ToLower(name)
	for _, e := range []string{".gz", ".zst"} {
		if n, ok := strings.CutSuffix(name, e); ok {
			return n
		}
	}
	return name
}

func isTSV(name string) bool {
	n := unpacked(name)
	return strings.HasSuffix(n, ".tsv") || strings.HasSuffix(n, ".tab")
}

func sniff(_ []byte, name string) bool {
	return isTSV(name) || strings.HasSuffix(unpacked(name), ".csv")
}
