package jsonl

import (
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// maxDepth bounds objects and lists in each other.
const maxDepth = 64

// scanner goes through the values of a piece. It either learns what there is, or stores it.
type scanner struct {
	p      *lines.Piece
	b      []byte
	line   int64 // that it is in, from 1, while it learns
	learns bool
	fill   bool   // missing items of lists are stored
	from   int    // where the record begins
	coco   bool   // it is an annotation of COCO
	file   string // while it learns
	names  int    // that it has learned
	stamp  int64
	plain  []byte

	repair   bool // what is not UTF-8 is replaced
	repaired []byte
	replaced int64 // in the text that was read last
}

func (s *scanner) wrong(i int, what string, args ...any) error { return s.p.Corrupt(i, what, args...) }

// blanks goes over blanks within a line.
func (s *scanner) blanks(i int) int {
	for s.b[i] == ' ' || s.b[i] == '\t' || s.b[i] == '\r' {
		i++
	}
	return i
}

// record reads the object at i, and says where the line ends.
func (s *scanner) record(i int, root *node) (int, error) {
	if s.from = i; s.b[i] != '{' {
		if s.b[i] == '[' && !s.p.Items {
			return 0, shardify.Hint(s.wrong(i, "an array; a line must be an object"), "jq -c '.[]' FILE.json > FILE.jsonl makes a line of each item")
		}
		return 0, s.wrong(i, "no object: %.20q", s.b[i:min(i+20, len(s.b))])
	}
	end, err := s.value(i, root, 0)
	if err != nil {
		return 0, err
	}
	if end = s.blanks(end); s.b[end] != '\n' {
		return 0, s.wrong(end, "text behind the object")
	}
	return end + 1, nil
}

// met notes a value of a class.
func (s *scanner) met(n *node, c class) {
	if n != nil && s.learns {
		n.count++
		if n.lines[c] == 0 {
			n.lines[c] = s.line
		}
	}
}

// value reads the value at i, of a node that is nil if the value is not wanted.
func (s *scanner) value(i int, n *node, depth int) (int, error) {
	if depth > maxDepth {
		return 0, s.wrong(i, "a depth of more than %d", maxDepth)
	}
	b := s.b
	switch c := b[i]; {
	case c == '"':
		t, end, err := s.text(i)
		if err != nil {
			return 0, err
		}
		if s.met(n, text); n != nil {
			n.sizes += int64(len(t))
			if n.sink != nil {
				n.sink.text(t)
				n.sink.replaced += s.replaced
			}
		}
		return end, s.misfit(n, text, i)
	case c == '{':
		s.met(n, object)
		if err := s.misfit(n, object, i); err != nil {
			return 0, err
		}
		return s.object(i, n, depth)
	case c == '[':
		s.met(n, list)
		if err := s.misfit(n, list, i); err != nil {
			return 0, err
		}
		return s.list(i, n, depth)
	case c == '-' || c-'0' <= 9 || c == 'N' || c == 'I':
		return s.number(i, n)
	case c == 't' && has(b[i:], "true"), c == 'f' && has(b[i:], "false"):
		end := i + 4
		if c == 'f' {
			end++
		}
		if s.met(n, boolean); n != nil && n.sink != nil {
			n.sink.bool(c == 't', b[i:end])
		} else if n != nil {
			n.sizes += int64(end - i)
		}
		return end, s.misfit(n, boolean, i)
	case c == 'n' && has(b[i:], "null"):
		if n != nil {
			if s.learns {
				n.count++
				n.nulls++
			} else if err := s.absent(n, i); err != nil {
				return 0, err
			}
		}
		return i + 4, nil
	case c == '\n':
		return 0, s.wrong(i, "the line ends within a value")
	}
	return 0, s.wrong(i, "no value: %.20q", b[i:min(i+20, len(b))])
}

func has(b []byte, word string) bool { return len(b) >= len(word) && string(b[:len(word)]) == word }

// misfit is the error of a value that is of another class than the survey found.
func (s *scanner) misfit(n *node, c class, i int) error {
	if n == nil || s.learns {
		return nil
	}
	ok := false
	switch {
	case n.sink != nil:
		ok = c == n.sink.class || n.sink.Written && (c == number || c == boolean)
	default:
		ok = c == list && (n.of != nil || n.rule == ruleMask) || c == object && (n.of == nil || n.rule == ruleMask)
	}
	if ok {
		return nil
	}
	return &shardify.Error{Sample: -1, Offset: s.p.Off + int64(i), Field: n.path(), Err: errChanged}
}

func (s *scanner) object(i int, n *node, depth int) (int, error) {
	s.stamp++
	stamp := s.stamp
	if n != nil {
		n.next = 0
	}
	i = s.blanks(i + 1)
	for first := true; ; first = false {
		if s.b[i] == '}' && first {
			i++
			break
		}
		if s.b[i] != '"' {
			return 0, s.wrong(i, "want a name in quotes")
		}
		name, end, err := s.text(i)
		if err != nil {
			return 0, err
		}
		var c *node
		if n != nil {
			if c = n.child(name); c == nil && s.learns {
				if s.names++; s.names > maxNames {
					return 0, tooManyNames(fmt.Sprintf("%s %d: ", s.p.Record(), s.line))
				}
				c = n.add(string(name), false, s.p.Off+int64(i))
				if s.coco {
					c.rule = ruleOf(c)
				}
				n.next = len(n.children)
			}
		}
		if c != nil {
			if c.stamp == stamp {
				return 0, s.wrong(i, "%s twice in an object", c.path())
			}
			c.stamp = stamp
		}
		if end = s.blanks(end); s.b[end] != ':' {
			return 0, s.wrong(end, "want a colon")
		}
		next := 0
		if n != nil {
			next = n.next
		}
		if i, err = s.value(s.blanks(end+1), c, depth+1); err != nil {
			return 0, err
		}
		if n != nil {
			n.next = next
		}
		i = s.blanks(i)
		if s.b[i] == '}' {
			i++
			break
		}
		if s.b[i] != ',' {
			return 0, s.wrong(i, "want a comma or }")
		}
		i = s.blanks(i + 1)
	}
	if n != nil && !s.learns {
		if err := s.noList(n, i); err != nil {
			return 0, err
		}
		for _, c := range n.children {
			if c.stamp != stamp {
				if err := s.absent(c, i); err != nil {
					return 0, err
				}
			}
		}
	}
	return i, nil
}

func (s *scanner) list(i int, n *node, depth int) (int, error) {
	at := i
	var items *node
	if n != nil {
		items = n.of
	}
	i = s.blanks(i + 1)
	count := int64(0)
	for first := true; ; first = false {
		if s.b[i] == ']' && first {
			i++
			break
		}
		if items == nil && n != nil && s.learns {
			items = n.add("", true, s.p.Off+int64(at))
			if s.coco {
				items.rule = ruleOf(items)
			}
		}
		count++
		var err error
		if i, err = s.value(i, items, depth+1); err != nil {
			return 0, err
		}
		i = s.blanks(i)
		if s.b[i] == ']' {
			i++
			break
		}
		if s.b[i] != ',' {
			return 0, s.wrong(i, "want a comma or ]")
		}
		i = s.blanks(i + 1)
	}
	switch {
	case n == nil:
	case s.learns:
		n.short, n.long = min(n.short, count), max(n.long, count)
		if why := n.rule.check(count); why != "" {
			return 0, s.wrong(at, "%s%s", annotation(s.b[s.from:]), why)
		}
	default:
		for _, l := range n.leaves {
			l.close(n.lists)
		}
		for _, c := range n.children {
			if err := s.absent(c, i); err != nil {
				return 0, err
			}
		}
	}
	return i, nil
}

// absent stores that a node has no value here.
func (s *scanner) absent(n *node, i int) error {
	switch {
	case n.sink != nil && n.lists == 0:
		return n.sink.missing()
	case n.sink != nil:
		if !s.fill {
			e := format.MissingItem("an item of a list")
			e.Field, e.Offset = n.path(), s.p.Off+int64(i)
			return e
		}
		n.sink.none()
	default:
		if err := s.noList(n, i); err != nil {
			return err
		}
		for _, c := range n.children {
			if err := s.absent(c, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// noList stores that a node has no list here, if it has some elsewhere.
func (s *scanner) noList(n *node, i int) error {
	if n.of != nil && n.lists > 0 && !s.fill {
		e := format.MissingItem("a list in a list")
		e.Field, e.Offset = n.path(), s.p.Off+int64(i)
		return e
	}
	for _, l := range n.leaves {
		if n.lists == 0 {
			if err := l.mark(); err != nil {
				return err
			}
		}
		if l.fixed > 0 {
			l.none()
		}
		l.close(n.lists)
	}
	return nil
}

// number reads a number at i.
func (s *scanner) number(i int, n *node) (int, error) {
	b, from := s.b, i
	neg := b[i] == '-'
	if neg {
		i++
	}
	switch {
	case b[i] == 'N' && !neg && has(b[i:], "NaN"):
		return s.special(nan, from, i+3, n)
	case b[i] == 'I' && has(b[i:], "Infinity"):
		if neg {
			return s.special(-inf, from, i+8, n)
		}
		return s.special(inf, from, i+8, n)
	}
	m, e, digits, end := numeric.Decimal(b, i)
	if digits == 0 || b[i] == '.' || b[i] == '0' && b[i+1]-'0' <= 9 || b[end-1] == '.' {
		return 0, s.wrong(from, "no value: %.20q", b[from:min(from+20, len(b))])
	}
	switch c := b[end]; c {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
	default:
		return 0, s.wrong(from, "no value: %.20q", b[from:min(from+20, len(b))])
	}
	whole := true
	for k := i; k < end; k++ {
		if b[k]-'0' > 9 {
			whole = false
			break
		}
	}
	if n == nil {
		return end, nil
	}
	if s.learns {
		return end, s.learnNumber(from, i, end, m, digits, neg, whole, n)
	}
	if err := s.misfit(n, number, from); err != nil {
		return 0, err
	}
	if k := n.sink; k.Written {
		k.text(b[from:end])
	} else if k.dtype.IsFloat() {
		v, ok := numeric.Float(m, e)
		if !ok || digits > 19 {
			var err error
			if v, err = numeric.ParseFloat(b[i:end]); err != nil {
				return 0, s.wrong(from, "%.40q is beyond all numbers", b[from:end])
			}
		}
		if neg {
			v = -v
		}
		if k.dtype == shardify.F32 && math.Abs(v) > math.MaxFloat32 {
			return 0, s.wrong(from, "%.40q is beyond f32", b[from:end])
		}
		k.float(v)
	} else if !whole || !exact(b[i:end], &m, digits) || !k.whole(m, neg) {
		return 0, s.wrong(from, "%.40q is not a value of type %s", b[from:end], k.dtype)
	}
	return end, nil
}

// special takes NaN or an infinity, which ends at end.
func (s *scanner) special(v float64, from, end int, n *node) (int, error) {
	if s.met(n, number); n != nil && s.learns {
		s.noteFloat(n, from, end)
	} else if n != nil && n.sink != nil && n.sink.Written {
		n.sink.text(s.b[from:end])
	} else if n != nil && n.sink != nil {
		n.sink.float(v)
	}
	return end, s.misfit(n, number, from)
}

// exact makes m the whole number of the digits, if 64 bits have it.
func exact(t []byte, m *uint64, digits int) bool {
	if digits <= 19 {
		return true
	}
	if digits > 20 || t[0] > '1' {
		return false
	}
	v := uint64(0)
	for _, c := range t[:19] {
		v = v*10 + uint64(c-'0')
	}
	d := uint64(t[19] - '0')
	if v > (1<<64-1)/10 || v*10 > 1<<64-1-d {
		return false
	}
	*m = v*10 + d
	return true
}

// learnNumber learns from the number at from, whose digits are those from i to end.
func (s *scanner) learnNumber(from, i, end int, m uint64, digits int, neg, whole bool, n *node) error {
	t := s.b[i:end]
	n.sizes += int64(end - from)
	if !whole || neg && m == 0 || !exact(t, &m, digits) || neg && m > 1<<63 {
		_, err := numeric.ParseFloat(t)
		switch {
		case err != nil:
			s.met(n, beyond)
		case whole && (!neg || m != 0):
			s.met(n, huge)
		default:
			s.noteFloat(n, from, end)
			s.met(n, number)
		}
		return nil
	}
	if m > coltype.MaxExact {
		if n.seen&seenWide == 0 {
			n.wide.Join(s.sight(from, end))
		}
		n.seen |= seenWide
	}
	if neg {
		n.seen |= seenMinus
	} else if m >= 1<<63 {
		n.seen |= seenBig
	}
	s.met(n, number)
	return nil
}

// noteFloat notes a number that no whole type holds.
func (s *scanner) noteFloat(n *node, from, end int) {
	if n.seen&seenFloat == 0 {
		n.float.Join(s.sight(from, end))
	}
	n.seen |= seenFloat
}

// sight is where a value is.
func (s *scanner) sight(from, end int) coltype.Met {
	return coltype.Met{At: s.line, Text: string(s.b[from:min(end, from+40)]), File: s.file}
}

// text reads the string at i; it is valid until the next call.
func (s *scanner) text(i int) (t []byte, end int, err error) {
	s.replaced = 0
	if t, end, err = s.string(i); s.p.Dirty && err == nil {
		var n int64
		s.repaired, n = lines.Valid(s.repaired[:0], t)
		t, s.replaced = s.repaired, s.replaced+n
	}
	return t, end, err
}

func (s *scanner) string(i int) (t []byte, end int, err error) {
	b := s.b
	i++
	for end = i; b[end] != '"'; end++ {
		if b[end] == '\\' {
			return s.escaped(i, end)
		}
		if b[end] < ' ' {
			return nil, 0, s.control(end)
		}
	}
	return b[i:end], end + 1, nil
}

func (s *scanner) control(i int) error {
	if s.b[i] == '\n' {
		return s.wrong(i, "the line ends within a string")
	}
	return s.wrong(i, "a control character in a string")
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *scanner) escaped(from, i int) (t []byte, end int, err error) {
	b := s.b
	t = append(s.plain[:0], b[from:i]...)
	for b[i] != '"' {
		if b[i] < ' ' {
			return nil, 0, s.control(i)
		}
		if b[i] != '\\' {
			t = append(t, b[i])
			i++
			continue
		}
		i++
		if c := escapes[b[i]]; c != 0 {
			t = append(t, c)
			i++
			continue
		}
		r, ok := hex(b, i)
		if !ok {
			return nil, 0, s.wrong(i, "an escape that JSON has not")
		}
		if i += 5; utf16.IsSurrogate(r) {
			low, ok := rune(0), false
			if b[i] == '\\' {
				low, ok = hex(b, i+1)
			}
			if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
				i += 6
			} else if r = utf8.RuneError; s.repair {
				s.replaced++
			} else {
				return nil, 0, s.wrong(i, "half a pair of surrogates")
			}
		}
		t = utf8.AppendRune(t, r)
	}
	s.plain = t
	return t, i + 1, nil
}

// hex is the number of uXXXX.
func hex(b []byte, i int) (r rune, ok bool) {
	if i+5 > len(b) || b[i] != 'u' {
		return 0, false
	}
	for _, c := range b[i+1 : i+5] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
