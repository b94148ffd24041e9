package arrow

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/flatbuf"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// The numbers of types in a schema.
const (
	tNull = iota + 1
	tInt
	tFloat
	tBinary
	tUtf8
	tBool
	tDecimal
	tDate
	tTime
	tTimestamp
	tInterval
	tList
	tStruct
	tUnion
	tFixedBinary
	tFixedList
	tMap
	tDuration
	tLargeBinary
	tLargeUtf8
	tLargeList
	tRunEnd
	tBinaryView
	tUtf8View
	tListView
	tLargeListView
)

// field is a field of a schema.
type field struct {
	name     string
	kind     byte
	bits     int  // of ints, floats, decimals, times of day
	signed   bool // ints
	unit     int  // of times
	zone     string
	size     int // of fixed lists and bytes
	digits   int // of decimals
	scale    int
	union    int // its mode: 0 has no offsets
	dict     *dictionary
	children []field
}

// dictionary says that a field holds places in one.
type dictionary struct {
	id    int64
	index field
}

const maxDepth = 32

// parseFields reads the fields in a slot of a table.
func parseFields(r *flatbuf.Buf, table, slot, depth int) (all []field) {
	if depth > maxDepth {
		r.Bad = true
	}
	for _, t := range r.List(table, slot) {
		if r.Bad {
			return nil
		}
		f := field{name: r.Text(t, 0)}
		if at := r.Slot(t, 2); at > 0 {
			f.kind = r.U8(at)
		}
		if typ := r.Ref(t, 3); typ > 0 {
			f.parameters(r, typ)
		}
		if d := r.Ref(t, 4); d > 0 {
			f.dict = &dictionary{index: field{kind: tInt, bits: 32, signed: true}}
			if at := r.Slot(d, 0); at > 0 {
				f.dict.id = r.I64(at)
			}
			if typ := r.Ref(d, 1); typ > 0 {
				f.dict.index.parameters(r, typ)
			}
		}
		f.children = parseFields(r, t, 5, depth+1)
		all = append(all, f)
	}
	return all
}

func (f *field) parameters(r *flatbuf.Buf, typ int) {
	i32 := func(slot, otherwise int) int {
		if at := r.Slot(typ, slot); at > 0 {
			return r.I32(at)
		}
		return otherwise
	}
	i16 := func(slot, otherwise int) int {
		if at := r.Slot(typ, slot); at > 0 {
			return r.U16(at)
		}
		return otherwise
	}
	switch f.kind {
	case tInt:
		at := r.Slot(typ, 1)
		f.bits, f.signed = i32(0, 0), at > 0 && r.U8(at) != 0
	case tFloat:
		f.bits = []int{16, 32, 64, 0}[min(i16(0, 0), 3)]
	case tDecimal:
		f.digits, f.scale, f.bits = i32(0, 0), i32(1, 0), i32(2, 128)
	case tDate, tDuration:
		f.unit = i16(0, 1)
	case tTime:
		f.unit, f.bits = i16(0, 1), i32(1, 32)
	case tTimestamp:
		f.unit, f.zone = i16(0, 0), r.Text(typ, 1)
	case tFixedBinary, tFixedList:
		f.size = i32(0, 0)
	case tUnion:
		f.union = i16(0, 0)
	}
}

// form is how the values of a leaf are stored.
type form uint8

const (
	fixedForm form = iota
	boolForm
	dateForm    // 4 bytes to 8
	decimalForm // 4 to 32 bytes to 8
	textForm    // offsets of 4 bytes
	largeForm   // of 8
	viewForm
	decimalTextForm // 4 to 32 bytes to text
)

// leaf is a field of ours.
type leaf struct {
	name  string // in the file
	field shardify.Field
	form  form
	width int // bytes in the file
	elem  int // values of an element: of fixed lists
	lists int
	path  []int    // down the children
	chain []*field // the fields on the path, the column first
}

// last is the field that has the values.
func (l *leaf) last() *field { return l.chain[len(l.chain)-1] }

// units of times.
var units = []string{"s", "ms", "us", "ns"}

var errVoid = shardify.Unsupported("it holds nothing but missing values")

