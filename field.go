package shardify

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Field is one entry of a schema.
type Field struct {
	Name  string `json:"name"`
	DType DType  `json:"dtype"`
	// Shape of one element; nil is a scalar. A Levels-0 field holds one element
	// per sample, a jagged field any number of them.
	Shape []int `json:"shape,omitempty"`
	// Levels of variable length: 0 fixed, 1 jagged, 2 jagged of jagged.
	Levels int `json:"levels,omitempty"`
	// Counter names the length shared by several jagged fields ("Jet" for
	// Jet_pt, Jet_eta); "" when the field has its own.
	Counter string `json:"counter,omitempty"`
	// Ragged: the values of one sample reshape by the column Name+ShapeSuffix.
	Ragged bool `json:"ragged,omitempty"`
	// Media of opaque bytes (DType U8, Levels >= 1): "jpg", "txt" (UTF-8),
	// "json", "bin", "image" (type varies, see ExtSuffix); "" for numbers.
	Media string `json:"media,omitempty"`
	// Nullable: columns may carry Valid.
	Nullable bool `json:"nullable,omitempty"`
	// Attrs are free facts: "unit", "labels" (names of codes 0, 1, ... joined by
	// newlines), "time" (unit of a time stamp). Kept in schema and manifest.
	Attrs map[string]string `json:"attrs,omitempty"`
}

// Companion columns carry facts about another field of the same sample and are
// hidden from users of Python and of WebDataset shards.
const (
	// ShapeSuffix names the I64 [rank] column with the shape of a Ragged field.
	ShapeSuffix = ".shape"
	// DimsAttr is the attribute with the names of an element's dimensions, joined by LabelSeparator.
	DimsAttr = "dims"
	// ExtSuffix names the U8 scalar column that says which file extension a
	// field of Media "image" had, as a code into its own Attrs["labels"].
	ExtSuffix = ".ext"
)

// LabelSeparator separates names in Attrs["labels"].
const LabelSeparator = "\n"

// Labels returns the names of codes 0, 1, ...; nil if it has no names.
func (f *Field) Labels() []string {
	s, ok := f.Attrs["labels"]
	if !ok {
		return nil
	}
	return strings.Split(s, LabelSeparator)
}

// CodeNames is the attribute that keeps the names of codes: "labels" where codes are 0, 1, ...,
// with "" for a code without a name, else "enum" with lines NAME=CODE. It is empty for names that
// cannot be kept.
func CodeNames(names []string, codes []int64) (attr, text string) {
	const few = 256 // codes that labels may have beyond the names
	var labels, pairs []string
	dense := true
	for i, name := range names {
		if name == "" || strings.ContainsAny(name, "\n\x00") || !utf8.ValidString(name) {
			return "", ""
		}
		pairs = append(pairs, fmt.Sprintf("%s=%d", name, codes[i]))
		if codes[i] < 0 || codes[i] >= int64(len(names)+few) {
			dense = false
			continue
		}
		for int64(len(labels)) <= codes[i] {
			labels = append(labels, "")
		}
		dense = dense && labels[codes[i]] == ""
		labels[codes[i]] = name
	}
	switch {
	case len(names) == 0:
		return "", ""
	case dense:
		return "labels", strings.Join(labels, LabelSeparator)
	}
	return "enum", strings.Join(pairs, "\n")
}

// Codes are the names that codes have, as CodeNames has kept them, and the codes; nil without names.
func (f *Field) Codes() (names []string, codes []int64) {
	for code, name := range f.Labels() {
		if name != "" {
			names, codes = append(names, name), append(codes, int64(code))
		}
	}
	for line := range strings.SplitSeq(f.Attrs["enum"], "\n") {
		if i := strings.LastIndexByte(line, '='); i > 0 {
			if code, err := strconv.ParseInt(line[i+1:], 10, 64); err == nil {
				names, codes = append(names, line[:i]), append(codes, code)
			}
		}
	}
	return names, codes
}

// Dims are the names of the dimensions of an element; nil without names.
func (f *Field) Dims() []string {
	s, ok := f.Attrs[DimsAttr]
	if !ok || f.Levels > 0 {
		return nil
	}
	names := strings.Split(s, LabelSeparator)
	if len(names) != len(f.Shape) {
		return nil
	}
	return names
}

// NameDims names the dimensions of an element. Attrs is not changed in place.
func (f *Field) NameDims(names []string) {
	if len(names) == 0 || len(names) != len(f.Shape) || f.Levels > 0 {
		return
	}
	for _, s := range names {
		if ValidName(s) != nil {
			return
		}
	}
	f.Attrs = maps.Clone(f.Attrs)
	if f.Attrs == nil {
		f.Attrs = map[string]string{}
	}
	f.Attrs[DimsAttr] = strings.Join(names, LabelSeparator)
}

