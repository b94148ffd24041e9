package csv

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/lines"
	"github.com/shardify/shardify/internal/rows"
)

// surveyed is what a look at all cells of a file found.
type surveyed struct {
	dialect
	size  int64
	names []string
	read  []bool // the columns whose cells were looked at
	seen  []uint8
	bytes []int64 // of texts
	why   []cause // of columns of texts
	index *lines.Index
	err   error
}

// cause is the first cell that made a column one of texts.
type cause struct {
	line int64
	text string
}

// look is one worker of a survey.
type look struct {
	scanner
	read  []bool
	all   bool // cells of some columns are to be looked at
	seen  []uint8
	bytes []int64
	why   []cause
}

// surveyFile looks at a file.
func (s *source) surveyFile(ctx context.Context, path, name string, workers int) (*surveyed, error) {
	d, err := s.settings.of(name)
	if err != nil {
		return nil, err
	}
	f, err := rows.OpenFile(ctx, s.fs, path, -1)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x := &surveyed{dialect: d, size: f.Size()}
	looks := make([]look, workers)
	ask := lines.Survey{Workers: workers, Encoding: s.settings.encoding, Quotes: lines.Quotes{Quote: d.quote, Sep: d.sep, Comment: d.comment, Skip: d.skip}}
	ask.Head = func(p *lines.Piece) (int, error) {
		at, err := x.head(p, s.want)
		for i := range looks {
			l := &looks[i]
			l.dialect, l.columns, l.read = x.dialect, len(x.names), x.read
			l.all = slices.Contains(x.read, true)
			l.seen, l.bytes, l.why = make([]uint8, len(x.names)), make([]int64, len(x.names)), make([]cause, len(x.names))
		}
		return at, err
	}
	ask.Work = func(w int, p *lines.Piece) (int64, error) { return looks[w].piece(p) }
	if x.index, err = ask.Run(ctx, f); err != nil {
		return nil, cureEncoding(err)
	}
	if x.names == nil {
		return nil, shardify.Corrupt(-1, "an empty file: the first line has the names of the columns")
	}
	x.seen, x.bytes, x.why = make([]uint8, len(x.names)), make([]int64, len(x.names)), make([]cause, len(x.names))
	for i := range looks {
		for c := range x.names {
			x.seen[c] |= looks[i].seen[c]
			x.bytes[c] += looks[i].bytes[c]
			if y := looks[i].why[c]; y.line > 0 && (x.why[c].line == 0 || y.line < x.why[c].line) {
				x.why[c] = y
			}
		}
	}
	return x, nil
}

// cureEncoding adds what to do about UTF-16.
func cureEncoding(err error) error {
	if strings.Contains(err.Error(), "text in UTF-16") {
		return shardify.Hint(err, "--csv encoding=utf16 reads it as it is")
	}
	return err
}

// head finds the names of the columns, and says where the records begin.
func (x *surveyed) head(p *lines.Piece, want func(name string) bool) (int, error) {
	sc := scanner{dialect: x.dialect, columns: 2}
	sc.reset(p)
	from := 0
	for range x.skip {
		if from += bytes.IndexByte(p.Data[from:], '\n') + 1; from == len(p.Data) {
			return from, nil
		}
	}
	at, err := sc.begin(from)
	if at < 0 || err != nil {
		return len(p.Data), err
	}
	var cells []string
	data := true
	end := at
	for i := at; ; i = end + 1 {
		var cell []byte
		if cell, end, err = sc.cell(i); err != nil {
			return 0, err
		}
		cells = append(cells, string(cell))
		data = data && x.classify(cell)&(seenInt|seenBig|seenFloat) != 0
		if p.Data[end] == '\n' {
			break
		}
	}
	if err := p.Check(cureUTF8); err != nil {
		return 0, err
	}
	switch {
	case x.header == "none":
		end = at - 1
		for i := range cells {
			cells[i] = fmt.Sprintf("c%d", i)
		}
	case x.header == "auto" && data:
		return 0, shardify.Misuse("the first line looks like data, %.40q: --csv header=none names the columns c0, c1, ...; header=yes takes it for the names", cells[0])
	}
	for _, c := range ";\t|," {
		if len(cells) == 1 && byte(c) != x.sep && strings.ContainsRune(cells[0], c) {
			return 0, shardify.Misuse("the first line is %.80q: it seems to be separated by %q; say so with --csv sep=%s", cells[0], c, word(byte(c)))
		}
	}
	seen := map[string]bool{}
	for i, n := range cells {
		if n == "" {
			n = fmt.Sprintf("_%d", i)
		}
		if n = format.PlainName(n); seen[n] {
			return 0, shardify.Mismatch("two columns %q", n)
		}
		seen[n] = true
		x.names = append(x.names, n)
		x.read = append(x.read, want(n))
	}
	return end + 1, nil
}

