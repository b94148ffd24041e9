package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// surveyed is what a look at all cells of a file found.
type surveyed struct {
	dialect
	size  int64
	names []string // of the fields
	raw   []string // the same, as the file has them
	read  []bool   // the columns whose cells were looked at
	sums  []sum
	index *lines.Index
	err   error
}

// sum is what was seen of a column.
type sum struct {
	seen  seen
	bytes int64 // of texts
	// The first cells that made it one of texts, and of floats; and the first whole number that
	// floats do not have.
	text, float, wide coltype.Met
	// The first of missingWords, and all.
	word  coltype.Met
	words []string
}

// meet notes words for missing values.
func (s *sum) meet(words ...string) {
	for _, w := range words {
		if !slices.Contains(s.words, w) {
			s.words = append(s.words, w)
		}
	}
}

// join adds what another worker saw of the same file.
func (s *sum) join(o *sum) {
	s.seen |= o.seen
	s.bytes += o.bytes
	s.text.Join(o.text)
	s.float.Join(o.float)
	s.wide.Join(o.wide)
	s.word.Join(o.word)
	s.meet(o.words...)
}

// add adds what was seen in another file, or in another column.
func (s *sum) add(o *sum, t *format.Table, i int) {
	s.seen |= o.seen
	s.meet(o.words...)
	for _, m := range []struct{ to, from *coltype.Met }{{&s.float, &o.float}, {&s.wide, &o.wide}, {&s.word, &o.word}} {
		if m.to.At == 0 && m.from.At > 0 {
			if *m.to = *m.from; t != nil {
				m.to.File = t.Shown(i)
			}
		}
	}
}

// look is one worker of a survey.
type look struct {
	scanner
	read []bool
	all  bool // cells of some columns are to be looked at
	sums []sum
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
			l.sums = make([]sum, len(x.names))
		}
		return at, err
	}
	ask.Work = func(w int, p *lines.Piece) (int64, error) { return looks[w].piece(p) }
	if x.index, err = ask.Run(ctx, f); err != nil {
		return nil, s.settings.cureEncoding(err)
	}
	if x.names == nil {
		return nil, shardify.Corrupt(-1, "an empty file: the first line has the names of the columns")
	}
	x.sums = make([]sum, len(x.names))
	for i := range looks {
		for c := range looks[i].sums {
			x.sums[c].join(&looks[i].sums[c])
		}
	}
	return x, nil
}

// cureEncoding adds the encoding that reads what is not UTF-8.
func (s *settings) cureEncoding(err error) error {
	encoding, makes := "", ""
	switch text := err.Error(); {
	case strings.Contains(text, "text in UTF-16"):
		encoding, makes = lines.UTF16, "text in UTF-16"
	case strings.Contains(text, " is not UTF-8"):
		encoding, makes = lines.Latin1, "text of western Europe"
	}
	if e, ok := errors.AsType[*shardify.Error](err); ok && encoding != "" {
		format.Cure(e, format.With(optCSV, strings.TrimPrefix(s.text+",", ",")+"encoding="+encoding, makes))
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
		data = data && x.classify(cell)&(seenInt|seenBig|seenFloats) != 0
		if p.Data[end] == '\n' {
			break
		}
	}
	if err := p.Check(""); err != nil {
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
		if seen[n] {
			return 0, shardify.Mismatch("two columns %q", n)
		}
		seen[n] = true
		x.raw, x.names = append(x.raw, n), append(x.names, format.PlainName(n))
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

// piece looks at a piece.
func (l *look) piece(p *lines.Piece) (records int64, err error) {
	if err := p.Check(""); err != nil {
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
		s := &l.sums[c]
		switch {
		case !l.read[c], s.seen&seenText != 0:
			text, at, err := l.cell(i)
			if err != nil {
				return 0, err
			}
			end = at
			s.bytes += int64(len(text))
			if l.na[string(text)] {
				s.seen |= seenNA
			} else if len(text) == 0 {
				s.seen |= seenEmpty
			}
		case l.fast:
			var what seen
			if end, what = l.quick(i); end >= 0 {
				if what&(seenFloat|seenWide)&^s.seen != 0 {
					l.note(s, what, i, bytes.TrimSuffix(b[i:end], []byte{'\r'}))
				}
				s.seen |= what
				s.bytes += int64(end - i)
			}
		}
		if end < 0 {
			text, at, err := l.cell(i)
			if err != nil {
				return 0, err
			}
			end = at
			what := l.classify(text)
			s.bytes += int64(len(text))
			if what&(seenFloats|seenWide|seenWord|seenText)&^s.seen != 0 {
				l.note(s, what, i, text)
			}
			if what == seenWord {
				s.meet(string(text))
			}
			s.seen |= what
		}
		if (b[end] == '\n') != (c == last) {
			return 0, l.ragged(start)
		}
		i = end + 1
	}
	return i, nil
}

// note notes the first cell of a kind. It is at byte i of the piece.
func (l *look) note(s *sum, what seen, i int, cell []byte) {
	met := coltype.Met{At: l.p.LineAt(i), Text: fmt.Sprintf("%.40q", cell)}
	switch {
	case what == seenText:
		s.text.Join(met)
	case what == seenWord:
		s.word.Join(met)
	case what&seenFloats != 0:
		s.float.Join(met)
	default:
		s.wide.Join(met)
	}
}

const maxExact = "9007199254740992" // coltype.MaxExact

// pastExact reports whether digits are of a number beyond maxExact.
func pastExact(b []byte) bool {
	return len(b) > len(maxExact) || len(b) == len(maxExact) && string(b) > maxExact
}

// exponent is where the exponent at i ends of a number that begins at s; -1 if
// the slow way has to decide.
func exponent(b []byte, s, i int) int {
	if i++; b[i] == '-' || b[i] == '+' {
		i++
	}
	e := i
	for ; b[i]-'0' <= 9; i++ {
	}
	if i-e < 1 || i-e > 2 || e-s > 100 {
		return -1
	}
	return i
}

// quick is where the cell at i ends, and what it is, if it is a plain number or nothing; -1 if
// the slow way has to decide.
func (l *look) quick(i int) (int, seen) {
	b, from := l.b, i
	neg := b[i] == '-'
	if neg {
		i++
	}
	s := i
	for ; b[i]-'0' <= 9; i++ {
	}
	n := i - s
	what := seenInt
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
	if b[i]|0x20 == 'e' && n > 0 || n >= len(maxExact) {
		return l.quickLong(from, s, i, what)
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

// quickLong is the rest of quick for numbers with exponents, and for whole numbers of many digits: a call within
// quick costs each cell.
func (l *look) quickLong(from, s, i int, what seen) (int, seen) {
	b := l.b
	if what&seenInt != 0 && pastExact(b[s:i]) {
		what |= seenWide
	}
	if b[i]|0x20 == 'e' {
		what = seenFloat
		if i = exponent(b, s, i); i < 0 {
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
