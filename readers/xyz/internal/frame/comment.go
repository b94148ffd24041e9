package frame

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/shardify/shardify"
)

// Value is that of a key: a number, truth value or text (Dims 0), a vector (1), or a matrix (2).
type Value struct {
	Key   []byte
	DType shardify.DType // of all words: I64, F64, Bool; U8: texts; Invalid without words
	Dims  int
	Rows  int      // of a matrix
	Words [][]byte // of numbers and truth values, and vectors of texts
	Text  []byte   // of a text
}

// Comment is a comment line. It is used again for the next one.
type Comment struct {
	Values []Value
	// Free: the line is not keys and values but a text.
	Free bool
	// Quoted: what stands between double quotes is a text, whatever its words are.
	Quoted bool

	line  []byte
	i     int
	words [][]byte
	text  []byte // what is not in the line as it is
	seen  []*seen
	alone bool // it is the Comment of one of seen
}

// seen is a key and its value as a line before had them. Most are the same in all frames.
type seen struct {
	raw []byte
	Comment
	parsed bool // its value is that of raw
}

// What is kept of a line: so many keys, of so many bytes.
const (
	mostSeen  = 32
	seenBytes = 1 << 10
)

// again adds the next key and its value if the line before has both in the same place.
func (c *Comment) again() bool {
	n := len(c.Values)
	if n >= len(c.seen) {
		return false
	}
	s, rest := c.seen[n], c.line[c.i:]
	if len(s.raw) == 0 || !bytes.HasPrefix(rest, s.raw) || len(rest) > len(s.raw) && !isBlank(rest[len(s.raw)]) {
		return false
	}
	if !s.parsed {
		s.Quoted, s.alone = c.Quoted, true
		if s.parsed = s.Parse(s.raw) == nil && !s.Free && len(s.Values) == 1; !s.parsed {
			s.raw = s.raw[:0]
			return false
		}
	}
	c.Values = append(c.Values, s.Values[0])
	c.i += len(s.raw)
	c.Free = false
	return true
}

// keep keeps the text of the last key and its value.
func (c *Comment) keep(from int) {
	n := len(c.Values) - 1
	if c.alone || n >= mostSeen || n > len(c.seen) || c.i-from > seenBytes {
		return
	}
	if n == len(c.seen) {
		c.seen = append(c.seen, &seen{})
	}
	s := c.seen[n]
	s.raw, s.parsed = append(s.raw[:0], c.line[from:c.i]...), false
}

// Parse reads a line. What it says is valid until the line changes, and Parse is called again.
func (c *Comment) Parse(line []byte) error {
	line = bytes.TrimRight(line, " \t\r\v\f")
	c.Values, c.words, c.text, c.line, c.i, c.Free = c.Values[:0], c.words[:0], c.text[:0], line, 0, true
	for {
		c.blanks()
		if c.i == len(line) {
			break
		}
		if c.again() {
			continue
		}
		from := c.i
		if err := c.pair(); err != nil {
			return err
		}
		if len(c.Values) > 0 {
			c.keep(from)
		}
	}
	if c.Free {
		c.Values = c.Values[:0]
		return nil
	}
	for i := range c.Values { // few
		for j := range c.Values[:i] {
			if bytes.Equal(c.Values[i].Key, c.Values[j].Key) {
				return fmt.Errorf("the key %.40q twice", c.Values[i].Key)
			}
		}
	}
	return c.settle()
}

func (c *Comment) blanks() {
	for c.i < len(c.line) && isBlank(c.line[c.i]) {
		c.i++
	}
}

// add makes place for a value: those that were used before keep their memory.
func (c *Comment) add(key []byte) *Value {
	c.Values = append(c.Values, Value{Key: key})
	return &c.Values[len(c.Values)-1]
}

// maxKeys bounds the keys of a line.
const maxKeys = 10000

var truth = []byte("T")

