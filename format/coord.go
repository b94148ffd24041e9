package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// Coord is the values of a dimension of fields, which are the same for all samples: the latitudes
// of the rows of a map. They are of one of three kinds.
type Coord struct {
	DType  string // CoordF32, CoordF64, CoordI64 or CoordText
	Floats []float64
	Ints   []int64
	Texts  []string
	Attrs  map[string]string // unit, time, calendar: as of fields
}

// Values of Coord.DType.
const (
	CoordF32  = "f32"
	CoordF64  = "f64"
	CoordI64  = "i64"
	CoordText = "txt"
)

// Bounds of the coordinates of a set.
const (
	MaxCoord      = 1 << 16 // values of one
	MaxCoordText  = 1 << 20 // bytes of the texts of all
	MaxCoordTotal = 1 << 20 // values of all
)

// Gridded is a Source that knows the coordinates of its fields' dimensions (the attribute
// shardify.DimsAttr names them). The key is the name of the dimension, or CoordOf where fields of
// one source have other values for one name.
type Gridded interface{ Coords() map[string]Coord }

// CoordOf is the key of the coordinate of a field that has its own.
func CoordOf(field, dim string) string { return field + ":" + dim }

// What follows the key of a coordinate of latitudes makes those of the weights of its values, of mean
// 1: the cosine, and the area of the cells between the poles.
const (
	WeightCos  = ".weight_cos"
	WeightArea = ".weight_area"
)

// WeighedCoord is the key of the latitudes that the coordinate of a key has weights of, if it has.
func WeighedCoord(key string) (of string, ok bool) {
	if of, ok = strings.CutSuffix(key, WeightCos); !ok {
		of, ok = strings.CutSuffix(key, WeightArea)
	}
	return of, ok
}

// Len is the number of values.
func (c *Coord) Len() int { return len(c.Floats) + len(c.Ints) + len(c.Texts) }

// Check refuses what no set has.
func (c *Coord) Check() error {
	n, size := 0, 0
	switch c.DType {
	case CoordF32, CoordF64:
		n = len(c.Floats)
		if slices.ContainsFunc(c.Floats, func(v float64) bool {
			return math.IsInf(v, 0) || c.DType == CoordF32 && math.IsInf(float64(float32(v)), 0)
		}) {
			return shardify.Corrupt(-1, "a coordinate with an infinite value")
		}
	case CoordI64:
		n = len(c.Ints)
	case CoordText:
		n = len(c.Texts)
		for _, s := range c.Texts {
			if size += len(s); !utf8.ValidString(s) {
				return shardify.Corrupt(-1, "a coordinate with the text %q, which is not UTF-8", s)
			}
		}
	default:
		return shardify.Unsupported("a coordinate of type %q", c.DType)
	}
	if n != c.Len() || n == 0 || n > MaxCoord || size > MaxCoordText {
		return shardify.Corrupt(-1, "a coordinate of %d values and %d bytes of text: want 1 to %d, and up to %d", c.Len(), size, MaxCoord, MaxCoordText)
	}
	return nil
}

// Same reports whether two coordinates have the same values. Types and differences of rounding do not
// count.
func (c *Coord) Same(d *Coord) bool {
	if c.Attrs["time"] != d.Attrs["time"] || c.Attrs["calendar"] != d.Attrs["calendar"] || c.Len() != d.Len() {
		return false
	}
	if c.DType == CoordText || d.DType == CoordText || c.DType == CoordI64 && d.DType == CoordI64 {
		return slices.Equal(c.Texts, d.Texts) && slices.Equal(c.Ints, d.Ints) && len(c.Floats) == len(d.Floats)
	}
	single := c.DType == CoordF32 || d.DType == CoordF32
	a, b := c.numbers(), d.numbers()
	near := Tolerance(a)
	return slices.EqualFunc(a, b, func(x, y float64) bool {
		return x == y || math.Abs(x-y) <= near || math.IsNaN(x) && math.IsNaN(y) || single && float32(x) == float32(y)
	})
}

func (c *Coord) numbers() []float64 {
	if c.DType != CoordI64 {
		return c.Floats
	}
	out := make([]float64, len(c.Ints))
	for i, v := range c.Ints {
		out[i] = float64(v)
	}
	return out
}

