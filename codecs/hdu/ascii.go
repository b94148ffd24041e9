package hdu

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// asciiForm is a column of an ASCII table.
type asciiForm struct {
	kind  byte // A I F E D
	point int  // digits behind the point that a number without one would have
	null  string
	nulls bool
}

// asciiColumn reads the keywords of a column of an ASCII table.
func (x *HDU) asciiColumn(c *Column, n string, width int64) error {
	key, text, err := x.form(c, n)
	if err != nil {
		return err
	}
	if text == "" || strings.IndexByte("AIFED", text[0]) < 0 {
		return x.corrupt(key, "a type (A I F E D)")
	}
	c.text.kind = text[0]
	digits, point, _ := strings.Cut(text[1:], ".")
	w, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || w < 1 {
		return x.corrupt(key, "a type with its width")
	}
	if point != "" {
		if c.text.point, err = strconv.Atoi(point); err != nil || c.text.point < 0 || c.text.point > 1000 {
			return x.corrupt(key, "a type with its width")
		}
	}
	from, err := x.must("TBCOL" + n)
	if err != nil {
		return err
	}
	if from < 1 || from-1 > width-w {
		return shardify.Corrupt(x.at, "column %s has bytes %d to %d of rows of %d", n, from, from-1+w, width)
	}
	c.offset, c.width = from-1, w
	if c.scale, err = x.number("TSCAL"+n, 1); err != nil {
		return err
	}
	if c.zero, err = x.number("TZERO"+n, 0); err != nil {
		return err
	}
	null, nulls := x.Value("TNULL" + n)
	c.text.null, c.text.nulls = strings.TrimSpace(null), nulls
	f := &c.Field
	f.Nullable = nulls
	switch {
	case c.text.kind == 'A':
		f.DType, f.Media, f.Levels, f.Nullable = shardify.U8, "txt", 1, false
	case c.text.kind == 'I' && c.scale == 1 && c.zero == 0:
		f.DType = shardify.I64
	default:
		f.DType, f.Nullable, c.form = shardify.F64, false, scaled
	}
	return nil
}

// ReadText makes values of n rows of an ASCII table.
func (t *Table) ReadText(c *Column, rows []byte, n int, first int64, v *Values) error {
	if c.text.kind == 'A' {
		o := *c
		o.repeat = c.width
		t.textsOf(&o, rows, n, v)
		return nil
	}
	v.fixed(n, c)
	for i := range n {
		b := rows[i*int(t.Width)+int(c.offset):]
		bits, ok, err := c.parse(strings.TrimSpace(string(b[:c.width])))
		if err != nil {
			return at(err, t.RowsAt(first+int64(i))+c.offset, first+int64(i))
		}
		binary.LittleEndian.PutUint64(v.Data[8*i:], bits)
		if v.Valid != nil {
			v.Valid[i] = 0
			if ok {
				v.Valid[i] = 1
			}
		}
	}
	return nil
}

// parse reads a number; ok is false where it is missing. A blank one is 0, as the standard says.
func (c *Column) parse(s string) (bits uint64, ok bool, err error) {
	if c.text.nulls && s == c.text.null {
		if c.form == scaled {
			return nan, true, nil
		}
		return 0, false, nil
	}
	f := float64(0)
	switch {
	case s == "":
	case c.text.kind == 'I':
		n, err := strconv.ParseInt(strings.TrimPrefix(s, "+"), 10, 64)
		if err != nil {
			return 0, false, shardify.Corrupt(0, "%.40q is not a whole number", s)
		}
		if c.form != scaled {
			return uint64(n), true, nil
		}
		f = float64(n)
	default:
		if f, err = parseFloat(s); err != nil {
			return 0, false, shardify.Corrupt(0, "%.40q is not a number", s)
		}
		if c.text.point > 0 && f != 0 && !strings.Contains(s, ".") {
			return 0, false, shardify.Unsupported("the number %.40q has no point: the standard puts one before its last %d digits, most programs do not", s, c.text.point)
		}
	}
	if c.form != scaled { // a blank one
		return 0, true, nil
	}
	if c.scale != 1 || c.zero != 0 {
		f = float64(f*c.scale) + c.zero
	}
	return math.Float64bits(f), true, nil
}
