package element

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
)

// MaxAttr bounds the text of one attribute in the schema.
const MaxAttr = 1 << 10

// MaxText bounds the text of an attribute that is looked at.
const MaxText = 1 << 18

// TextOf is the text of an attribute, or "".
func TextOf(f *h5.File, o *h5.Object, name string) string {
	a, ok, err := o.Attribute(name)
	if !ok || err != nil {
		return ""
	}
	return AttributeText(f, &a)
}

// AttributeText writes a simple attribute, one text or up to a few numbers; "" for any
// other.
func AttributeText(f *h5.File, a *h5.Attribute) string {
	if a.Err != nil || a.Type == nil || a.Space.Elements() < 1 || a.Space.Elements() > 16 {
		return ""
	}
	parts, ok := AttributeTexts(f, a, Rules{Media: MediaText, RefSize: a.Type.Size})
	if !ok || parts == nil {
		return ""
	}
	s := strings.Join(parts, " ")
	if len(s) > MaxText || !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return ""
	}
	return s
}

// AttributeTexts are the items of an attribute; nil if they are neither texts nor numbers. It returns false if one
// cannot be read.
func AttributeTexts(f *h5.File, a *h5.Attribute, r Rules) (list []string, ok bool) {
	n, size := int(a.Space.Elements()), a.Type.Size
	leaves := r.Leaves(a.Type)
	if n < 1 || size < 1 || len(a.Data)/size < n || len(leaves) != 1 || leaves[0].Err != nil || leaves[0].At.Values() != 1 {
		return nil, true
	}
	texts := heap.New(f.File, 1<<20)
	for i := range n {
		text, ok := ItemText(texts, &leaves[0], a.Data[i*size:][:size])
		if !ok {
			return nil, false
		}
		list = append(list, text)
	}
	return list, true
}

// ItemText writes one text or number.
func ItemText(heap *heap.Heap, l *Leaf, b []byte) (string, bool) {
	switch l.Kind {
	case Texts:
		return string(Trim(Trim(b, l.Padding), datatype.NulPadded)), true
	case VarText:
		t, err := heap.View(b, 1)
		return string(Trim(t, datatype.NulTerminated)), err == nil
	case Numbers:
		return numberText(l, b), true
	}
	return "", false
}

func numberText(l *Leaf, b []byte) string {
	var v [8]byte
	l.Convert(v[:], b[l.At.Off:], 1, l.Num.Size)
	w := le.Uint64(v[:])
	switch d := l.Num.DType; {
	case d == shardify.F64:
		return strconv.FormatFloat(math.Float64frombits(w), 'g', -1, 64)
	case d == shardify.F32:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(w))), 'g', -1, 32)
	case d.IsFloat():
		return ""
	case l.Num.Signed:
		shift := 64 - 8*d.Size()
		return strconv.FormatInt(int64(w<<shift)>>shift, 10)
	default:
		return strconv.FormatUint(w, 10)
	}
}

// MediaText is the media of texts, unless an option makes them bytes.
const MediaText = "txt"

// Trim cuts off what pads a text.
func Trim(b []byte, p datatype.Padding) []byte {
	switch p {
	case datatype.NulTerminated:
		if i := bytes.IndexByte(b, 0); i >= 0 {
			b = b[:i]
		}
	case datatype.SpacePadded:
		b = bytes.TrimRight(b, " ")
	default:
		for len(b) > 0 && b[len(b)-1] == 0 {
			b = b[:len(b)-1]
		}
	}
	return b
}

// Attributes are those of an object; what is damaged is not among them.
type Attributes []h5.Attribute

// Find is the attribute with a name; nil if it is missing or damaged.
func (l Attributes) Find(name string) *h5.Attribute {
	if i := slices.IndexFunc(l, func(a h5.Attribute) bool { return a.Name == name && a.Err == nil }); i >= 0 {
		return &l[i]
	}
	return nil
}

// Text is the text of the attribute with a name; "" if it is absent, or no text.
func (l Attributes) Text(f *h5.File, name string) string {
	if a := l.Find(name); a != nil {
		return AttributeText(f, a)
	}
	return ""
}

// Numbers are whole numbers that are not negative, nil for anything else.
func (l Attributes) Numbers(f *h5.File, name string) (out []int64) {
	for _, s := range strings.Fields(l.Text(f, name)) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// UTF16 is the text of 16-bit codes.
func UTF16(buf []byte, b []byte, big bool) []byte {
	codes := make([]uint16, len(b)/2)
	for i := range codes {
		if codes[i] = le.Uint16(b[2*i:]); big {
			codes[i] = be.Uint16(b[2*i:])
		}
	}
	return append(buf, strings.TrimRight(string(utf16.Decode(codes)), " \x00")...)
}