// word is a separator in --csv.
func word(c byte) string {
	for name, s := range separators {
		if s == c && len(name) > 2 {
			return name
		}
	}
	return string(c)
}

const cureUTF8 = "; --csv encoding=latin1 reads that of western Europe"

// piece looks at a piece.
func (l *look) piece(p *lines.Piece) (records int64, err error) {
	if err := p.Check(cureUTF8); err != nil {
		return 0, err
	}
	l.reset(p)
	for i := 0; ; records++ {
		if i, err = l.begin(i); err != nil || i < 0 {
			return records, err
		}
		if l.all {
			i, err = l.record(i)
		} else {
			i, err = l.skipRecord(i)
		}
		if err != nil {
			return records, err
		}
	}
}

// record looks at the cells of the record at i, and says where it ends.
func (l *look) record(i int) (int, error) {
	b, start, last := l.b, i, l.columns-1
	for c := range l.read {
		end := -1
		switch seen := l.seen[c]; {
		case !l.read[c], seen&seenText != 0:
			text, at, err := l.cell(i)
			if err != nil {
				return 0, err
			}
			end = at
			l.bytes[c] += int64(len(text))
			if l.na[string(text)] {
				l.seen[c] |= seenNA
			} else if len(text) == 0 {
				l.seen[c] |= seenEmpty
			}
		case l.fast:
			var what uint8
			if end, what = l.quick(i); end >= 0 {
				l.seen[c] |= what
				l.bytes[c] += int64(end - i)
			}
		}
		if end < 0 {
			text, at, err := l.cell(i)
			if err != nil {
				return 0, err
			}
			end = at
			what := l.classify(text)
			l.bytes[c] += int64(len(text))
			if what == seenText && l.why[c].line == 0 {
				l.why[c] = cause{l.p.LineAt(i), fmt.Sprintf("%.40q", text)}
			}
			l.seen[c] |= what
		}
		if (b[end] == '\n') != (c == last) {
			return 0, l.ragged(start)
		}
		i = end + 1
	}
	return i, nil
}

// quick is where the cell at i ends, and what it is, if it is a plain number or nothing; -1 if
// it takes more to tell.
func (l *look) quick(i int) (int, uint8) {
	b, from := l.b, i
	neg := b[i] == '-'
	if neg {
		i++
	}
	s := i
	for ; b[i]-'0' <= 9; i++ {
	}
	n := i - s
	what := uint8(seenInt)
	switch {
	case b[i] == '.' && n > 0:
		for i++; b[i]-'0' <= 9; i++ {
		}
		if i-s > 300 {
			return -1, 0
		}
		what = seenFloat
	case n == 0 && !neg:
		what = seenEmpty
	case n == 0 || n > 18 || b[s] == '0' && (n > 1 || neg):
		if b[i]|0x20 != 'e' || n == 0 || n > 18 {
			return -1, 0
		}
	case neg:
		what = seenInt | seenMinus
	}
	if b[i]|0x20 == 'e' && n > 0 {
		what = seenFloat
		if i++; b[i] == '-' || b[i] == '+' {
			i++
		}
		e := i
		for ; b[i]-'0' <= 9; i++ {
		}
		if i-e < 1 || i-e > 2 || e-s > 100 {
			return -1, 0
		}
	}
	switch {
	case b[i] == l.sep || b[i] == '\n':
	case b[i] == '\r' && b[i+1] == '\n':
		i++
	default:
		return -1, 0
	}
	if l.na != nil && l.na[string(b[from:i])] {
		return -1, 0
	}
	return i, what
}