// pair reads a key, and its value if there is one.
func (c *Comment) pair() error {
	var key []byte
	if q := c.line[c.i]; q == '"' || q == '\'' {
		var err error
		if key, err = c.quoted(); err != nil {
			if c.Free && bytes.IndexByte(c.line, '=') < 0 { // an apostrophe in a text
				c.i = len(c.line)
				return nil
			}
			return err
		}
	} else {
		from := c.i
		for c.i < len(c.line) && !isBlank(c.line[c.i]) && c.line[c.i] != '=' {
			c.i++
		}
		key = c.line[from:c.i]
	}
	if len(c.Values) == maxKeys {
		return fmt.Errorf("more than %d keys", maxKeys)
	}
	v, behind := c.add(key), c.i
	if c.blanks(); c.i == len(c.line) || c.line[c.i] != '=' {
		c.words = append(c.words, truth)
		c.i, v.DType, v.Words = behind, shardify.Bool, c.words[len(c.words)-1:]
		return nil
	}
	c.Free = false
	c.i++
	c.blanks()
	if len(key) == 0 {
		return fmt.Errorf("a value without a key")
	}
	if c.i == len(c.line) {
		return fmt.Errorf("the key %.40q has no value", key)
	}
	err := c.value(v)
	if err != nil {
		err = fmt.Errorf("the key %.40q: %w", key, err)
	}
	return err
}

// quoted reads what is between two quotes. A backslash takes the next character as it is.
func (c *Comment) quoted() ([]byte, error) {
	q, from := c.line[c.i], c.i+1
	for i := from; i < len(c.line); i++ {
		switch c.line[i] {
		case q:
			c.i = i + 1
			return c.line[from:i], nil
		case '\\':
			return c.unescaped(q, from, i)
		}
	}
	return nil, fmt.Errorf("a quotation is not closed")
}

func (c *Comment) unescaped(q byte, from, i int) ([]byte, error) {
	start := len(c.text)
	c.text = append(c.text, c.line[from:i]...)
	for ; i < len(c.line); i++ {
		x := c.line[i]
		if x == q {
			c.i = i + 1
			return c.text[start:len(c.text):len(c.text)], nil
		}
		if x == '\\' && i+1 < len(c.line) {
			i++
			if x = c.line[i]; x == 'n' {
				x = '\n'
			}
		}
		c.text = append(c.text, x)
	}
	return nil, fmt.Errorf("a quotation is not closed")
}

// split appends the words of b, and returns them.
func (c *Comment) split(b []byte) [][]byte {
	from := len(c.words)
	for i := 0; i < len(b); {
		if isBlank(b[i]) || b[i] == ',' || b[i] == '\n' {
			i++
			continue
		}
		at := i
		for i < len(b) && !isBlank(b[i]) && b[i] != ',' && b[i] != '\n' {
			i++
		}
		c.words = append(c.words, b[at:i])
	}
	return c.words[from:len(c.words):len(c.words)]
}

// set makes a value of the words in b: one is a scalar unless list.
func (v *Value) set(c *Comment, b []byte, list bool) {
	v.Words = c.split(b)
	v.DType = typeOf(v.Words)
	switch {
	case list:
		v.Dims = 1
	case v.DType == text || v.DType == shardify.Invalid:
		v.DType, v.Text, v.Words = text, b, nil
	case len(v.Words) > 1:
		v.Dims = 1
	}
}

