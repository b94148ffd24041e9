package element

import (
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// keptAttrs are the attributes of data sets that go into the schema, by the name
// they get there. They are stated, never applied.
var keptAttrs = map[string]string{
	"units": "unit", "unit": "unit", "Units": "unit", "UNITS": "unit",
	"long_name": "long_name", "standard_name": "standard_name", "description": "description",
	"scale_factor": "scale_factor", "add_offset": "add_offset", "_FillValue": "_FillValue", "missing_value": "missing_value",
	"valid_min": "valid_min", "valid_max": "valid_max", "calendar": "calendar",
	"MATLAB_class": "MATLAB_class",
}

// FieldAttrs joins a data set's attributes to those of the field's type.
func FieldAttrs(f *h5.File, o *h5.Object, of map[string]string) map[string]string {
	list, _ := o.Attributes() // a damaged attribute costs only itself
	out := maps.Clone(of)
	for i := range list {
		name := keptAttrs[list[i].Name]
		if name == "" {
			continue
		}
		text := AttributeText(f, &list[i])
		if text == "" || len(text) > MaxAttr {
			continue
		}
		if out[name] == "" {
			out = WithAttr(out, name, text)
		}
	}
	return out
}

// WithAttr adds an attribute to those of a field, which may be nil.
func WithAttr(attrs map[string]string, name, value string) map[string]string {
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs[name] = value
	return attrs
}

// WithFlags adds the names that CF's flag_values have.
func WithFlags(f *h5.File, o *h5.Object, attrs map[string]string) map[string]string {
	l, err := o.Attributes()
	list := Attributes(l)
	if err != nil || attrs["enum"] != "" || attrs["labels"] != "" {
		return attrs
	}
	values, names := strings.Fields(list.Text(f, "flag_values")), strings.Fields(list.Text(f, "flag_meanings"))
	if len(values) == 0 || len(values) != len(names) || list.Find("flag_masks") != nil {
		return attrs
	}
	codes := make([]int64, len(names))
	for i := range names {
		if codes[i], err = strconv.ParseInt(values[i], 10, 64); err != nil {
			return attrs
		}
	}
	return withNames(attrs, names, codes)
}

// columnsAttr is where a field says which columns of a pandas frame its last
// dimension holds, their names joined by line feeds.
const columnsAttr = "columns"

// MaxColumns bounds the names that are kept.
const MaxColumns = 1 << 14

// WithCategories adds the categories to a field's attributes, as its labels: codes
// of missing values have no name.
func WithCategories(attrs map[string]string, names []string) map[string]string {
	codes := make([]int64, len(names))
	for i := range codes {
		codes[i] = int64(i)
	}
	return withNames(attrs, names, codes)
}

func withNames(attrs map[string]string, names []string, codes []int64) map[string]string {
	attr, text := shardify.CodeNames(names, codes)
	if attr == "" {
		return attrs
	}
	return WithAttr(attrs, attr, text)
}

// WithColumns adds the names of columns to a field's attributes.
func WithColumns(attrs map[string]string, names []string, field *shardify.Field) map[string]string {
	n := 1
	if len(field.Shape) > 0 {
		n = field.Shape[len(field.Shape)-1]
	}
	text := strings.Join(names, shardify.LabelSeparator)
	if len(names) == 0 || len(names) != n || strings.Count(text, shardify.LabelSeparator) != n-1 || !utf8.ValidString(text) || len(text) > 1<<18 {
		return attrs
	}
	return WithAttr(attrs, columnsAttr, text)
}
