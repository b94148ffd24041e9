package star

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// loop is a table of a file, as a plan keeps it.
type loop struct {
	Block   string   `json:"block"`
	Columns []string `json:"columns"`
	Text    []bool   `json:"text"` // by column: not all values are numbers
	Rows    []int64  `json:"rows"` // the first row of each piece, and the number of all
	Offset  []int64  `json:"offset"`

	comments int64 // comments behind the columns
}

// valid reports whether a loop that was kept may be read.
func (l *loop) valid(size int64) bool {
	n := len(l.Rows)
	ok := n > 0 && len(l.Offset) == n && len(l.Text) == len(l.Columns) && len(l.Columns) > 0 && l.Offset[0] >= 0 && l.Rows[0] == 0 && l.Offset[n-1] <= size
	for i := 1; i < n; i++ {
		ok = ok && l.Rows[i] >= l.Rows[i-1] && l.Offset[i] >= l.Offset[i-1]
	}
	return ok
}

// pieceBytes is about how much text is a piece.
const pieceBytes = 1 << 20

// parser reads a file line by line.
type parser struct {
	b      []byte
	at     int64 // of the next line
	tokens []token
}

type token struct {
	text   []byte
	quoted bool
}

// line is the next line, its place, and its tokens; false behind the last one.
func (p *parser) line() (from int64, ok bool, err error) {
	if p.at >= int64(len(p.b)) {
		return p.at, false, nil
	}
	from = p.at
	rest := p.b[from:]
	n := bytes.IndexByte(rest, '\n') + 1
	if n == 0 {
		n = len(rest)
	}
	p.at += int64(n)
	p.tokens, err = cut(p.tokens[:0], rest[:n], from)
	return from, true, err
}

// cut makes tokens of a line.
func cut(list []token, line []byte, from int64) ([]token, error) {
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	if len(line) > 0 && line[0] == ';' {
		return nil, shardify.Unsupported("a block of text (;) at byte %d", from)
	}
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case blank(c):
			i++
		case c == '#':
			return list, nil
		case c == '\'' || c == '"':
			end := i + 1
			for end < len(line) && (line[end] != c || end+1 < len(line) && !blank(line[end+1])) {
				end++
			}
			if end >= len(line) {
				return nil, shardify.Corrupt(from+int64(i), "a quote %c without an end in its line", c)
			}
			list, i = append(list, token{line[i+1 : end], true}), end+1
		default:
			end := i
			for end < len(line) && !blank(line[end]) {
				end++
			}
			list, i = append(list, token{line[i:end], false}), end
		}
	}
	return list, nil
}

// word is the first token of a line, if it is not quoted.
func (p *parser) word() string {
	if len(p.tokens) == 0 || p.tokens[0].quoted {
		return ""
	}
	return string(p.tokens[0].text)
}

// parse finds the loops of a file.
func parse(b []byte) (all []*loop, err error) {
	p := &parser{b: b}
	block := ""
	for {
		from, ok, err := p.line()
		if err != nil || !ok {
			return all, err
		}
		switch w := p.word(); {
		case strings.HasPrefix(w, "data_"):
			block = w[len("data_"):]
		case w == "loop_":
			l := &loop{Block: block}
			if err := p.loop(l); err != nil {
				return nil, err
			}
			all = append(all, l)
		case len(p.tokens) > 0 && !strings.HasPrefix(w, "_"):
			return nil, shardify.Corrupt(from, "values behind the end of a table: %.40q", p.tokens[0].text)
		case len(p.tokens) == 1:
			return nil, shardify.Corrupt(from, "%.40q has no value, and is in no table", w)
		}
	}
}

// ends reports whether a line is no row: a table ends at an empty line, and where something else begins.
func (p *parser) ends(l *loop) bool {
	if len(p.tokens) > 1 && len(p.tokens) == len(l.Columns) {
		return false
	}
	w := p.word()
	return len(p.tokens) == 0 || w == "loop_" || strings.HasPrefix(w, "data_") || len(w) > 1 && w[0] == '_'
}

// maxColumns bounds the columns of a loop.
const maxColumns = 4096

