package schema

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index/tfrecord"
)

// Leaf is a field, and how it is made of the values under a key.
type Leaf struct {
	Key    string         `json:"k"`
	List   bool           `json:"l,omitempty"` // of the lists of a SequenceExample
	Kind   tfrecord.Kind  `json:"t"`
	Packed string         `json:"p,omitempty"` // as in tfrecord.Spec
	Exts   []string       `json:"e,omitempty"` // of an image, whose companion it is
	Step   bool           `json:"s,omitempty"` // a record has one value for each of its steps, which are the samples
	Field  shardify.Field `json:"f"`
	// Text: it is text, unless --text says otherwise.
	Text bool `json:"-"`
	// Class is shardify's survey.Field.LengthClass, and Bytes that of its data in all files.
	Class string `json:"-"`
	Bytes int64  `json:"-"`
}

// Named is what TensorFlow Datasets say of the features: nil if there is nothing.
type Named struct {
	Specs  map[string]tfrecord.Spec
	Odd    map[string]string   // why features are not read
	Labels map[string][]string // names of classes, by key
	// Fields are those of a set of ours, in whose order the fields are; nil without one.
	Fields []shardify.Field
}

// KeyName is the feature that has the names of samples in sets of ours, and Key the field that it becomes.
const (
	KeyName = "__key__"
	Key     = "key"
)

// Fields are what becomes of the features that are wanted, in the order of their names; left are those
// that are not read. text: bytes that are all UTF-8 are text.
func (f *File) Fields(want func(name string) bool, text bool, named *Named) (leaves []Leaf, left []format.Leftover, err error) {
	var keys []key
	for k := range f.stats {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(flag(a.list), flag(b.list)))
	})
	for i, k := range keys {
		name := format.PlainName(k.name)
		if !want(k.name) {
			continue
		}
		if i > 0 && keys[i-1].name == k.name {
			return nil, nil, shardify.Mismatch("%s is a feature of the context, and a list of features", k.name)
		}
		s := f.stats[k]
		kind, err := s.kind(k.name)
		switch {
		case err != nil:
			return nil, nil, err
		case kind == tfrecord.None && s.present == 0:
			left = append(left, format.Leftover{Name: name, Reason: "it holds nothing but missing values"})
			continue
		case kind == tfrecord.None: // lists without steps
			left = append(left, format.Leftover{Name: name, Reason: "it holds nothing but lists without values"})
			continue
		case s.empty.set:
			return nil, nil, shardify.Unsupported("feature %s has a step without values of a kind in %s", k.name, s.empty)
		}
		l, why, err := f.leaf(k, s, kind, text, named)
		if err != nil {
			return nil, nil, shardify.Amend(err, func(e *shardify.Error) { e.Field = k.name })
		}
		if why != "" {
			left = append(left, format.Unread(name, shardify.Unsupported("%s", why)))
			continue
		}
		if l.Field.Levels > 0 && l.Field.Media == "" && l.Class != "" {
			l.Field.Counter = name
		}
		leaves = append(leaves, l)
		if l.Field.Media == "image" && l.Field.Levels == 1 {
			ext := Leaf{Key: l.Key, List: l.List, Step: l.Step, Kind: l.Kind, Exts: slices.Sorted(slices.Values(s.exts))}
			ext.Field = shardify.Field{Name: name + shardify.ExtSuffix, DType: shardify.U8, Attrs: map[string]string{"labels": strings.Join(ext.Exts, shardify.LabelSeparator)}}
			leaves = append(leaves, ext)
		}
	}
	if named != nil && named.Fields != nil {
		slices.SortStableFunc(leaves, func(a, b Leaf) int {
			return cmp.Compare(shardify.FieldIndex(named.Fields, a.Field.Name), shardify.FieldIndex(named.Fields, b.Field.Name))
		})
	}
	return leaves, left, nil
}

