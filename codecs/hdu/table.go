package hdu

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Table is a table: rows of the same width behind one another, then a heap of lists.
type Table struct {
	Rows, Width int64
	Columns     []Column

	data           int64
	heap, heapSize int64
}

// Column is one column of a table.
type Column struct {
	// Field is what it becomes. Bytes of jagged ones are those of the heap.
	Field shardify.Field
	Bytes int64
	// Left says why no field is made of it; "" where one is.
	Left string

	code, elem    byte // of TFORM; elem is the type of the items where code is P or Q
	repeat        int64
	offset, width int64 // in a row
	form          form
	scale, zero   float64
	null          int64
	hasNull       bool
	texts         int64 // bytes of each text where a row has several
	text          asciiForm
}

// sizes are the bytes of an item by the letter of its type; X is bits.
var sizes = map[byte]int64{'L': 1, 'X': 0, 'B': 1, 'I': 2, 'J': 4, 'K': 8, 'A': 1, 'E': 4, 'D': 8, 'C': 8, 'M': 16, 'P': 8, 'Q': 16}

var columnTypes = map[byte]shardify.DType{'L': shardify.Bool, 'X': shardify.Bool, 'B': shardify.U8, 'I': shardify.I16, 'J': shardify.I32, 'K': shardify.I64, 'E': shardify.F32, 'D': shardify.F64, 'C': shardify.F32, 'M': shardify.F64}

const maxColumns = 999

// Table is the table of an HDU.
func (x *HDU) Table() (*Table, error) {
	if x.bitpix != 8 || len(x.shape) != 2 {
		return nil, shardify.Corrupt(x.at, "a table of BITPIX %d and NAXIS %d, not 8 and 2", x.bitpix, len(x.shape))
	}
	t := &Table{Rows: x.shape[0], Width: x.shape[1], data: x.Data}
	n, err := x.must("TFIELDS")
	if err != nil {
		return nil, err
	}
	if n < 0 || n > maxColumns {
		return nil, x.corrupt("TFIELDS", "a number from 0 to 999")
	}
	heap, err := x.whole("THEAP", t.Rows*t.Width)
	if err != nil {
		return nil, err
	}
	if t.heap, t.heapSize = x.Data+heap, x.Size-heap; heap < t.Rows*t.Width || t.heapSize < 0 {
		return nil, x.corrupt("THEAP", "a place behind the rows")
	}
	t.Columns = make([]Column, n)
	at, lists := int64(0), int64(0)
	for i := range t.Columns {
		c := &t.Columns[i]
		if x.Kind == Texts {
			err = x.asciiColumn(c, strconv.Itoa(i+1), t.Width)
		} else {
			c.offset = at
			err = x.column(c, strconv.Itoa(i+1))
			at += c.width
		}
		if err != nil {
			return nil, err
		}
		if c.code == 'P' || c.code == 'Q' {
			lists++
		}
	}
	if x.Kind != Texts && at != t.Width {
		return nil, shardify.Corrupt(x.at, "the columns of a row take %d bytes, NAXIS1 is %d", at, t.Width)
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Field.Levels > 0 {
			c.Bytes = t.Rows * c.width
			if c.code == 'P' || c.code == 'Q' {
				c.Bytes = t.heapSize / lists
			}
		}
	}
	return t, nil
}

// form reads the keywords that columns of all tables have, and returns that of the type with its name.
func (x *HDU) form(c *Column, n string) (key, text string, err error) {
	if err := x.nameAndUnit(c, n); err != nil {
		return "", "", err
	}
	key = "TFORM" + n
	text, ok := x.Text(key)
	if !ok {
		return "", "", shardify.Corrupt(x.at, "%s is missing", key)
	}
	return key, strings.TrimSpace(text), nil
}

// column reads the keywords of a column of a binary table.
func (x *HDU) column(c *Column, n string) error {
	key, text, err := x.form(c, n)
	if err != nil {
		return err
	}
	digits := 0
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		digits++
	}
	c.repeat = 1
	if digits > 0 {
		r, err := strconv.ParseInt(text[:digits], 10, 40)
		if err != nil {
			return x.corrupt(key, "a type with its repeats")
		}
		c.repeat = r
	}
	if digits == len(text) {
		return x.corrupt(key, "a type")
	}
	c.code = text[digits]
	size, ok := sizes[c.code]
	if !ok {
		return x.corrupt(key, "a type (L X B I J K A E D C M P Q)")
	}
	c.width = c.repeat * size
	if c.code == 'X' {
		c.width = (c.repeat + 7) / 8
	}
	rest := text[digits+1:]
	switch {
	case c.repeat == 0:
		c.Left = "a column of width 0"
		return nil
	case c.code == 'P' || c.code == 'Q':
		if rest == "" {
			return x.corrupt(key, "a type with that of the items")
		}
		c.elem = rest[0]
		if _, ok := sizes[c.elem]; !ok || c.elem == 'P' || c.elem == 'Q' {
			return x.corrupt(key, "lists of a type (L X B I J K A E D C M)")
		}
		if c.repeat > 1 {
			c.Left = "several lists in a row (" + text + ")"
			return nil
		}
	case c.code == 'A' && strings.HasPrefix(rest, ":SSTR"):
		c.Left = "arrays of substrings (" + text + ")"
		return nil
	}
	if err := x.scaling(c, n); err != nil {
		return err
	}
	return x.columnField(c, n)
}

