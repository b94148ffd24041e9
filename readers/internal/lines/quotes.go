package lines

import "bytes"

// Quotes says which line feeds end no record. A quote opens at the start of a cell only: behind
// a separator or a line feed. The next quote closes it; two in a row stand for one.
type Quotes struct {
	Quote   byte // 0 for none
	Sep     byte // a blank matches tabs, too
	Comment byte // lines that begin with it hold no cells; 0 for none
	Skip    int  // nor do the first lines of a file
}

// end is the end of the first record of b that ends at from or behind; -1 without one. The first
// skip lines of b hold no cells. b begins at the start of a line that is in no quotes.
func (q *Quotes) end(b []byte, skip, from int) int {
	i := 0
	for range skip {
		k := bytes.IndexByte(b[i:], '\n')
		if k < 0 {
			return -1
		}
		i += k + 1
	}
	for from = max(from-1, i); ; {
		open := q.opens(b, i)
		if at := max(i, from); at < open {
			if k := bytes.IndexByte(b[at:open], '\n'); k >= 0 {
				return at + k + 1
			}
		}
		if i = q.closes(b, open+1); i < 0 {
			return -1
		}
	}
}

// opens is the next quote of b that opens a cell, from i on, which is in no quotes.
func (q *Quotes) opens(b []byte, i int) int {
	if q.Quote == 0 {
		return len(b)
	}
	for at := i; ; at++ {
		k := bytes.IndexByte(b[at:], q.Quote)
		if k < 0 {
			return len(b)
		}
		if at += k; at > 0 && b[at-1] != '\n' && b[at-1] != q.Sep && (q.Sep != ' ' || b[at-1] != '\t') {
			continue
		}
		if q.Comment == 0 {
			return at
		}
		line := i + bytes.LastIndexByte(b[i:at], '\n') + 1
		if b[line] != q.Comment || line > 0 && b[line-1] != '\n' {
			return at
		}
		if k = bytes.IndexByte(b[at:], '\n'); k < 0 {
			return len(b)
		}
		at += k
		i = at + 1
	}
}

// closes is behind the quote that closes a cell, from i on, which is in quotes; -1 if none does.
func (q *Quotes) closes(b []byte, i int) int {
	for i < len(b) {
		k := bytes.IndexByte(b[i:], q.Quote)
		if k < 0 {
			return -1
		}
		if i += k + 1; i == len(b) || b[i] != q.Quote {
			return i
		}
		i++
	}
	return -1
}
