package annotations

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// rows are the values of the objects of some files, by column.
type rows struct {
	columns []rowColumn
	objects int64
	outside int64 // boxes that reach outside of the image
	words   [][]byte
	object  object // of VOC
}

type rowColumn struct {
	data []byte
	ends []int64 // of texts and lists
}

// reset forgets the values.
func (r *rows) reset(columns int) {
	if r.columns == nil {
		r.columns = make([]rowColumn, columns)
	}
	for i := range r.columns {
		c := &r.columns[i]
		c.data, c.ends = c.data[:0], c.ends[:0]
	}
	r.objects, r.outside = 0, 0
}

func (r *rows) floats(column int, values ...float64) {
	c := &r.columns[column]
	for _, x := range values {
		c.data = binary.LittleEndian.AppendUint32(c.data, math.Float32bits(float32(x)))
	}
}

func (r *rows) i32(column int, x int64) {
	c := &r.columns[column]
	c.data = binary.LittleEndian.AppendUint32(c.data, uint32(x))
}

func (r *rows) i64(column int, x int64) {
	c := &r.columns[column]
	c.data = binary.LittleEndian.AppendUint64(c.data, uint64(x))
}

func (r *rows) byte(column int, x byte) {
	c := &r.columns[column]
	c.data = append(c.data, x)
}

func (r *rows) text(column int, t []byte) {
	c := &r.columns[column]
	c.data = append(c.data, t...)
	c.ends = append(c.ends, int64(len(c.data)))
}

// end ends a list of n values.
func (r *rows) end(column int, n int64) {
	c := &r.columns[column]
	if k := len(c.ends); k > 0 {
		n += c.ends[k-1]
	}
	c.ends = append(c.ends, n)
}

// class takes in a class by its name: as a number, if the names are known.
func (r *rows) class(column int, s *Spec, name []byte) error {
	if err := className(name); err != nil {
		return err
	}
	if s.Names == nil {
		r.text(column, name)
		return nil
	}
	code, ok := s.codes[string(name)]
	if !ok {
		return shardify.Corrupt(-1, "the class %.60q, which is not among the %d names", name, len(s.Names))
	}
	r.i64(column, code)
	return nil
}

// lines calls do with the words of every line that has some.
func (r *rows) lines(file []byte, do func(words [][]byte) error) error {
	file = bytes.TrimPrefix(file, []byte("\ufeff"))
	for line := int64(1); len(file) > 0; line++ {
		var text []byte
		text, file, _ = bytes.Cut(file, []byte("\n"))
		r.words = r.words[:0]
		for text = bytes.TrimSpace(text); len(text) > 0; {
			end := bytes.IndexAny(text, " \t\r\v\f")
			if end < 0 {
				end = len(text)
			}
			if r.words = append(r.words, text[:end]); len(r.words) > maxWords {
				return damaged(line, "more than %d words", maxWords)
			}
			text = bytes.TrimLeft(text[end:], " \t\r\v\f")
		}
		if len(r.words) == 0 {
			continue
		}
		if err := do(r.words); err != nil {
			return atLine(line, err)
		}
	}
	return nil
}

// maxWords bounds the words of a line.
const maxWords = 1 << 16

// damaged is an error about a line of a file.
func damaged(line int64, format string, args ...any) error {
	return atLine(line, shardify.Corrupt(-1, format, args...))
}

// atLine names the line that an error is about.
func atLine(line int64, err error) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Err = &lineError{line, e.Err} })
}

// lineError is an error about a line.
type lineError struct {
	line int64
	err  error
}

func (e *lineError) Error() string {
	return "line " + strconv.FormatInt(e.line, 10) + ": " + e.err.Error()
}
func (e *lineError) Unwrap() error { return e.err }

// number reads a finite number; what names it in errors.
func number(what string, text []byte) (float64, error) {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || bytes.ContainsAny(text, "_xX") {
		return 0, shardify.Corrupt(-1, "%s is %.40q, which is no number", what, text)
	}
	if math.Abs(x) <= math.MaxFloat32 {
		return x, nil
	}
	return 0, shardify.Corrupt(-1, "%s is %.40q, which is not finite in 32 bits", what, text)
}

// numbers reads a number for each of names.
func numbers(out []float64, names []string, words [][]byte) (err error) {
	for i, name := range names {
		if out[i], err = number(name, words[i]); err != nil {
			return err
		}
	}
	return nil
}

// ordered refuses a box whose end is before its beginning.
func ordered(names []string, box []float64) error {
	for i := range 2 {
		if box[i+2] < box[i] {
			return shardify.Corrupt(-1, "%s is %v, less than %s, which is %v", names[i+2], box[i+2], names[i], box[i])
		}
	}
	return nil
}

// className refuses what can be no name of a class.
func className(t []byte) error {
	switch {
	case len(t) == 0:
		return shardify.Corrupt(-1, "an object without the name of its class")
	case !utf8.Valid(t) || bytes.ContainsAny(t, "\n\r\x00") || len(t) > maxName:
		return shardify.Corrupt(-1, "the class %.60q; a name is one line of UTF-8 of at most %d bytes", t, maxName)
	}
	return nil
}

// maxName bounds the name of a class.
const maxName = 1 << 10