// value is how values of a type are stored, and what they become.
func (f *field) value(l *leaf) error {
	x := &l.field
	if f.unit >= len(units) {
		return shardify.Corrupt(-1, "unit %d of a time", f.unit)
	}
	l.form = fixedForm
	switch f.kind {
	case tNull:
		return errVoid
	case tInt:
		i := slices.Index([]int{8, 16, 32, 64}, f.bits)
		if i < 0 {
			return shardify.Corrupt(-1, "an integer of %d bits", f.bits)
		}
		x.DType = shardify.U8 + shardify.DType(i)
		if f.signed {
			x.DType = shardify.I8 + shardify.DType(i)
		}
		l.width = f.bits / 8
	case tFloat:
		l.width = f.bits / 8
		x.DType = map[int]shardify.DType{16: shardify.F16, 32: shardify.F32, 64: shardify.F64}[f.bits]
		if x.DType == shardify.Invalid {
			return shardify.Corrupt(-1, "a float of no known size")
		}
	case tBool:
		l.form, x.DType = boolForm, shardify.Bool
	case tUtf8, tBinary, tLargeUtf8, tLargeBinary, tUtf8View, tBinaryView:
		l.form = map[byte]form{tUtf8: textForm, tBinary: textForm, tLargeUtf8: largeForm, tLargeBinary: largeForm, tUtf8View: viewForm, tBinaryView: viewForm}[f.kind]
		x.DType, x.Media = shardify.U8, "bin"
		if f.kind == tUtf8 || f.kind == tLargeUtf8 || f.kind == tUtf8View {
			x.Media = "txt"
		}
	case tFixedBinary:
		if f.size < 0 {
			return shardify.Corrupt(-1, "values of %d bytes", f.size)
		}
		if f.size == 0 || f.size > 1<<20 {
			return shardify.Unsupported("values of %d bytes", f.size)
		}
		x.DType, x.Shape, l.width = shardify.U8, []int{f.size}, f.size
	case tDate, tTime, tTimestamp, tDuration:
		return f.time(l)
	case tDecimal:
		if f.digits < 1 || f.digits > 76 || !slices.Contains([]int{32, 64, 128, 256}, f.bits) {
			return shardify.Corrupt(-1, "a decimal of %d digits in %d bits", f.digits, f.bits)
		}
		if err := coltype.Decimal(x, f.digits, f.scale); err != nil {
			return err
		}
		if l.form, l.width = decimalForm, f.bits/8; x.Media != "" {
			l.form = decimalTextForm
		}
	default:
		name, ok := map[byte]string{tInterval: "interval", tUnion: "union", tRunEnd: "run-end encoded", tListView: "list view", tLargeListView: "large list view"}[f.kind]
		if !ok {
			return shardify.Corrupt(-1, "a type of number %d", f.kind)
		}
		return shardify.Unsupported("type %s", name)
	}
	return nil
}

// time is how dates, times and durations are stored, and what they become.
func (f *field) time(l *leaf) error {
	x := &l.field
	x.DType, l.width = shardify.I64, 8
	if x.Attrs == nil {
		x.Attrs = map[string]string{}
	}
	switch f.kind {
	case tDate:
		if x.Attrs["time"] = "ms"; f.unit == 0 {
			l.form, l.width = dateForm, 4
			x.Attrs["time"] = "D"
		}
	case tTime:
		if f.bits == 32 {
			l.form = dateForm
		} else if f.bits != 64 {
			return shardify.Corrupt(-1, "a time of %d bits", f.bits)
		}
		l.width = f.bits / 8
		x.Attrs["unit"] = units[f.unit]
	default:
		if x.Attrs["time"] = units[f.unit]; f.kind == tDuration {
			x.Attrs["delta"] = "true"
		}
		if f.zone != "" {
			x.Attrs["timezone"] = f.zone
		}
	}
	return nil
}

// fields is what a schema becomes.
type fields struct {
	leaves []leaf
	left   []format.Leftover
	void   []string
	// of files of shardify: what the bytes of columns are; nil for others
	media map[string]string
}

// What files of shardify have in their metadata, and their column with the names of samples.
const (
	ownKey  = "shardify"
	keyName = "__key__"
)

// own is what a file of shardify says.
func (f *file) own() map[string]string {
	text, ok := f.meta[ownKey]
	media := map[string]string{}
	if !ok || json.Unmarshal([]byte(text), &media) != nil {
		return nil
	}
	for name, m := range media {
		if len(m) == 0 || len(m) > 8 || m == "image" || strings.Trim(m, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			delete(media, name)
		}
	}
	return media
}

