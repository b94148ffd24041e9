// Package cf decodes the values of a variable as the CF conventions for climate and
// forecast data say, with the result types of xarray: packed codes become numbers, fill
// values NaN, times a count since 1970. It knows nothing of files; the readers of HDF5
// and of other formats with such attributes hand it their contents.
//
//	d, err := cf.New(stored, attributes)  // nil if there is nothing to decode
//	...
//	err = d.Decode(dst, src)
//
// The order is xarray's: _Unsigned, then the mask of _FillValue and missing_value, then
// scale_factor, then add_offset (each rounded to the result's type), then times.
// valid_range, valid_min and valid_max change nothing, as for xarray.
//
//	scale_factor   add_offset   without a fill value   with one
//	none           none         as stored              8, 16 bits: f32; ints of 32, 64 bits: f64; floats: as stored
//	f32            none         f32                    f32
//	f64            none         f64                    f64
//	f32            f32          f32; of i32, u32: f64  the same
//	f64            f64          f64                    f64
//	any other                   f64                    f64
//
// An integer as scale_factor alone would make xarray truncate; here it gives f64.
package cf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// Names are the attributes that change values.
var Names = []string{"_FillValue", "_Unsigned", "add_offset", "calendar", "dtype", "missing_value", "scale_factor", "units"}

// Value is a number with the type that its attribute has.
type Value struct {
	DType shardify.DType
	Float float64
	Int   int64 // of integer types; of u64 its bits
}

// Attribute is a text or some numbers.
type Attribute struct {
	Text    string
	Numbers []Value // nil of a text
}

// String is the text, or the numbers with blanks between.
func (a Attribute) String() string {
	if a.Numbers == nil {
		return a.Text
	}
	var parts []string
	for _, v := range a.Numbers {
		switch {
		case v.DType.IsFloat():
			parts = append(parts, strconv.FormatFloat(v.Float, 'g', -1, 8*v.DType.Size()))
		case v.DType == shardify.U64:
			parts = append(parts, strconv.FormatUint(uint64(v.Int), 10))
		default:
			parts = append(parts, strconv.FormatInt(v.Int, 10))
		}
	}
	return strings.Join(parts, " ")
}

// A Decoder decodes the values of one variable. It does not change.
type Decoder struct {
	From, To shardify.DType
	Applied  []string // names of the attributes that it applies, sorted
	Notes    []string // what is odd about them

	stored   shardify.DType // From, or what _Unsigned makes of it
	float    shardify.DType // of the numbers between; Invalid if not used
	fills    []Value
	scaled   bool
	scale    float64
	shifted  bool
	offset   float64
	truth    bool
	clock    *clock
	calendar string
}

// New makes the decoder for values of a type; nil where values stay as they are.
// get returns an attribute of the variable.
func New(stored shardify.DType, get func(name string) (Attribute, bool)) (*Decoder, error) {
	if !stored.IsInt() && stored != shardify.F32 && stored != shardify.F64 {
		return nil, nil
	}
	d := &Decoder{From: stored, To: stored, stored: stored}
	d.unsigned(get)
	d.mask(get)
	scale, offset, err := d.packing(get)
	if err != nil {
		return nil, err
	}
	d.times(get)
	d.types(scale, offset)
	if a, ok := get("dtype"); ok && a.Text == "bool" && d.To.Size() == 1 && d.To.IsInt() {
		d.truth, d.To = true, shardify.Bool
		d.apply("dtype")
	}
	if len(d.fills) == 0 && !d.scaled && !d.shifted && d.clock == nil && !d.truth && d.stored == d.From {
		d.Applied = nil // _FillValue is NaN, as xarray writes it with all floats
	}
	slices.Sort(d.Applied)
	if d.Plain() && len(d.Notes) == 0 {
		return nil, nil
	}
	return d, nil
}

func (d *Decoder) apply(name string) { d.Applied = append(d.Applied, name) }