// leaf is the field of a feature, or why it has no field.
func (f *File) leaf(k key, s *stat, kind tfrecord.Kind, text bool, named *Named) (l Leaf, why string, err error) {
	l = Leaf{Key: k.name, List: k.list, Kind: kind, Bytes: s.bytes(kind)}
	l.Field.Name, l.Field.Nullable = format.PlainName(k.name), s.present < f.full
	if named != nil {
		why = named.Odd[k.name]
	}
	spec, specified := named.of(k)
	if _, ok := f.steps.of(k); ok && why == "" {
		why = l.ofStep(f, &spec, specified)
	}
	if at := named.field(&l); at != nil {
		err = l.restored(s, at)
	} else if specified && why == "" {
		why, err = l.specified(s, spec, named.Labels[k.name])
	} else if why == "" {
		why = l.seen(s, text)
	}
	l.Text = l.Kind == tfrecord.Bytes && !s.binary && (s.other || s.items == 0)
	if !text && l.Field.Media == "txt" {
		l.Field.Media = "bin"
	}
	return l, why, err
}

// field is what a set of ours says of a leaf.
func (n *Named) field(l *Leaf) *shardify.Field {
	if n == nil || n.Fields == nil {
		return nil
	}
	if l.Key == KeyName {
		l.Field.Name = Key
		return nil
	}
	if i := shardify.FieldIndex(n.Fields, l.Field.Name); i >= 0 {
		return &n.Fields[i]
	}
	return nil
}