// loop reads the columns and the rows of a loop.
func (p *parser) loop(l *loop) error {
	has := map[string]bool{}
	rows := int64(0)
	for {
		from, ok, err := p.line()
		if err != nil {
			return err
		}
		w := p.word()
		switch {
		case ok && len(p.tokens) == 0 && len(l.Columns) > 0 && bytes.IndexByte(p.b[from:p.at], '#') >= 0:
			l.comments++
			continue
		case ok && len(p.tokens) == 0 && rows == 0:
			continue // also in front of the rows
		case ok && rows == 0 && len(p.tokens) == 1 && len(w) > 1 && w[0] == '_':
			name := w[1:]
			if has[name] || len(l.Columns) == maxColumns || !utf8.ValidString(name) {
				return shardify.Corrupt(from, "column %.40q, which is there twice or is no text, or more than %d columns", name, maxColumns)
			}
			has[name] = true
			l.Columns, l.Text = append(l.Columns, name), append(l.Text, false)
			continue
		case !ok || p.ends(l):
			if ok {
				p.at = from
				if len(p.tokens) == 0 {
					_, _, err = p.line()
				}
			}
			if len(l.Columns) == 0 {
				return shardify.Corrupt(from, "a loop without columns")
			}
			if l.Rows == nil {
				l.Rows, l.Offset = []int64{0}, []int64{from}
			}
			if rows > 0 {
				l.Rows, l.Offset = append(l.Rows, rows), append(l.Offset, from)
			}
			return err
		}
		if err := p.fits(l, from); err != nil {
			return err
		}
		l.add(p.tokens, rows, from)
		rows++
	}
}

// add takes in a row.
func (l *loop) add(tokens []token, row, from int64) {
	for i := range tokens {
		l.Text[i] = l.Text[i] || tokens[i].quoted || number(tokens[i].text) == nil
	}
	if n := len(l.Offset); n == 0 || from-l.Offset[n-1] >= pieceBytes {
		l.Rows, l.Offset = append(l.Rows, row), append(l.Offset, from)
	}
}

// fits checks the values of a row. No text has control characters, and no value is an underscore alone: a cut line of a column is.
func (p *parser) fits(l *loop, from int64) error {
	if len(p.tokens) != len(l.Columns) {
		return shardify.Corrupt(from, "a row of %d values, where data_%s has %d columns", len(p.tokens), l.Block, len(l.Columns))
	}
	for i := range p.tokens {
		if b := p.tokens[i].text; !utf8.Valid(b) || bytes.ContainsFunc(b, unicode.IsControl) {
			return shardify.Corrupt(from, "%s is not UTF-8, or has control characters: %.40q", l.Columns[i], b)
		}
	}
	if len(p.tokens) == 1 && p.word() == "_" {
		return shardify.Corrupt(from, "a column without a name, or a row of an underscore alone")
	}
	return nil
}

// number is a value as JSON writes numbers; nil for other texts. Names such as 000012 are text.
func number(b []byte) []byte {
	digits := bytes.TrimLeft(b, "+-")
	if len(digits) == 0 || len(b)-len(digits) > 1 || len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' || len(bytes.Trim(digits, "0123456789.eE+-")) > 0 {
		return nil
	}
	if json.Valid(b) {
		return b
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return nil
	}
	return strconv.AppendFloat(nil, v, 'g', -1, 64)
}

// append appends the rows of a piece as JSON lines; at is where the piece begins in the file.
func (l *loop) append(dst, piece []byte, at int64) ([]byte, error) {
	p := &parser{b: piece}
	for {
		from, ok, err := p.line()
		if err == nil && ok && len(p.tokens) == 0 {
			continue // a comment
		}
		if err == nil && ok {
			err = p.fits(l, from)
		}
		if err == nil && !ok {
			return dst, nil
		}
		if err != nil {
			return dst, shardify.Amend(err, func(e *shardify.Error) {
				if e.Offset >= 0 {
					e.Offset += at
				}
			})
		}
		for i := range p.tokens {
			sep := byte(',')
			if i == 0 {
				sep = '{'
			}
			name, err := json.Marshal(l.Columns[i])
			if err != nil {
				return dst, err
			}
			dst = append(append(append(dst, sep), name...), ':')
			n := number(p.tokens[i].text)
			if l.Text[i] {
				if n, err = json.Marshal(string(p.tokens[i].text)); err != nil {
					return dst, err
				}
			}
			if n == nil {
				return dst, shardify.Corrupt(at+from, "%s was a number in all rows, and is %.40q", l.Columns[i], p.tokens[i].text)
			}
			dst = append(dst, n...)
		}
		dst = append(dst, '}', '\n')
	}
}
