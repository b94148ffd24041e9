package arrays

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/arrays/attrs"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	"github.com/shardify/shardify/readers/internal/cf"
)

// leaf is what one field gets of an element.
type leaf struct {
	name string // of a member, "" for the whole element
	off  int
	typ  node.Type
	dims []int64 // of the member
	cf   *cf.Decoder

	chars bool // characters along the last dimension are a text
}

// leavesOf lists the leaves of a type.
func leavesOf(t *node.Type) []leaf {
	var out []leaf
	var add func(t *node.Type, l leaf)
	add = func(t *node.Type, l leaf) {
		if t.Kind != node.Struct {
			l.typ = *t
			out = append(out, l)
			return
		}
		for i := range t.Fields {
			m := &t.Fields[i]
			sub := leaf{name: join(l.name, m.Name), off: l.off + m.Offset, dims: slices.Concat(l.dims, m.Shape)}
			add(&m.Type, sub)
		}
	}
	add(t, leaf{})
	return out
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "/" + b
}

// text reports whether the elements are texts of some length.
func (l *leaf) text() bool {
	return l.typ.Kind == node.Fixed || l.typ.Kind == node.FixedU || l.typ.Varies()
}

// values is how many elements of the type the leaf has in an element of the array.
func (l *leaf) values() int64 {
	n := int64(1)
	for _, d := range l.dims {
		n *= d
	}
	return n
}

// field is the schema entry, of an array with the dimensions inner within a sample.
func (l *leaf) field(name, media string, inner []int64) (shardify.Field, error) {
	f := shardify.Field{Name: name, DType: l.typ.DType}
	inner = slices.Concat(inner, l.dims)
	if l.chars {
		if len(inner) == 0 {
			return f, shardify.Mismatch("texts without characters")
		}
		inner = inner[:len(inner)-1]
	}
	switch l.typ.Kind {
	case node.Complex:
		inner = append(inner, 2)
		f.Attrs = map[string]string{"complex": "true"}
	case node.Raw:
		f.DType, inner = shardify.U8, append(inner, int64(l.typ.Size))
		f.Attrs = map[string]string{"void": "true"}
	case node.Time, node.Duration:
		unit := l.typ.Unit
		if l.typ.Scale > 1 {
			unit = strconv.FormatInt(l.typ.Scale, 10) + unit
		}
		if f.Attrs = map[string]string{"time": unit}; l.typ.Kind == node.Duration {
			f.Attrs["delta"] = "true"
		}
	case node.Text, node.FixedU:
		f.DType, f.Media = shardify.U8, media
	case node.Blob, node.Fixed:
		if f.DType, f.Media = shardify.U8, "bin"; l.chars || l.typ.Chars {
			f.Media = media
		}
	}
	if l.cf != nil {
		f.DType = l.cf.To
	}
	if l.text() {
		if f.Levels = 1; len(inner) > 0 {
			f.Levels = 2
		}
		return f, f.Validate()
	}
	for _, n := range inner {
		if n > 1<<40 {
			return f, shardify.Unsupported("dimensions %v", inner)
		}
		f.Shape = append(f.Shape, int(n))
	}
	return f, f.Validate()
}

// filled says whether elements that equal fill_value count as missing. For xarray and NCZarr they do
// in format 2. 0 is what every array has whose writer chose none: an attribute must say so, too.
func (l *leaf) filled(a *store.Array, mode string) bool {
	switch {
	case a.Format != 2 || a.NoFill || mode == cfOff:
		return false
	case mode == cfOn:
		return true
	case !a.Named:
		return false
	}
	_, fill := a.Attributes["_FillValue"]
	_, missing := a.Attributes["missing_value"]
	return fill || missing || attrs.Stored(a.Fill, l.typ.DType).Float != 0
}

// unfilled says whether fill_value counts as a value where others may take it for a missing one.
func (l *leaf) unfilled(a *store.Array, mode string) bool {
	if a.Format != 2 || a.NoFill || mode == cfOff || l.typ.Kind != node.Number || l.name != "" || !l.typ.DType.IsInt() && l.typ.DType != shardify.F32 && l.typ.DType != shardify.F64 || l.filled(a, mode) {
		return false
	}
	fill := attrs.Stored(a.Fill, l.typ.DType).Float
	return fill == fill && (a.Named || fill != 0)
}

