package sparse

import (
	"math"

	"github.com/shardify/shardify"
)

// Form says what rows are stored as, and what they become.
type Form struct {
	Values, Indices shardify.DType
	// Width is the number of columns of what is stored, Kept that of the result.
	Width, Kept int
	// Columns has for each stored column its number in the result, -1 for one that is left out. With nil all stay.
	Columns []int32
	// Normalize is what the values of a row add up to afterwards; 0: they stay. Rows that add up to 0 stay.
	Normalize float64
	// Log1p has each value replaced by log(1+value), after Normalize.
	Log1p bool
	// Dense has Result.Values filled with rows of Kept values.
	Dense bool
	// Wide makes the numbers of the result int64, and not int32.
	Wide bool
}

// maxWidth is the most columns of a matrix.
const maxWidth = math.MaxInt32

// Rows are what a batch has stored: row i is [Offsets[i], Offsets[i+1]) of both lists.
type Rows struct {
	Values, Indices []byte
	Offsets         []int64
}

// Result is memory of the caller. Dense wants Values alone, of zero or any bytes. Otherwise Values and Columns
// have room for as many elements as are stored, Starts for one more than there are rows. With none of them
// the rows are only checked.
type Result struct {
	Values, Columns, Starts []byte
	past                    bool // its rows leave the caches alone
}

// Found is what Make met.
type Found struct {
	// Elements are those of the result.
	Elements int
	// Mixed rows have columns that do not rise, or repeat.
	Mixed int
	// Bad is nil, or the first number that is no column.
	Bad *Bad
}

// Bad is a number that is no column: that of the i-th element of a row.
type Bad struct {
	Row, Element int
	Column       int64
	// Huge has Column as uint64.
	Huge bool
}

// Result type of values: as stored, but whole numbers that are normalised or logarithms are f32.
func (f *Form) made() shardify.DType {
	if (f.Normalize != 0 || f.Log1p) && f.Values != shardify.F64 {
		return shardify.F32
	}
	return f.Values
}

// Make makes the result. Rows that are not lists of columns are no error, but Found.Bad.
func (f *Form) Make(in Rows, out Result) (Found, error) {
	if err := f.check(&in, &out); err != nil {
		return Found{}, err
	}
	take := takers[f.Indices]
	if take == nil {
		return Found{}, shardify.Unsupported("numbers of columns of type %s", f.Indices)
	}
	made := makers[f.Values]
	if made == nil {
		return Found{}, shardify.Unsupported("sparse rows of type %s", f.Values)
	}
	return made.spread(f, &in, &out, take), nil
}

func (f *Form) check(in *Rows, out *Result) error {
	n := len(in.Indices) / max(f.Indices.Size(), 1)
	if f.Width < 0 || f.Width > maxWidth || f.Kept < 0 || f.Kept > maxWidth {
		return shardify.Unsupported("a matrix of %d columns; the most is %d", max(f.Width, f.Kept), maxWidth)
	}
	if f.Columns != nil && len(f.Columns) != f.Width || f.Columns == nil && f.Kept != f.Width {
		return shardify.Unsupported("%d columns of %d, and a choice of %d", f.Kept, f.Width, len(f.Columns))
	}
	for _, c := range f.Columns {
		if int(c) >= f.Kept || c < -1 {
			return shardify.Unsupported("column %d of %d in a choice", c, f.Kept)
		}
	}
	if n*f.Indices.Size() != len(in.Indices) || n*f.Values.Size() != len(in.Values) {
		return shardify.Corrupt(-1, "%d bytes of numbers of columns, %d bytes of values", len(in.Indices), len(in.Values))
	}
	rows := len(in.Offsets) - 1
	if rows < 0 {
		return shardify.Corrupt(-1, "rows without offsets")
	}
	last := int64(0)
	for r, at := range in.Offsets {
		if at < last || at > int64(n) {
			return shardify.Amend(shardify.Corrupt(-1, "offset %d behind %d, of %d values", at, last, n), func(e *shardify.Error) { e.Sample = int64(max(r-1, 0)) })
		}
		last = at
	}
	if f.Dense {
		size := max(f.made().Size(), 1)
		if f.Kept > 0 && rows > len(out.Values)/size/f.Kept {
			return shardify.Unsupported("%d rows of %d columns, and room for %d bytes", rows, f.Kept, len(out.Values))
		}
		out.Values = out.Values[:rows*f.Kept*size]
		return nil
	}
	if out.Starts == nil {
		return nil
	}
	bytes := 4
	if f.Wide {
		bytes = 8
	} else if n > math.MaxInt32 {
		return shardify.Unsupported("%d values counted by int32", n)
	}
	if len(out.Starts) < bytes*(rows+1) || len(out.Columns) < bytes*n || len(out.Values) < f.made().Size()*n {
		return shardify.Unsupported("room for fewer than %d values of %d rows", n, rows)
	}
	out.Starts, out.Columns, out.Values = out.Starts[:bytes*(rows+1)], out.Columns[:bytes*n], out.Values[:f.made().Size()*n]
	return nil
}