// Elem is the number of values in one element: the product of Shape.
func (f *Field) Elem() int {
	n := 1
	for _, d := range f.Shape {
		n *= d
	}
	return n
}

// ElemBytes is the bytes of one element.
func (f *Field) ElemBytes() int { return f.Elem() * f.DType.Size() }

// CounterName is the name before "#offsets" on disk.
func (f *Field) CounterName() string {
	if f.Counter != "" {
		return f.Counter
	}
	return f.Name
}

// Validate checks one field's rules: names, sizes that do not overflow, levels.
func (f *Field) Validate() error {
	if err := ValidName(f.Name); err != nil {
		return err
	}
	if f.Counter != "" {
		if err := ValidName(f.Counter); err != nil {
			return fmt.Errorf("counter of field %s: %w", f.Name, err)
		}
		if f.Levels == 0 {
			return fmt.Errorf("field %s: counter %s on a fixed field: %w", f.Name, f.Counter, ErrSchema)
		}
	}
	if f.DType == Invalid || f.DType.Size() == 0 {
		return fmt.Errorf("field %s: no dtype: %w", f.Name, ErrSchema)
	}
	if f.Levels < 0 || f.Levels > 2 {
		return fmt.Errorf("field %s: %d levels of variable length (at most 2): %w", f.Name, f.Levels, ErrUnsupported)
	}
	if f.Media != "" && (f.DType != U8 || f.Levels < 1 || len(f.Shape) != 0) {
		return fmt.Errorf("field %s: media %s needs jagged u8 bytes: %w", f.Name, f.Media, ErrSchema)
	}
	n := int64(f.DType.Size())
	for _, d := range f.Shape {
		if d < 0 {
			return fmt.Errorf("field %s: negative dimension %d: %w", f.Name, d, ErrSchema)
		}
		if d > 0 && n > math.MaxInt64/int64(d) {
			return fmt.Errorf("field %s: shape %v overflows: %w", f.Name, f.Shape, ErrSchema)
		}
		n *= int64(d)
	}
	if n > math.MaxInt64/2 {
		return fmt.Errorf("field %s: shape %v overflows: %w", f.Name, f.Shape, ErrSchema)
	}
	return nil
}

// ValidName checks a field name: 1 to 255 bytes of UTF-8, no '#', no control
// characters, not beginning with "__".
func ValidName(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("empty field name: %w", ErrSchema)
	case len(s) > 255:
		return fmt.Errorf("field name %.40q... is longer than 255 bytes: %w", s, ErrSchema)
	case strings.HasPrefix(s, "__"):
		return fmt.Errorf("field name %q begins with __ (reserved): %w", s, ErrSchema)
	case strings.Contains(s, "#"):
		return fmt.Errorf("field name %q has a # (reserved): %w", s, ErrSchema)
	case !utf8.ValidString(s):
		return fmt.Errorf("field name %q is not UTF-8: %w", s, ErrSchema)
	}
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return fmt.Errorf("field name %q has a control character: %w", s, ErrSchema)
		}
	}
	return nil
}

// ValidateSchema checks every field, that names are unique, and that companions
// fit the field they describe.
func ValidateSchema(schema []Field) error {
	if len(schema) == 0 {
		return fmt.Errorf("no fields: %w", ErrSchema)
	}
	seen := make(map[string]*Field, len(schema))
	for i := range schema {
		f := &schema[i]
		if err := f.Validate(); err != nil {
			return err
		}
		if seen[f.Name] != nil {
			return fmt.Errorf("two fields named %s: %w", f.Name, ErrSchema)
		}
		seen[f.Name] = f
	}
	for i := range schema {
		f := &schema[i]
		if f.Ragged {
			s := seen[f.Name+ShapeSuffix]
			if s == nil || s.DType != I64 || s.Levels != 0 || len(s.Shape) != 1 || f.Levels != 1 {
				return fmt.Errorf("ragged field %s needs a column %s of i64 [rank]: %w", f.Name, f.Name+ShapeSuffix, ErrSchema)
			}
		}
	}
	return nil
}

// Companion reports whether field i of the schema only describes another field
// (its shape or its file extension) and is hidden from users.
func Companion(schema []Field, i int) bool {
	name := schema[i].Name
	if base, ok := strings.CutSuffix(name, ShapeSuffix); ok {
		j := FieldIndex(schema, base)
		return j >= 0 && schema[j].Ragged
	}
	if base, ok := strings.CutSuffix(name, ExtSuffix); ok {
		j := FieldIndex(schema, base)
		return j >= 0 && schema[j].Media == "image" && schema[i].DType == U8 && schema[i].Levels == 0
	}
	return false
}

// FieldIndex returns the place of a field by name, or -1.
func FieldIndex(schema []Field, name string) int {
	for i := range schema {
		if schema[i].Name == name {
			return i
		}
	}
	return -1
}