// Tolerance is how much the numbers of a coordinate may differ that were computed in different
// ways: some units of f32's precision, and no more than a tenth of the spacing.
func Tolerance(v []float64) float64 {
	largest := 0.0
	for _, x := range v {
		if !math.IsNaN(x) {
			largest = max(largest, math.Abs(x))
		}
	}
	return min(1e-6*largest, Spacing(v)/10)
}

// Spacing is the smallest distance of neighbouring values.
func Spacing(v []float64) float64 {
	least := math.Inf(1)
	for i := 1; i < len(v); i++ {
		if d := math.Abs(v[i] - v[i-1]); d > 0 {
			least = min(least, d)
		}
	}
	return least
}

// Text is value i.
func (c *Coord) Text(i int) string {
	switch {
	case c.DType == CoordText:
		return c.Texts[i]
	case c.DType == CoordI64:
		return strconv.FormatInt(c.Ints[i], 10)
	case c.DType == CoordF32:
		return strconv.FormatFloat(c.Floats[i], 'g', -1, 32)
	}
	return strconv.FormatFloat(c.Floats[i], 'g', -1, 64)
}

// coordText is a coordinate in JSON.
type coordText struct {
	DType  string            `json:"dtype"`
	Attrs  map[string]string `json:"attrs,omitempty"`
	Values json.RawMessage   `json:"values"`
}

// MarshalJSON writes values as a list; NaN is null.
func (c Coord) MarshalJSON() ([]byte, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	between := byte('[')
	for i := range c.Len() {
		b.WriteByte(between)
		between = ','
		switch {
		case c.DType == CoordText:
			text, err := json.Marshal(c.Texts[i])
			if err != nil {
				return nil, err
			}
			b.Write(text)
		case c.Floats != nil && math.IsNaN(c.Floats[i]):
			b.WriteString("null")
		default:
			b.WriteString(c.Text(i))
		}
	}
	b.WriteByte(']')
	return json.Marshal(coordText{c.DType, c.Attrs, b.Bytes()})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *Coord) UnmarshalJSON(b []byte) error {
	var t coordText
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	*c = Coord{DType: t.DType, Attrs: t.Attrs}
	var err error
	switch t.DType {
	case CoordText:
		c.Texts, err = withoutNull[string](t.Values)
	case CoordI64:
		c.Ints, err = withoutNull[int64](t.Values)
	case CoordF32, CoordF64:
		var list []*float64
		err = json.Unmarshal(t.Values, &list)
		for _, v := range list {
			if v == nil {
				nan := math.NaN()
				v = &nan
			}
			c.Floats = append(c.Floats, *v)
		}
	}
	if err != nil {
		return fmt.Errorf("coordinate: %w", err)
	}
	return c.Check()
}

// withoutNull is a list of which every place has a value.
func withoutNull[T any](text []byte) ([]T, error) {
	var list []*T
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	out := make([]T, len(list))
	for i, v := range list {
		if v == nil {
			return nil, fmt.Errorf("value %d is null", i)
		}
		out[i] = *v
	}
	return out, nil
}

// KeptCoords is those of the coordinates that dimensions of the fields have, in the order of the
// fields, as many as a set keeps, and those that it does not.
func KeptCoords(all map[string]Coord, schema []shardify.Field) (kept map[string]Coord, left []Leftover) {
	total, texts := 0, 0
	seen := map[string]bool{}
	keep := func(key string) bool {
		c, ok := all[key]
		if !ok || seen[key] {
			return ok
		}
		seen[key] = true
		size := 0
		for _, s := range c.Texts {
			size += len(s)
		}
		if total+c.Len() > MaxCoordTotal || texts+size > MaxCoordText {
			left = append(left, Leftover{Name: "coordinate " + key, Reason: fmt.Sprintf("all coordinates of a set have up to %d values and %d bytes of text", MaxCoordTotal, MaxCoordText)})
			return true
		}
		if kept == nil {
			kept = map[string]Coord{}
		}
		kept[key], total, texts = c, total+c.Len(), texts+size
		return true
	}
	for i := range schema {
		for _, dim := range schema[i].Dims() {
			key := CoordOf(schema[i].Name, dim)
			if !keep(key) {
				key = dim
				keep(key)
			}
			keep(key + WeightCos)
			keep(key + WeightArea)
		}
	}
	return kept, left
}