// differs reports whether a mode makes other values than cfAuto, in which auto is decoded.
func (l *leaf) differs(auto *leaf, a *store.Array, mode string) bool {
	if auto.decode(a, nil, cfAuto) != nil {
		return true
	}
	if mode == cfOff {
		return auto.cf != nil && !auto.cf.Plain()
	}
	return l.cf != nil && l.filled(a, mode) && !l.filled(a, cfAuto)
}

// decode finds out what the attributes of an array make of its numbers.
func (l *leaf) decode(a *store.Array, of map[string]any, mode string) error {
	if l.typ.Kind != node.Number || l.name != "" || mode == cfOff {
		return nil
	}
	var err error
	l.cf, err = cf.New(l.typ.DType, func(name string) (cf.Attribute, bool) {
		if name == "_FillValue" && l.filled(a, mode) {
			return cf.Attribute{Numbers: []cf.Value{attrs.Stored(a.Fill, l.typ.DType)}}, true
		}
		v, ok := a.Attributes[name]
		if !ok && (name == "units" || name == "calendar") {
			v, ok = of[name]
		}
		if !ok {
			return cf.Attribute{}, false
		}
		if s, is := v.(string); is && name == "_FillValue" && a.Format == 3 && l.typ.DType.IsFloat() {
			if f, ok := attrs.Fill(s); ok {
				return cf.Attribute{Numbers: []cf.Value{{DType: shardify.F64, Float: f}}}, true
			}
		}
		x, ok := attrs.CF(v)
		if name == "_FillValue" && a.Format == 3 && l.typ.DType == shardify.F32 { // xarray reads none of these numbers: one of the array
			for i := range x.Numbers {
				x.Numbers[i] = cf.Value{DType: shardify.F32, Float: float64(float32(x.Numbers[i].Float))}
			}
		}
		return x, ok
	})
	return err
}

// keptAttrs are the attributes of arrays that go into the schema, by the name they get there.
var keptAttrs = map[string]string{
	"units": "unit", "long_name": "long_name", "standard_name": "standard_name", "description": "description",
	"scale_factor": "scale_factor", "add_offset": "add_offset", "_FillValue": "_FillValue", "missing_value": "missing_value",
	"valid_min": "valid_min", "valid_max": "valid_max", "calendar": "calendar",
}

// attributes are what the store says about a field.
func (l *leaf) attributes(a *store.Array, f *shardify.Field) {
	all := f.Attrs
	set := func(name, text string) {
		if all == nil {
			all = map[string]string{}
		}
		all[name] = text
	}
	for name, v := range a.Attributes {
		to := keptAttrs[name]
		if text := attrs.Text(v); to != "" && all[to] == "" && text != "" && len(text) <= attrs.MaxText && utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
			set(to, text)
		}
	}
	if l.cf != nil {
		for _, name := range l.cf.Applied {
			delete(all, keptAttrs[name])
		}
		if calendar, ok := l.cf.Time(); ok {
			if set("time", l.cf.Into().Name()); calendar != "" {
				set("calendar", calendar)
			}
		}
	}
	values, names := strings.Fields(attrs.Text(a.Attributes["flag_values"])), strings.Fields(attrs.Text(a.Attributes["flag_meanings"]))
	if f.DType.IsInt() && len(values) > 0 && len(values) == len(names) && a.Attributes["flag_masks"] == nil {
		codes := make([]int64, len(names))
		var err error
		for i := range names {
			if codes[i], err = strconv.ParseInt(values[i], 10, 64); err != nil {
				break
			}
		}
		if attr, text := shardify.CodeNames(names, codes); err == nil && attr != "" {
			set(attr, text)
		}
	}
	f.Attrs = all
}

// appendText appends the value of a text at p, an element of a fixed size.
func (l *leaf) appendText(dst, p []byte) ([]byte, error) {
	if l.chars {
		return append(dst, p...), nil
	}
	if l.typ.Kind == node.Fixed {
		return append(dst, bytes.TrimRight(p, "\x00")...), nil
	}
	end := len(p)
	for end >= 4 && binary.LittleEndian.Uint32(p[end-4:]) == 0 {
		end -= 4
	}
	for ; len(p) >= 4 && end > 0; p, end = p[4:], end-4 {
		r := binary.LittleEndian.Uint32(p)
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return dst, shardify.Corrupt(-1, "text has the code %#x, which is not a character", r)
		}
		dst = utf8.AppendRune(dst, rune(r))
	}
	return dst, nil
}
