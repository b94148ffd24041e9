package hdf5

import (
	"maps"
	"math"
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

// maxAttr bounds the text of one attribute in the schema.
const maxAttr = 1 << 10

// maxText bounds the text of an attribute that is looked at.
const maxText = 1 << 18

// fieldAttrs joins a data set's attributes to those of the field's type.
func fieldAttrs(f *h5.File, o *h5.Object, of map[string]string) map[string]string {
	list, _ := o.Attributes() // a damaged attribute costs only itself
	out := maps.Clone(of)
	for i := range list {
		name := keptAttrs[list[i].Name]
		if name == "" {
			continue
		}
		text := attrText(f, &list[i])
		if text == "" || len(text) > maxAttr {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		if out[name] == "" {
			out[name] = text
		}
	}
	return out
}

// textAttr is the text of an attribute, "" if there is none.
func textAttr(f *h5.File, o *h5.Object, name string) string {
	a, ok, err := o.Attribute(name)
	if !ok || err != nil {
		return ""
	}
	return attrText(f, &a)
}

// attrText writes a simple attribute, one text or up to a few numbers; "" for any
// other.
func attrText(f *h5.File, a *h5.Attribute) string {
	if a.Err != nil || a.Type == nil || a.Space.Elements() < 1 || a.Space.Elements() > 16 {
		return ""
	}
	n := int(a.Space.Elements())
	if a.Type.Size < 1 || len(a.Data) < n*a.Type.Size {
		return ""
	}
	leaves := typeRules{media: mediaText, refSize: a.Type.Size}.leaves(a.Type)
	if len(leaves) != 1 || leaves[0].err != nil || leaves[0].at.Values() != 1 {
		return ""
	}
	l := &leaves[0]
	heap := f.NewHeap(1 << 16)
	var parts []string
	for i := range n {
		text, ok := itemText(heap, l, a.Data[i*a.Type.Size:][:a.Type.Size])
		if !ok {
			return ""
		}
		parts = append(parts, text)
	}
	s := strings.Join(parts, " ")
	if len(s) > maxText || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return ""
	}
	return s
}

// itemText writes one text or number.
func itemText(heap *h5.Heap, l *leaf, b []byte) (string, bool) {
	switch l.kind {
	case texts:
		return string(trim(trim(b, l.padding), h5.NulPadded)), true
	case varText:
		t, err := heap.View(b, 1)
		return string(trim(t, h5.NulTerminated)), err == nil
	case numbers:
		return numberText(l, b), true
	}
	return "", false
}

func numberText(l *leaf, b []byte) string {
	var v [8]byte
	l.convert(v[:], b[l.at.Off:], 1, l.num.Size)
	w := le.Uint64(v[:])
	switch d := l.num.DType; {
	case d == shardify.F64:
		return strconv.FormatFloat(math.Float64frombits(w), 'g', -1, 64)
	case d == shardify.F32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(w))), 'g', -1, 32)
	case d.IsFloat():
		return ""
	case l.num.Signed:
		shift := 64 - 8*d.Size()
		return strconv.FormatInt(int64(w<<shift)>>shift, 10)
	default:
		return strconv.FormatUint(w, 10)
	}
}
