package survey

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows"
)

// checked is the facts of a file, checked and ready to be interned.
type checked struct {
	fields  []shardify.Field
	at      []int32
	bytes   []int64
	lengths []string // classes
	coords  []Coord
	left    []format.Leftover
	void    []string
	borders []byte
	shapes  []byte
	// key is equal for files that share a layout.
	key []byte
}

// check checks what a format says about a file: numbers come from the file and may
// be anything.
func (facts *Facts) check(want *columns.Wanted, ragged bool) (*checked, error) {
	if facts.Samples < 0 || facts.Samples > rows.MaxSamples {
		return nil, shardify.Corrupt(-1, "claims %d samples", facts.Samples)
	}
	n := len(facts.Fields)
	s := &checked{left: slices.Clone(facts.Left), coords: facts.Coords, fields: make([]shardify.Field, 0, n), at: make([]int32, 0, n), bytes: make([]int64, 0, n)}
	has := make(map[string]bool, n)
	var twice []string
	for i := range facts.Fields {
		f := facts.Fields[i].Field
		if err := f.Validate(); err != nil {
			s.left = append(s.left, format.Unread(f.Name, err))
			continue
		}
		if has[f.Name] {
			twice = append(twice, f.Name)
			continue
		}
		has[f.Name] = true
		n := int64(0)
		if f.Levels > 0 {
			n = max(facts.Fields[i].Bytes, 0)
		}
		s.fields, s.at, s.bytes = append(s.fields, f), append(s.at, int32(i)), append(s.bytes, n)
		s.lengths = append(s.lengths, facts.Fields[i].LengthClass)
	}
	if len(twice) > 0 {
		return nil, ambiguous(twice, want)
	}
	if err := s.bounds(facts.Samples); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.left, func(a, b format.Leftover) int { return cmp.Compare(a.Name, b.Name) })
	s.left = slices.CompactFunc(s.left, func(a, b format.Leftover) bool { return a.Name == b.Name })
	for _, name := range facts.Void {
		if !has[name] {
			s.void = append(s.void, name)
		}
	}
	slices.Sort(s.void)
	s.void = slices.Compact(s.void)
	var err error
	if s.borders, err = facts.Borders.Encode(facts.Samples); err != nil {
		return nil, err
	}
	s.makeKey(facts.Samples == 0, ragged)
	return s, nil
}

// ambiguous is the error about names that several fields of a file have.
func ambiguous(twice []string, want *columns.Wanted) error {
	slices.Sort(twice)
	twice = slices.Compact(twice)
	var cure []string
	for _, name := range twice {
		if was := want.Original(name); was != name {
			cure = append(cure, "!"+was)
		}
	}
	text := "more than one field is named " + examples(twice, len(twice))
	if cure != nil { // names that differ in reserved characters
		return format.NewAmbiguous(text, []format.Way{{Columns: cure, Makes: "samples without " + strings.ReplaceAll(examples(cure, len(cure)), "!", "")}})
	}
	return shardify.Mismatch("%s", text)
}

// bounds refuses claims of more bytes than any file holds: sparse data sets and
// shapes are numbers in the file, their decoded size is not bound by its size. A
// Ragged field without its companion is a bug of the format.
func (s *checked) bounds(samples int64) error {
	var all int64
	for i := range s.fields {
		f := &s.fields[i]
		n := s.bytes[i]
		if f.Levels == 0 {
			n = rows.SatMul(samples, int64(f.ElemBytes()))
		}
		if all = rows.SatAdd(all, n); all > rows.MaxDecoded {
			return shardify.Unsupported("field %s: %d samples of %s are too many", f.Name, samples, typeOf(f))
		}
		if f.Ragged && rank(s.fields, f.Name) < 0 {
			return shardify.Mismatch("ragged field %s has no %s", f.Name, f.Name+shardify.ShapeSuffix)
		}
	}
	return nil
}

// rank is that of a Ragged field: the length of its companion; -1 without one.
func rank(fields []shardify.Field, name string) int {
	i := shardify.FieldIndex(fields, name+shardify.ShapeSuffix)
	if i < 0 || fields[i].DType != shardify.I64 || fields[i].Levels != 0 || len(fields[i].Shape) != 1 {
		return -1
	}
	return fields[i].Shape[0]
}

// keptAttrs are the attributes that say what the values mean. Fields that differ in
// them differ; other attributes are kept where all inputs agree.
var keptAttrs = []string{"_FillValue", "add_offset", "calendar", "categories", "columns", "delta", "enum", "labels", "missing_value", "scale_factor", "time", "unit"}

func (s *checked) makeKey(empty, ragged bool) {
	b := make([]byte, 0, 32*len(s.fields)+16)
	b = append(b, flag(empty, 1))
	b = binary.AppendUvarint(b, uint64(len(s.fields)))
	for i := range s.fields {
		f := &s.fields[i]
		b = appendString(b, f.Name)
		b = appendString(b, f.Counter)
		b = appendString(b, f.Media)
		b = binary.AppendUvarint(b, uint64(s.at[i]))
		b = append(b, byte(f.DType), byte(f.Levels), flag(f.Ragged, 1)|flag(f.Nullable, 2))
		b = binary.AppendUvarint(b, uint64(len(f.Shape)))
		for _, d := range f.Shape {
			if ragged && mayVary(f) {
				s.shapes = binary.AppendUvarint(s.shapes, uint64(d))
			} else {
				b = binary.AppendUvarint(b, uint64(d))
			}
		}
		for _, k := range keptAttrs {
			v, ok := f.Attrs[k]
			b = append(b, flag(ok, 1))
			b = appendString(b, v)
		}
	}
	for i := range s.left {
		b = appendString(b, s.left[i].Name)
	}
	b = binary.AppendUvarint(b, uint64(len(s.left)))
	for _, name := range s.void {
		b = appendString(b, name)
	}
	s.key = b
}

// mayVary reports whether a field can become Ragged: it is fixed and has a shape.
func mayVary(f *shardify.Field) bool { return f.Levels == 0 && len(f.Shape) > 0 }

func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// commonAttrs is what two fields agree on. a is not changed.
func commonAttrs(a, b map[string]string) map[string]string {
	if len(a) == 0 || maps.Equal(a, b) {
		return a
	}
	out := map[string]string{}
	for k, v := range a {
		if w, ok := b[k]; ok && v == w {
			out[k] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// typeOf says what a field is, for messages: "f32 [3]", "jagged i16", "txt".
func typeOf(f *shardify.Field) string {
	var b strings.Builder
	b.WriteString([]string{"", "jagged ", "twice jagged "}[min(max(f.Levels, 0), 2)])
	switch {
	case f.Media != "":
		b.Reset()
		if f.Levels > 1 {
			b.WriteString("jagged ")
		}
		b.WriteString(f.Media)
	default:
		b.WriteString(f.DType.String())
	}
	if len(f.Shape) > 0 {
		b.WriteByte(' ')
		b.WriteString(shapeText(f.Shape))
	}
	if f.Ragged {
		b.WriteString(" of any shape")
	}
	return b.String()
}