// value reads the value that begins at i.
func (c *Comment) value(v *Value) error {
	line := c.line
	switch line[c.i] {
	case '"', '\'':
		texts := c.Quoted && line[c.i] == '"'
		s, err := c.quoted()
		if err != nil {
			return err
		}
		if texts {
			v.DType, v.Text = text, s
			return nil
		}
		if rest, ok := bytes.CutPrefix(s, []byte("_JSON ")); ok {
			return c.json(v, rest)
		}
		v.set(c, s, false)
	case '{':
		n := bytes.IndexByte(line[c.i:], '}')
		if n < 0 {
			return fmt.Errorf("a brace is not closed")
		}
		v.set(c, line[c.i+1:c.i+n], false)
		c.i += n + 1
	case '[':
		depth, from := 0, c.i
		for ; c.i < len(line); c.i++ {
			if line[c.i] == '[' {
				depth++
			} else if line[c.i] == ']' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if c.i == len(line) {
			return fmt.Errorf("a bracket is not closed")
		}
		c.i++
		return c.bracket(v, line[from+1:c.i-1])
	default:
		from := c.i
		for c.i < len(line) && !isBlank(line[c.i]) {
			c.i++
		}
		w := line[from:c.i]
		if bytes.IndexByte(w, '=') >= 0 {
			return fmt.Errorf("a value with = must be quoted: %.40q", w)
		}
		if bytes.IndexByte(w, ',') >= 0 && numbers(w) {
			v.set(c, w, false)
			return nil
		}
		c.words = append(c.words, w)
		v.Words = c.words[len(c.words)-1:]
		if v.DType = typeOf(v.Words); v.DType == text {
			v.Text, v.Words = w, nil
		}
	}
	return nil
}

// numbers reports whether all parts between commas are numbers or truth values.
func numbers(w []byte) bool {
	for part := range bytes.SplitSeq(w, []byte{','}) {
		if _, truth := Logical(part); !truth && !isReal(part) || padded(part) {
			return false
		}
	}
	return true
}

// bracket reads what is between brackets: a vector, or the rows of a matrix.
func (c *Comment) bracket(v *Value, b []byte) error {
	b = bytes.TrimLeft(b, " \t")
	if len(b) == 0 || b[0] != '[' {
		if bytes.ContainsAny(b, "[]") {
			return fmt.Errorf("a bracket within a vector")
		}
		v.set(c, b, true)
		return nil
	}
	from, width := len(c.words), -1
	for {
		end := bytes.IndexByte(b, ']')
		if end < 0 {
			return fmt.Errorf("a row that is not closed")
		}
		row := b[1:end]
		if bytes.IndexByte(row, '[') >= 0 {
			return fmt.Errorf("arrays of three dimensions are not read")
		}
		n := len(c.split(row))
		if width >= 0 && n != width {
			return fmt.Errorf("rows of %d and %d numbers", width, n)
		}
		width = n
		v.Rows++
		if b = bytes.TrimLeft(b[end+1:], " \t,"); len(b) == 0 {
			break
		}
		if b[0] != '[' {
			return fmt.Errorf("text between the rows of a matrix")
		}
	}
	v.Dims, v.Words = 2, c.words[from:len(c.words):len(c.words)]
	v.DType = typeOf(v.Words)
	return nil
}

// json reads what ASE writes in no other way: arrays of numbers are arrays, all else is its text.
func (c *Comment) json(v *Value, b []byte) error {
	if !json.Valid(b) {
		return fmt.Errorf("_JSON is not valid JSON")
	}
	b = bytes.TrimSpace(b)
	var list []json.RawMessage
	if b[0] == '[' && !bytes.ContainsAny(b, `"{n`) && json.Unmarshal(b, &list) == nil && len(list) > 0 {
		flat := bytes.Count(b, []byte{'['})
		if flat == 1 || flat == len(list)+1 {
			if err := c.bracket(v, b[1:len(b)-1]); err == nil && v.DType != shardify.Invalid && v.DType != text {
				return nil
			}
		}
	}
	*v = Value{Key: v.Key, DType: text, Text: b}
	return nil
}

var untruth = []byte("F")

// settle gives the values of keys that all programs know their forms: Lattice, stress and virial are
// matrices of numbers, pbc has three truth values.
func (c *Comment) settle() error {
	for i := range c.Values {
		v := &c.Values[i]
		lattice := string(v.Key) == "Lattice"
		switch {
		case string(v.Key) == "pbc":
			if err := c.periodic(v); err != nil {
				return err
			}
		case lattice || string(v.Key) == "stress" || string(v.Key) == "virial":
			numbers := v.DType == shardify.I64 || v.DType == shardify.F64
			if numbers && v.Dims == 1 && len(v.Words) == 9 {
				v.Dims, v.Rows = 2, 3
				if w := v.Words; !lattice { // column by column
					w[1], w[3], w[2], w[6], w[5], w[7] = w[3], w[1], w[6], w[2], w[7], w[5]
				}
			}
			if numbers {
				v.DType = shardify.F64
			}
			if lattice && (!numbers || v.Dims != 2 || v.Rows != 3 || len(v.Words) != 9) {
				return fmt.Errorf("the key Lattice is not 9 numbers, those of three vectors one after the other")
			}
		}
	}
	return nil
}

func (c *Comment) periodic(v *Value) error {
	n, ok := len(v.Words), v.Dims < 2 && (v.DType == shardify.Bool || v.DType == shardify.I64)
	if ok = ok && (n == 1 || n == 3); ok {
		all := v.Words
		for i := range 3 {
			w := all[i%n]
			if v.DType == shardify.I64 {
				if ok = ok && len(w) == 1 && w[0]-'0' < 2; w[0] == '1' {
					w = truth
				} else {
					w = untruth
				}
			}
			c.words = append(c.words, w)
		}
		v.Words = c.words[len(c.words)-3:]
	}
	if !ok {
		return fmt.Errorf("pbc is not three truth values, nor one")
	}
	v.DType, v.Dims, v.Rows = shardify.Bool, 1, 0
	return nil
}
