package lines

import (
	"bytes"

	"github.com/shardify/shardify"
)

// Items cuts the text of a JSON array into its items. Each becomes a line: a line feed takes the
// place of the comma behind it, and blanks those of line feeds within it, so that all bytes stay
// where they are. The text begins behind the bracket of the array, or behind a comma.
//
// It knows strings and brackets alone; what an item holds is for others to check.
type Items struct {
	// Closed: the bracket that ends the array was met.
	Closed bool

	at    int  // how far the current text was looked at
	depth int  // of brackets there
	item  bool // something of an item was met behind the last comma
	comma bool // there was one before
}

// Kinds of bytes outside of strings.
const (
	plain = iota
	blank
	feed
	quote
	comma
	opens
	closes
)

var kindOf = [256]byte{' ': blank, '\t': blank, '\r': blank, '\n': feed, '"': quote, ',': comma, '[': opens, '{': opens, ']': closes, '}': closes}

// cut makes lines of what of b was not yet looked at, and returns where the first item ends that
// ends at from or behind: behind its comma; -1 without one. The next call gets the same text and
// more of it, or the text behind the returned end. wrong is the place of an error, -1 without one.
func (x *Items) cut(b []byte, from int) (end, wrong int, why string) {
	i, depth := x.at, x.depth
	for i < len(b) {
		k := kindOf[b[i]]
		if depth > 0 && k <= blank || k == blank {
			i++
			continue
		}
		if x.Closed && k != feed {
			return -1, i, "text behind the array"
		}
		switch k {
		case feed:
			b[i] = ' '
		case plain:
			x.item = true
		case quote:
			n := stringEnd(b[i:])
			if n < 0 { // again when there is more
				x.at, x.depth = i, depth
				return -1, -1, ""
			}
			i, x.item = i+n-1, true
		case opens:
			depth++
			x.item = true
		case closes:
			if depth > 0 {
				depth--
				break
			}
			if b[i] != ']' {
				return -1, i, "a brace that closes nothing"
			}
			if !x.item && x.comma {
				return -1, i, "a comma without an item behind it"
			}
			b[i], x.Closed = ' ', true
		case comma:
			if depth > 0 {
				break
			}
			if !x.item {
				return -1, i, "a comma without an item before it"
			}
			b[i], x.item, x.comma = '\n', false, true
			if i+1 >= from {
				x.at, x.depth = 0, 0
				return i + 1, -1, ""
			}
		}
		i++
	}
	x.at, x.depth = i, depth
	return -1, -1, ""
}

// stringEnd is the length of the string that b begins with; -1 if it does not end in b. A line feed
// in it, which none may have, becomes another control character: it would end the line.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		case '\n':
			b[i] = 1
		}
	}
	return -1
}

// again makes lines of a piece of an array as Survey did. Its last one has the end of the array.
func again(b []byte, first, last bool) bool {
	x := Items{comma: !first}
	for i := 0; i < len(b); {
		end, wrong, _ := x.cut(b[i:], len(b)-i)
		switch {
		case wrong >= 0:
			return false
		case end < 0:
			return last && x.Closed
		}
		i += end
	}
	return !last
}

// Array says that the records of a text are the items of an array.
type Array struct {
	Lo int64 // behind its bracket
	Hi int64 // behind the bracket that ends it; 0: the end of the text
}

// cutItems is fill for the items of an array: where the first of them ends behind pieceBytes.
func (r *run) cutItems(p *Piece) (at int, err error) {
	at, wrong, why := r.items.cut(p.Data, pieceBytes)
	if wrong >= 0 {
		n := p.Line + int64(bytes.Count(p.Data[:wrong], []byte{'\n'})) + 1
		return -1, shardify.Corrupt(p.Off+int64(wrong), "item %d: %s", n, why)
	}
	return at, nil
}

// closed is the error of an array that the text up to off does not end.
func (r *run) closed(off int64) error {
	if r.Array == nil || r.items.Closed {
		return nil
	}
	return shardify.Corrupt(off, "the text ends within an array")
}

// Record is what records are called: lines, or items of an array.
func (p *Piece) Record() string {
	switch {
	case p.made != nil:
		return p.made.Record
	case p.Items:
		return "item"
	}
	return "line"
}