// restored makes the field that was written.
func (l *Leaf) restored(s *stat, f *shardify.Field) error {
	want, elem := tfrecord.Ints, int64(f.Elem())
	switch {
	case f.Media != "":
		want = tfrecord.Bytes
	case f.DType.IsFloat():
		want = tfrecord.Floats
	}
	n, nullable := &s.lengths, l.Field.Nullable
	bad := n.min != elem || n.max != elem
	if f.Levels > 0 && (f.Media == "" || f.Levels == 2) {
		bad = elem == 0 || n.unit%elem != 0
	}
	l.Field = *f
	if l.Kind != want || bad || nullable && !f.Nullable || f.Levels > 1 && f.Media == "" || f.Ragged {
		return shardify.Corrupt(-1, "the manifest says %s in elements of %d, there are %s, %d to %d in a record", want, elem, l.Kind, n.min, n.max)
	}
	return nil
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (n *Named) of(k key) (tfrecord.Spec, bool) {
	if n == nil || k.list {
		return tfrecord.Spec{}, false
	}
	s, ok := n.Specs[k.name]
	return s, ok
}

// Has reports whether a file has a leaf's feature.
func (f *File) Has(l *Leaf) bool {
	s := f.stats[key{l.Key, l.List}]
	return s != nil && (s.kinds[l.Kind].set || s.present > 0)
}

// Of are what a leaf takes in one file: bytes, and its class.
func (f *File) Of(l *Leaf) (bytes int64, class string) {
	s := f.stats[key{l.Key, l.List}]
	if class = l.Class; class != "" {
		elem := 1
		if !l.List {
			elem = l.Field.Elem()
		}
		class = fmt.Sprintf("%s %d %x", class, s.present, s.classOf(elem))
	}
	return s.bytes(l.Kind) + 8*s.items*int64(flag(l.Field.Levels == 2)), class
}

func (s *stat) bytes(k tfrecord.Kind) int64 {
	switch k {
	case tfrecord.Floats:
		return 4 * s.items
	case tfrecord.Ints:
		return 8 * s.items
	}
	return s.size
}

// media is what values of bytes are.
func (s *stat) media(text bool) string {
	switch {
	case s.items > 0 && !s.other && len(s.exts) == 1:
		return s.exts[0]
	case s.items > 0 && !s.other:
		return "image"
	case !s.binary && text:
		return "txt"
	}
	return "bin"
}

// seen makes a field of what the records have.
func (l *Leaf) seen(s *stat, text bool) (why string) {
	f, n := &l.Field, &s.lengths
	f.DType = map[tfrecord.Kind]shardify.DType{tfrecord.Bytes: shardify.U8, tfrecord.Floats: shardify.F32, tfrecord.Ints: shardify.I64}[l.Kind]
	if l.List && !l.Step {
		return l.steps(s, text)
	}
	if l.List {
		n = &s.inner
	}
	switch {
	case l.Kind == tfrecord.Bytes:
		f.Media, f.Levels = s.media(text), 1
		if n.min != 1 || n.max != 1 {
			f.Levels = 2
		}
		if f.Media == "image" && f.Levels == 2 {
			f.Media = "bin"
		}
	case n.min != n.max || n.min == 0:
		f.Levels = 1
	case n.min > 1:
		f.Shape = []int{int(n.min)}
	}
	return ""
}

// steps makes a field of a list of features.
func (l *Leaf) steps(s *stat, text bool) (why string) {
	f, n := &l.Field, &s.inner
	l.Class = "steps"
	one := n.min == 1 && n.max == 1
	switch {
	case l.Kind == tfrecord.Bytes && !one:
		return "lists of lists of bytes"
	case l.Kind == tfrecord.Bytes:
		if f.Media, f.Levels = s.media(text), 2; f.Media == "image" {
			f.Media = "bin"
		}
	case n.min == n.max && n.min > 0:
		if f.Levels = 1; !one {
			f.Shape = []int{int(n.min)}
		}
	default:
		f.Levels = 2
	}
	return ""
}

// specified makes a field of what features.json says.
func (l *Leaf) specified(s *stat, spec tfrecord.Spec, labels []string) (why string, err error) {
	f, n := &l.Field, &s.lengths
	want := tfrecord.Ints
	switch {
	case spec.DType == shardify.Invalid || spec.Packed != "":
		want = tfrecord.Bytes
	case spec.DType.IsFloat():
		want = tfrecord.Floats
	}
	if l.Kind != want {
		return "", shardify.Mismatch("%s says %s, %s has %s", tfrecord.FeaturesName, want, s.kinds[l.Kind], l.Kind)
	}
	if len(labels) > 0 {
		f.Attrs = map[string]string{"labels": strings.Join(labels, shardify.LabelSeparator)}
	}
	if spec.DType != shardify.Invalid {
		return l.numbers(s, &spec)
	}
	if f.DType, f.Media = shardify.U8, spec.Media; spec.Media == "image" {
		if f.Media = s.media(false); f.Media == "image" && spec.Sequence {
			f.Media = "bin"
		}
	}
	f.Levels = 1
	if spec.Sequence || len(spec.Shape) > 0 {
		f.Levels = 2
	} else if n.min != 1 || n.max != 1 {
		return "", odd(n, 1)
	}
	return "", nil
}

// numbers makes a field of numbers.
func (l *Leaf) numbers(s *stat, spec *tfrecord.Spec) (why string, err error) {
	f, n := &l.Field, &s.lengths
	f.DType = spec.DType
	shape, jagged := slices.Clone(spec.Shape), spec.Sequence && spec.Length < 0
	if spec.Sequence && spec.Length >= 0 {
		shape = append([]int{spec.Length}, shape...)
	}
	if !jagged && len(shape) > 0 && shape[0] < 0 {
		shape, jagged = shape[1:], true
	}
	if slices.ContainsFunc(shape, func(d int) bool { return d < 0 }) {
		return "several dimensions of any length", nil
	}
	f.Shape = shape
	elem := int64(1)
	for _, d := range shape {
		if d > 0 && elem > math.MaxInt32/int64(d) {
			return fmt.Sprintf("elements of shape %v", shape), nil
		}
		elem *= int64(d)
	}
	if l.Packed = spec.Packed; l.Packed != "" {
		if jagged || spec.Packed != "bytes" && spec.Packed != "zlib" {
			return "an encoding " + spec.Packed + " of arrays of any length", nil
		}
		return "", nil
	}
	if jagged {
		f.Levels = 1
		if l.Class = spec.Group; elem == 0 || n.unit%elem != 0 {
			return "", odd(n, elem)
		}
		return "", nil
	}
	if n.min != elem || n.max != elem {
		return "", odd(n, elem)
	}
	return "", nil
}

// odd is the error of a record with another number of values than features.json says.
func odd(n *lengths, want int64) error {
	at := n.first
	if n.differs.set {
		return shardify.Mismatch("%s says %d values, there are %d to %d; %s and %s differ", tfrecord.FeaturesName, want, n.min, n.max, n.first, n.differs)
	}
	return shardify.Mismatch("%s says %d values, %s has %d", tfrecord.FeaturesName, want, at, n.min)
}
