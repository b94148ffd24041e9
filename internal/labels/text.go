package labels

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// separated reads a table whose first line has the names of the columns.
func (t *Table) separated(ctx context.Context, in io.Reader, comma rune) error {
	r := csv.NewReader(skipMark(in))
	r.Comma, r.ReuseRecord = comma, true
	r.LazyQuotes = comma == '\t'
	head, err := r.Read()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return shardify.Corrupt(-1, "an empty file: the first line has the names of the columns")
		}
		return shardify.Corrupt(-1, "%v", err)
	}
	head = slices.Clone(head)
	if !utf8.ValidString(strings.Join(head, "")) {
		return shardify.Unsupported("the first line is not UTF-8 (of UTF-16, as spreadsheets write it?): save the table as UTF-8")
	}
	at := slices.Index(head, t.Key)
	if t.Key == "" || at < 0 {
		return cmp.Or(otherComma(head, comma), noKey(t.Key, head))
	}
	for i, name := range head {
		if slices.Index(head, name) < i {
			return shardify.Mismatch("two columns %q", name)
		}
	}
	cells := make([][]string, len(head))
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil { // names the line
			return shardify.Corrupt(-1, "%v", err)
		}
		for i, c := range row {
			if !utf8.ValidString(c) {
				line, _ := r.FieldPos(i)
				return shardify.Corrupt(-1, "line %d: column %s is not UTF-8: save the table as UTF-8", line, head[i])
			}
			if i == at {
				t.keys = append(t.keys, strings.Clone(c))
			} else {
				cells[i] = append(cells[i], strings.Clone(c))
			}
		}
	}
	for i, name := range head {
		if i != at {
			t.Columns = append(t.Columns, infer(name, cells[i]))
		}
	}
	return nil
}

// otherComma says what separates columns that were read as one, nil if nothing does.
func otherComma(head []string, comma rune) error {
	for _, c := range ",;\t|" {
		if len(head) == 1 && c != comma && strings.ContainsRune(head[0], c) {
			return shardify.Mismatch("the first line is %.80q: its columns seem to be separated by %q; write .csv with commas, .tsv with tabs", head[0], c)
		}
	}
	return nil
}

// skipMark leaves out the mark that some programs put before UTF-8.
func skipMark(r io.Reader) io.Reader {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, _ := b.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		b.Discard(3)
	}
	return b
}

// infer makes a column of texts. An empty cell among numbers is a missing value.
func infer(name string, cells []string) Column {
	c := Column{Field: shardify.Field{Name: name}}
	whole, number, any := true, true, false
	for _, s := range cells {
		if s == "" {
			continue
		}
		any = true
		whole = whole && isInt(s)
		if number = number && isNumber(s); !number {
			break
		}
	}
	if !any || !number {
		c.Field.DType, c.Field.Levels, c.Field.Media = shardify.U8, 1, "txt"
		c.texts = cells
		return c
	}
	c.Field.DType = shardify.F64
	if whole {
		c.Field.DType = shardify.I64
	}
	for i, s := range cells {
		if s == "" {
			c.mark(i, len(cells))
		}
		if whole {
			v, _ := strconv.ParseInt(s, 10, 64)
			c.ints = append(c.ints, v)
		} else {
			v, _ := strconv.ParseFloat(s, 64)
			c.floats = append(c.floats, v)
		}
	}
	return c
}

func (c *Column) mark(i, rows int) {
	if c.missing == nil {
		c.missing = make([]bool, rows)
		c.Field.Nullable = true
	}
	c.missing[i] = true
}

// isInt tells a whole number in its usual form: 007 is a name.
func isInt(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || len(digits) > 1 && digits[0] == '0' || s == "-0" {
		return false
	}
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil && s[0] != '+'
}