func (x *HDU) nameAndUnit(c *Column, n string) error {
	c.Field.Name = "col" + n
	if name, ok := x.Text("TTYPE" + n); ok && name != "" {
		c.Field.Name = name
	}
	if unit, ok := x.Text("TUNIT" + n); ok && unit != "" {
		c.Field.Attrs = map[string]string{"unit": unit}
	}
	return nil
}

// scaling reads TSCAL, TZERO and TNULL of a column of numbers.
func (x *HDU) scaling(c *Column, n string) (err error) {
	code := c.items()
	if strings.IndexByte("BIJKEDCM", code) < 0 {
		return nil
	}
	if c.scale, err = x.number("TSCAL"+n, 1); err != nil {
		return err
	}
	if c.zero, err = x.number("TZERO"+n, 0); err != nil {
		return err
	}
	u := unsigned[sizes[code]*8]
	switch whole := strings.IndexByte("BIJK", code) >= 0; {
	case c.scale == 1 && c.zero == 0:
	case whole && c.scale == 1 && c.zero == u.zero:
		c.form = flipped
	case code == 'C' || code == 'M':
		c.Left = "complex numbers with a scale"
	default:
		c.form = scaled
	}
	if _, ok := x.values["TNULL"+n]; ok && strings.IndexByte("BIJK", code) >= 0 {
		if c.null, err = x.whole("TNULL"+n, 0); err != nil {
			return err
		}
		c.hasNull = true
	}
	return nil
}

// items is the type of the items of a column.
func (c *Column) items() byte {
	if c.elem != 0 {
		return c.elem
	}
	return c.code
}

// columnField says what field a column becomes.
func (x *HDU) columnField(c *Column, n string) error {
	f := &c.Field
	code := c.items()
	shape, err := x.tdim(c, n)
	if err != nil {
		return err
	}
	list := c.elem != 0
	switch f.DType = columnTypes[code]; {
	case code == 'A':
		f.DType, f.Media, f.Levels = shardify.U8, "txt", 1
		if len(shape) > 1 {
			f.Levels, c.texts = 2, shape[len(shape)-1]
		}
		if list {
			c.texts = 0
		}
		return nil
	case c.form == flipped:
		f.DType = unsigned[sizes[code]*8].to
	case c.form == scaled:
		f.DType = shardify.F64
	}
	if list {
		f.Levels = 1
	} else if c.repeat > 1 || code == 'X' || len(shape) > 0 {
		if f.Shape = []int{int(c.repeat)}; len(shape) > 0 {
			f.Shape = nil
			for _, d := range shape {
				f.Shape = append(f.Shape, int(d))
			}
		}
	}
	if code == 'C' || code == 'M' {
		f.Shape = append(f.Shape, 2)
	}
	f.Nullable = f.Levels == 0 && len(f.Shape) == 0 && (c.hasNull && c.form != scaled || code == 'L')
	return nil
}

// tdim is the shape that TDIM gives, slowest first; nil without one that fits.
func (x *HDU) tdim(c *Column, n string) ([]int64, error) {
	key := "TDIM" + n
	text, ok := x.Text(key)
	if !ok || c.elem != 0 {
		return nil, nil
	}
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "(")
	inner, ok2 := strings.CutSuffix(inner, ")")
	if !ok || !ok2 {
		return nil, x.corrupt(key, "lengths as (a,b)")
	}
	parts := strings.Split(inner, ",")
	if len(parts) > 64 {
		return nil, x.corrupt(key, "at most 64 lengths")
	}
	shape := make([]int64, len(parts))
	for i, p := range parts {
		d, err := strconv.ParseInt(strings.TrimSpace(p), 10, 40)
		if err != nil || d < 0 {
			return nil, x.corrupt(key, "lengths as (a,b)")
		}
		shape[len(parts)-1-i] = d
	}
	if p, ok := product(shape); !ok || p != c.repeat { // astropy takes no notice of it either
		return nil, nil
	}
	return shape, nil
}