// walk goes down to the leaves.
func (x *fields) walk(f *field, name string, at leaf, shaped bool) {
	at.chain = append(slices.Clone(at.chain), f)
	if f.dict == nil {
		list := f.kind == tList || f.kind == tLargeList || f.kind == tMap
		if (list || f.kind == tFixedList) && len(f.children) != 1 {
			x.leave(name, shardify.Corrupt(-1, "a list of %d types", len(f.children)))
			return
		}
		from := at.path
		switch {
		case f.kind == tStruct && !shaped && x.media != nil && len(f.children) == 2 && f.children[0].name == "bytes" && f.children[1].name == "path":
			at.path = append(slices.Clone(from), 0) // an image in the form of Hugging Face; no path was written
			x.walk(&f.children[0], name, at, false)
			return
		case f.kind == tStruct && shaped:
			x.leave(name, shardify.Unsupported("structs in a list of a fixed size"))
			return
		case list && (shaped || at.lists == 2):
			x.leave(name, shardify.Unsupported("lists in lists in lists, or in one of a fixed size"))
			return
		case list:
			if at.lists++; at.field.Counter == "" {
				at.field.Counter = name
			}
			at.path = append(slices.Clone(from), 0)
			x.walk(&f.children[0], name, at, false)
			return
		case f.kind == tStruct:
			for i := range f.children {
				at.path = append(slices.Clone(from), i)
				x.walk(&f.children[i], name+"."+f.children[i].name, at, false)
			}
			return
		case f.kind == tFixedList:
			if f.size < 0 {
				x.leave(name, shardify.Corrupt(-1, "lists of %d values", f.size))
				return
			}
			if f.size == 0 || f.size > 1<<24 || at.elem > 1<<24/f.size {
				x.leave(name, shardify.Unsupported("lists of %d values", f.size))
				return
			}
			at.elem *= f.size
			at.field.Shape = append(slices.Clone(at.field.Shape), f.size)
			at.path = append(slices.Clone(from), 0)
			x.walk(&f.children[0], name, at, true)
			return
		}
	}
	x.value(f, name, at, shaped)
}

// value adds a leaf.
func (x *fields) value(f *field, name string, at leaf, shaped bool) {
	shape := at.field.Shape
	at.field.Shape = nil
	if f.dict != nil && !slices.Contains([]int{8, 16, 32, 64}, f.dict.index.bits) {
		x.leave(name, shardify.Corrupt(-1, "places of %d bits in a dictionary", f.dict.index.bits))
		return
	}
	if err := f.value(&at); err == errVoid {
		x.void = append(x.void, format.PlainName(name))
		return
	} else if err != nil {
		x.leave(name, err)
		return
	}
	at.field.Shape = append(slices.Clone(shape), at.field.Shape...)
	levels := at.lists
	if at.form >= textForm {
		levels++
	}
	if levels > 2 || at.form >= textForm && shaped {
		x.leave(name, shardify.Unsupported("text in lists in lists, or in one of a fixed size"))
		return
	}
	if m := x.media[at.chain[0].name]; m != "" && at.form >= textForm {
		at.field.Media = m
	}
	at.name, at.field.Name, at.field.Levels, at.field.Nullable = name, format.PlainName(name), levels, true
	if at.field.Counter = format.PlainName(at.field.Counter); at.field.Counter == at.field.Name || at.lists == 0 {
		at.field.Counter = ""
	}
	x.leaves = append(x.leaves, at)
}

// leave is for what is not read: rows takes a type that cannot be for damage.
func (x *fields) leave(name string, err error) {
	x.left = append(x.left, format.Unread(format.PlainName(name), err))
}

// labels takes over the names of classes of Hugging Face's data sets.
func (x *fields) labels(metadata string) {
	names := coltype.ClassNames(metadata)
	for i := range x.leaves {
		l := &x.leaves[i]
		joined, ok := names[l.chain[0].name]
		if !ok || len(l.chain) > 1 || !l.field.DType.IsInt() {
			continue
		}
		if l.field.Attrs == nil {
			l.field.Attrs = map[string]string{}
		}
		l.field.Attrs["labels"] = joined
	}
}

// choose makes the wanted fields of a schema.
func (f *file) choose(want func(name string) bool) (x fields) {
	all := fields{media: f.own()}
	for i := range f.fields {
		c := &f.fields[i]
		name := c.name
		if name == keyName && all.media != nil {
			name = "key"
		}
		all.walk(c, name, leaf{path: []int{i}, elem: 1}, false)
	}
	all.labels(f.meta["huggingface"])
	for _, l := range all.leaves {
		if want(l.name) {
			x.leaves = append(x.leaves, l)
		}
	}
	for _, l := range all.left {
		if want(l.Name) {
			x.left = append(x.left, l)
		}
	}
	for _, n := range all.void {
		if want(n) {
			x.void = append(x.void, n)
		}
	}
	return x
}

// describe says what inspect prints about a file.
func (f *file) describe() []string {
	return []string{fmt.Sprintf("%d batches of about %d rows", len(f.batches), f.rows/int64(max(len(f.batches), 1)))}
}
