package csv

import (
	"bytes"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/numeric"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// What cells of a column were seen.
type seen uint16

const (
	seenEmpty seen = 1 << iota
	seenNA
	seenBool
	seenInt   // of 64 bits with a sign
	seenMinus // a negative one
	seenBig   // whole, of 64 bits without a sign
	seenWide  // whole, and beyond what f64 has exactly; one of the above, too
	seenFloat
	seenNaN  // a float that says that there is no number
	seenWord // a text that stands for a missing value in many tables
	seenText

	seenFloats = seenFloat | seenNaN
)

// missingWords are the texts that pandas, R and many programs write for a missing value.
var missingWords = []string{"NA", "N/A", "n/a", "na", "NULL", "null", "None", "none", "nil", "Null", "#N/A", "#NA", "<NA>", "?", "-", "--", ".", "missing"}

// classify says what a cell is.
func (d *dialect) classify(cell []byte) seen {
	if d.na[string(cell)] {
		return seenNA
	}
	t := bytes.Trim(cell, " \t")
	if len(t) == 0 {
		if len(cell) > 0 {
			return seenText
		}
		return seenEmpty
	}
	if c := t[0] | 0x20; (c == 't' || c == 'f') && len(t) == len(cell) && (fold(t, "true") || fold(t, "false")) {
		return seenBool
	}
	t = d.program(t)
	if m, neg, ok := whole(t); ok {
		wide := seen(0)
		if m > coltype.MaxExact {
			wide = seenWide
		}
		switch {
		case neg && m <= 1<<63:
			return seenInt | seenMinus | wide
		case neg:
			return seenText
		case m >= 1<<63:
			return seenBig | wide
		}
		return seenInt | wide
	}
	if allDigits(t) && !fold(t, "-0") || !isNumber(t) {
		if slices.Contains(missingWords, string(cell)) {
			return seenWord
		}
		return seenText
	}
	if _, err := numeric.ParseFloat(t); err != nil {
		return seenText // beyond all numbers
	}
	if s := string(cell); s == "nan" || s == "NaN" || s == "NAN" {
		return seenNaN
	}
	return seenFloat
}

// program is a number as programs write it.
func (d *dialect) program(t []byte) []byte {
	if d.decimal == '.' && d.thousands == 0 {
		return t
	}
	out := make([]byte, 0, len(t))
	for i, c := range t {
		switch {
		case c == d.decimal:
			c = '.'
		case c == '.' && d.decimal != '.' && d.thousands != '.':
			return nil
		case c == d.thousands && d.thousands != 0:
			if i == 0 || i+1 == len(t) || t[i-1]-'0' > 9 || t[i+1]-'0' > 9 {
				return nil
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// kind is what cells are read as.
type kind uint8

const (
	skipKind kind = iota
	boolKind
	intKind
	uintKind
	floatKind
	textKind
	lastKind = textKind
)

// column is a column of a file, and what it becomes.
type column struct {
	kind     kind
	dtype    shardify.DType
	nullable bool
}

// voidKind is of columns whose type is unknown.
const voidKind = lastKind + 1

// decide is what a column of such cells becomes.
func decide(seen seen) column {
	empty := seen&(seenEmpty|seenNA) != 0
	number := seen & (seenInt | seenBig | seenFloats)
	switch {
	case seen&^(seenEmpty|seenNA) == 0:
		return column{kind: voidKind}
	case seen&(seenText|seenWord) != 0, seen&seenBool != 0 && number != 0, seen&(seenBig|seenMinus) == seenBig|seenMinus && seen&seenFloats == 0:
		return column{kind: textKind, dtype: shardify.U8, nullable: seen&seenNA != 0}
	case seen&seenBool != 0:
		return column{kind: boolKind, dtype: shardify.Bool, nullable: empty}
	case seen&seenFloats != 0:
		return column{kind: floatKind, dtype: shardify.F64, nullable: empty}
	case seen&seenBig != 0:
		return column{kind: uintKind, dtype: shardify.U64, nullable: empty}
	}
	return column{kind: intKind, dtype: shardify.I64, nullable: empty}
}

// doubtful reports whether a column of such cells is one of numbers or bools but for words that say
// that there is no value.
func doubtful(seen seen) bool {
	rest := decide(seen &^ seenWord).kind
	return seen&seenWord != 0 && rest != textKind && rest != voidKind
}

// inexact reports whether a column of such cells is one of floats that do not have all of them.
func inexact(seen seen) bool { return seen&seenWide != 0 && decide(seen).kind == floatKind }

// givenColumn is what cells of a given type are read as.
func givenColumn(g *coltype.Given) column {
	c := column{dtype: g.DType, nullable: g.Nullable}
	switch {
	case g.DType == shardify.Invalid:
		c.kind, c.dtype = textKind, shardify.U8
	case g.DType == shardify.Bool:
		c.kind = boolKind
	case g.DType.IsFloat():
		c.kind = floatKind
	case g.DType >= shardify.U8:
		c.kind = uintKind
	default:
		c.kind = intKind
	}
	return c
}

func (c *column) field(name string) shardify.Field {
	f := shardify.Field{Name: name, DType: c.dtype, Nullable: c.nullable}
	if c.kind == textKind {
		f.Levels, f.Media = 1, "txt"
	}
	return f
}