func (d *Decoder) note(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// Plain reports whether values are as they are stored: there are notes at most.
func (d *Decoder) Plain() bool { return len(d.Applied) == 0 }

// unsigned applies _Unsigned: the bits of integers are read as those of the other kind.
func (d *Decoder) unsigned(get func(string) (Attribute, bool)) {
	a, ok := get("_Unsigned")
	if !ok {
		return
	}
	switch signed := d.From >= shardify.I8 && d.From <= shardify.I64; {
	case a.Text == "true" && signed:
		d.stored += shardify.U8 - shardify.I8
	case a.Text == "false" && d.From >= shardify.U8 && d.From <= shardify.U64:
		d.stored -= shardify.U8 - shardify.I8
	default:
		return
	}
	d.To = d.stored
	d.apply("_Unsigned")
}

// mask collects the values that mean missing ones.
func (d *Decoder) mask(get func(string) (Attribute, bool)) {
	for _, name := range []string{"_FillValue", "missing_value"} {
		a, ok := get(name)
		if !ok {
			continue
		}
		if len(a.Numbers) == 0 {
			d.note("%s %.40q is no number and is not applied", name, a.Text)
			continue
		}
		d.apply(name)
		for _, v := range a.Numbers {
			if v.DType.IsFloat() && math.IsNaN(v.Float) {
				continue // a NaN is one already
			}
			if name == "_FillValue" && d.stored != d.From {
				v = reread(v, d.stored)
			}
			if slices.Contains(d.fills, v) { // both attributes say the same
				continue
			}
			d.fills = append(d.fills, v)
			if r := float64(float32(v.Float)); d.From == shardify.F32 && v.DType == shardify.F64 && r != v.Float && !math.IsInf(r, 0) {
				d.note("%s %v is of type f64 and no value of f32: it matches none", name, v.Float)
			}
		}
	}
}

// reread gives a fill value the type that _Unsigned gives the values.
func reread(v Value, to shardify.DType) Value {
	n := v.Int
	if v.DType.IsFloat() {
		n = int64(v.Float)
	}
	shift := 64 - 8*to.Size()
	if to <= shardify.I64 {
		n = n << shift >> shift
		return Value{to, float64(n), n}
	}
	u := uint64(n) << shift >> shift
	return Value{to, float64(u), int64(u)}
}

// packing reads scale_factor and add_offset.
func (d *Decoder) packing(get func(string) (Attribute, bool)) (scale, offset *Value, err error) {
	one := func(name string) (*Value, error) {
		a, ok := get(name)
		if !ok {
			return nil, nil
		}
		if len(a.Numbers) != 1 {
			what := fmt.Sprintf("%d numbers", len(a.Numbers))
			if len(a.Numbers) == 0 {
				what = fmt.Sprintf("the text %.40q", a.Text)
			}
			return nil, shardify.Unsupported("%s is %s, not a number; --cf off keeps the stored values", name, what)
		}
		d.apply(name)
		return &a.Numbers[0], nil
	}
	if scale, err = one("scale_factor"); err == nil {
		offset, err = one("add_offset")
	}
	return scale, offset, err
}

// types finds the type of the result.
func (d *Decoder) types(scale, offset *Value) {
	if scale != nil {
		d.scaled, d.scale = true, scale.Float
	}
	if offset != nil {
		d.shifted, d.offset = true, offset.Float
	}
	float := func(v *Value) bool { return v.DType == shardify.F32 || v.DType == shardify.F64 }
	switch {
	case scale != nil && offset != nil && scale.DType == offset.DType && float(scale):
		if d.float = scale.DType; d.stored.IsInt() && d.stored.Size() == 4 {
			d.float = shardify.F64
		}
	case offset != nil:
		d.float = shardify.F64
	case scale != nil && float(scale):
		d.float = scale.DType
	case scale != nil:
		d.float = shardify.F64
		d.note("scale_factor is of type %s: the values are f64", scale.DType)
	case d.clock != nil && d.stored.IsInt(): // fill values are compared as integers
	case len(d.fills) > 0 && d.stored.IsInt():
		if d.float = shardify.F64; d.stored.Size() <= 2 {
			d.float = shardify.F32
		}
	case len(d.fills) > 0 || d.clock != nil:
		d.float = d.stored
	}
	if d.float != shardify.Invalid {
		d.To = d.float
	}
	if d.clock != nil {
		d.To = shardify.I64
	}
}

// Time reports whether values are times: then To is I64 and they count since 1970 in the
// calendar, "" being the usual one.
func (d *Decoder) Time() (calendar string, ok bool) { return d.calendar, d.clock != nil }

// Describe says in a few words what the decoder makes of the values.
func (d *Decoder) Describe() string {
	s := fmt.Sprintf("%s -> %s", d.From, d.To)
	if d.clock != nil {
		return s + " " + d.clock.into.text() + " since 1970"
	}
	return s + " (" + strings.Join(d.Applied, ", ") + ")"
}