// isNumber tells a number in decimal form, nan and inf among them. Whole numbers that
// 64 bits cannot hold are none: they are names.
func isNumber(s string) bool {
	if isInt(s) {
		return true
	}
	switch strings.ToLower(strings.TrimLeft(s, "+-")) {
	case "nan", "inf", "infinity":
		return true
	}
	if strings.Trim(s, "+-0123456789.eE") != "" || !strings.ContainsAny(s, ".eE") {
		return false
	}
	if d := strings.TrimLeft(s, "+-"); len(d) > 1 && d[0] == '0' && d[1] >= '0' && d[1] <= '9' {
		return false
	}
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// jsonLines reads an object a line.
func (t *Table) jsonLines(ctx context.Context, in io.Reader) error {
	b := &builder{at: map[string]int{}}
	d := json.NewDecoder(skipMark(in))
	d.UseNumber()
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var row map[string]any
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return shardify.Corrupt(d.InputOffset(), "object %d: %v", n+1, err)
		}
		if err := b.row(n, row); err != nil {
			return err
		}
	}
	return b.finish(t)
}

// builder gathers the values of objects.
type builder struct {
	names  []string
	at     map[string]int
	values [][]any // nil: none
	rows   int
}

func (b *builder) row(n int, row map[string]any) error {
	if row == nil {
		return shardify.Corrupt(-1, "object %d is none", n+1)
	}
	for name, v := range row {
		i, ok := b.at[name]
		if !ok {
			i = len(b.names)
			b.at[name] = i
			b.names = append(b.names, name)
			b.values = append(b.values, nil)
		}
		for len(b.values[i]) < n {
			b.values[i] = append(b.values[i], nil)
		}
		b.values[i] = append(b.values[i], v)
	}
	b.rows = n + 1
	return nil
}

func (b *builder) finish(t *Table) error {
	names := slices.Sorted(slices.Values(b.names)) // objects have no order
	at, ok := b.at[t.Key]
	if t.Key == "" || !ok {
		return noKey(t.Key, names)
	}
	for i := range b.values {
		for len(b.values[i]) < b.rows {
			b.values[i] = append(b.values[i], nil)
		}
	}
	for n, v := range b.values[at] {
		switch v := v.(type) {
		case string:
			t.keys = append(t.keys, v)
		case json.Number:
			t.keys = append(t.keys, v.String())
		default:
			return shardify.Corrupt(-1, "object %d has no name under %q", n+1, t.Key)
		}
	}
	for _, name := range names {
		if name == t.Key {
			continue
		}
		c, why := fromJSON(name, b.values[b.at[name]])
		if why != "" {
			t.Left = append(t.Left, format.Leftover{Name: name, Reason: why})
			continue
		}
		t.Columns = append(t.Columns, c)
	}
	return nil
}

// fromJSON makes a column of values of one kind.
func fromJSON(name string, values []any) (Column, string) {
	c := Column{Field: shardify.Field{Name: name}}
	kinds, whole := map[string]bool{}, true
	for _, v := range values {
		switch v := v.(type) {
		case nil:
		case string:
			kinds["text"] = true
		case bool:
			kinds["true or false"] = true
		case json.Number:
			kinds["numbers"] = true
			_, err := v.Int64()
			whole = whole && err == nil
			if f, err := v.Float64(); err != nil || f != f {
				return c, "a number that 64 bits cannot hold"
			}
		default:
			return c, "it holds lists or objects"
		}
	}
	if len(kinds) > 1 {
		return c, "it holds " + strings.Join(slices.Sorted(keysOf(kinds)), " and ")
	}
	for i, v := range values {
		if v == nil {
			c.mark(i, len(values))
		}
		switch {
		case kinds["numbers"] && whole:
			n, _ := v.(json.Number)
			x, _ := n.Int64()
			c.ints, c.Field.DType = append(c.ints, x), shardify.I64
		case kinds["numbers"]:
			n, _ := v.(json.Number)
			x, _ := n.Float64()
			c.floats, c.Field.DType = append(c.floats, x), shardify.F64
		case kinds["true or false"]:
			x := int64(0)
			if v == true {
				x = 1
			}
			c.ints, c.Field.DType = append(c.ints, x), shardify.Bool
		default:
			s, _ := v.(string)
			c.texts, c.Field.DType = append(c.texts, s), shardify.U8
			c.Field.Levels, c.Field.Media = 1, "txt"
		}
	}
	return c, ""
}

func keysOf(m map[string]bool) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
