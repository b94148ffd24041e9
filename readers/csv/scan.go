package csv

import (
	"bytes"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/lines"
)

// scanner finds records and cells in a piece, which ends in a line feed.
type scanner struct {
	dialect
	columns int
	p       *lines.Piece
	b       []byte
	quotes  bool // there is a quote in the piece
	returns bool // there is a carriage return
	plain   []byte
}

func (s *scanner) reset(p *lines.Piece) {
	s.p, s.b = p, p.Data
	s.quotes = s.quote != 0 && bytes.IndexByte(s.b, s.quote) >= 0
	s.returns = bytes.IndexByte(s.b, '\r') >= 0
}

// begin finds the next record at or behind i: it returns where its first cell is, or -1.
func (s *scanner) begin(i int) (int, error) {
	for i < len(s.b) {
		if c := s.b[i]; c > ' ' && c != s.comment {
			return i, nil
		}
		if s.comment != 0 && s.b[i] == s.comment {
			i += bytes.IndexByte(s.b[i:], '\n') + 1
			continue
		}
		at := i
		for s.sep == ' ' && isBlank(s.b[i]) {
			i++
		}
		end := i
		if s.b[end] == '\r' && end+1 < len(s.b) {
			end++
		}
		if s.b[end] != '\n' {
			return i, nil
		}
		if s.columns == 1 && s.sep != ' ' {
			switch s.blank {
			case "missing":
				return at, nil
			case "refuse":
				e := shardify.Misuse("line %d is empty: --csv blank=missing takes it for a missing value, --csv blank=skip leaves it out", s.p.LineAt(at))
				e.Offset = s.p.Off + int64(at)
				return 0, e
			}
		}
		i = end + 1
	}
	return -1, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// cell is the text of the cell at i, and where the separator or line feed behind it is. The text
// is valid until the next call.
func (s *scanner) cell(i int) (text []byte, end int, err error) {
	if s.quotes && s.b[i] == s.quote {
		return s.quoted(i)
	}
	b := s.b
	for end = i; b[end] != s.sep && b[end] != '\n'; end++ {
		if s.sep == ' ' && b[end] == '\t' {
			break
		}
	}
	text = b[i:end]
	if s.returns && len(text) > 0 {
		if b[end] == '\n' && text[len(text)-1] == '\r' {
			text = text[:len(text)-1]
		}
		if k := bytes.IndexByte(text, '\r'); k >= 0 {
			return nil, 0, s.p.Corrupt(i+k, "a carriage return without a line feed")
		}
	}
	return text, s.pass(end), nil
}

// pass goes over the blanks before the next cell where these separate cells, all but one.
func (s *scanner) pass(end int) int {
	if s.sep != ' ' || s.b[end] == '\n' {
		return end
	}
	k := end
	for isBlank(s.b[k]) {
		k++
	}
	if s.b[k] == '\r' && s.b[k+1] == '\n' {
		k++
	}
	if s.b[k] == '\n' {
		return k
	}
	return k - 1
}

// quoted is cell for one that begins with a quote.
func (s *scanner) quoted(i int) (text []byte, end int, err error) {
	b, from := s.b, i+1
	s.plain = s.plain[:0]
	whole := true
	for {
		k := bytes.IndexByte(b[from:], s.quote)
		if k < 0 {
			return nil, 0, s.p.Corrupt(i, "a quote is never closed; --csv quote=none takes quotes for characters")
		}
		end = from + k + 1 // there is a line feed behind it
		if end < len(b) && b[end] == s.quote {
			s.plain = append(s.plain, b[from:end]...)
			whole, from = false, end+1
			continue
		}
		if text = b[i+1 : end-1]; !whole {
			s.plain = append(s.plain, b[from:end-1]...)
			text = s.plain
		}
		break
	}
	if b[end] == '\r' && end+1 < len(b) && b[end+1] == '\n' {
		end++
	}
	if c := b[end]; c != s.sep && c != '\n' && (s.sep != ' ' || c != '\t') {
		return nil, 0, s.p.Corrupt(end, "text behind the quote that ends a cell; --csv quote=none takes quotes for characters")
	}
	return text, s.pass(end), nil
}

// skipRecord is where the record that begins at i ends.
func (s *scanner) skipRecord(i int) (int, error) {
	end := i + bytes.IndexByte(s.b[i:], '\n')
	if !s.quotes || bytes.IndexByte(s.b[i:end], s.quote) < 0 {
		return end + 1, nil
	}
	for {
		_, end, err := s.cell(i)
		if err != nil {
			return 0, err
		}
		if i = end + 1; s.b[end] == '\n' {
			return i, nil
		}
	}
}

// ragged is the error of the record at i, which has not as many cells as there are columns.
func (s *scanner) ragged(i int) error {
	n := 0
	for at := i; ; n++ {
		_, end, err := s.cell(at)
		if err != nil {
			return err
		}
		if at = end + 1; s.b[end] == '\n' {
			n++
			break
		}
	}
	e := shardify.Corrupt(s.p.Off+int64(i), "a line has %d of %d columns", n, s.columns)
	if l := s.p.LineAt(i); l > 0 {
		e = shardify.Corrupt(s.p.Off+int64(i), "line %d has %d of %d columns", l, n, s.columns)
	}
	return e
}
