package hdf5

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/cf"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
)

// The values of a plain data set of numbers are what its attributes make of them, as for
// xarray: package cf knows how. Each file is decoded by its own attributes.

// appliedAttrs do not stand in a schema whose values they were applied to.
var appliedAttrs = map[string]string{"units": "unit"}

// decodeCF finds what attributes make of the values of a data set's leaves. of are the
// attributes of the variable whose bounds the data set holds, if it is such.
func decodeCF(f *h5.File, leaves []leaf, list, of attributes) error {
	if len(leaves) != 1 {
		return nil
	}
	l := &leaves[0]
	for i := range list {
		if list[i].Err != nil && slices.Contains(cf.Names, list[i].Name) {
			return list[i].Err
		}
	}
	if l.err != nil || l.kind != numbers || l.name != "" || l.attrs != nil || !(l.num.DType.IsInt() || l.num.DType.IsFloat()) {
		return nil
	}
	get := func(name string) (cf.Attribute, bool) {
		a := list.find(name)
		if a == nil && (name == "units" || name == "calendar") {
			a = of.find(name)
		}
		if a == nil {
			return cf.Attribute{}, false
		}
		return cfAttribute(f, a)
	}
	d, err := cf.New(l.num.DType, get)
	if d == nil || err != nil {
		return err
	}
	if l.notes = d.Notes; !d.Plain() {
		l.cf = d
	}
	return nil
}

// cfAttribute reads an attribute of one text or a few numbers.
func cfAttribute(f *h5.File, a *h5.Attribute) (cf.Attribute, bool) {
	text := attrText(f, a)
	if a.Err != nil || a.Type == nil || text == "" {
		return cf.Attribute{}, false
	}
	leaves := typeRules{}.leaves(a.Type)
	if len(leaves) != 1 || leaves[0].kind != numbers {
		return cf.Attribute{Text: text}, true
	}
	var out cf.Attribute
	t := leaves[0].num.DType
	for _, s := range strings.Fields(text) {
		v := cf.Value{DType: t}
		var err error
		switch {
		case t.IsFloat():
			v.Float, err = strconv.ParseFloat(s, 8*t.Size())
		case t >= shardify.U8:
			var u uint64
			u, err = strconv.ParseUint(s, 10, 64)
			v.Int, v.Float = int64(u), float64(u)
		default:
			v.Int, err = strconv.ParseInt(s, 10, 64)
			v.Float = float64(v.Int)
		}
		if err != nil {
			return cf.Attribute{}, false
		}
		out.Numbers = append(out.Numbers, v)
	}
	return out, true
}

// cfAttrs makes the attributes of a field those of decoded values.
func (l *leaf) cfAttrs(attrs map[string]string) map[string]string {
	if l.cf == nil {
		return attrs
	}
	for _, name := range l.cf.Applied {
		delete(attrs, name)
		delete(attrs, appliedAttrs[name])
	}
	if calendar, ok := l.cf.Time(); ok {
		if attrs == nil {
			attrs = map[string]string{}
		}
		attrs["time"] = l.cf.Into().Name()
		if calendar != "" {
			attrs["calendar"] = calendar
		}
	}
	return attrs
}

// withFlags adds the names that CF's flag_values have, as an enum.
func withFlags(f *h5.File, o *h5.Object, attrs map[string]string) map[string]string {
	l, err := o.Attributes()
	list := attributes(l)
	if err != nil || attrs["enum"] != "" || attrs["labels"] != "" {
		return attrs
	}
	values, names := strings.Fields(list.text(f, "flag_values")), strings.Fields(list.text(f, "flag_meanings"))
	if len(values) == 0 || len(values) != len(names) || list.find("flag_masks") != nil {
		return attrs
	}
	pairs := make([]string, len(names))
	for i := range names {
		pairs[i] = names[i] + "=" + values[i]
	}
	if attrs == nil {
		attrs = map[string]string{}
	}
	attrs["enum"] = strings.Join(pairs, "\n")
	return attrs
}

// bounds connects the data sets that hold bounds of others, which have the units of
// those, and decodes them.
func (t *tree) bounds() {
	if len(t.bounded) == 0 {
		return
	}
	for i := range t.objects {
		o := &t.objects[i]
		parent := t.bounded[o.path]
		if parent == "" || len(o.wanted) != 1 || o.wanted[0].leaf.cf != nil {
			continue
		}
		a, err := t.file.array(o.path)
		if err != nil {
			continue
		}
		leaves := []leaf{o.wanted[0].leaf}
		if a.decodeLeaves(leaves, parent) == nil && leaves[0].cf != nil {
			o.wanted[0].leaf, o.of = leaves[0], parent
		}
	}
}

// decodeLeaves reads the attributes of an array's data set, and of the one whose bounds
// it holds.
func (a *dataset) decodeLeaves(leaves []leaf, parent string) error {
	f := a.File.H5
	o, err := f.Object(a.Set.Addr, a.Path)
	if err != nil {
		return err
	}
	list, err := o.Attributes()
	if err != nil {
		return err
	}
	var of attributes
	if parent != "" {
		found, err := f.Lookup(parent)
		if err != nil {
			return err
		}
		if o, err = f.Object(found.Addr, parent); err != nil {
			return err
		}
		if of, err = o.Attributes(); err != nil {
			return err
		}
	}
	return decodeCF(f, leaves, list, of)
}

// boundedBy notes that a data set has its bounds in another one beside it.
func (t *tree) boundedBy(list attributes, p string) {
	name := list.text(t.file.H5, "bounds")
	if name == "" || strings.ContainsAny(name, "/ ") {
		return
	}
	if t.bounded == nil {
		t.bounded = map[string]string{}
	}
	t.bounded[path.Join(path.Dir(p), name)] = p
}

// maxTimes bounds the bytes that are read to see whether times are whole seconds.
const maxTimes = 1 << 20

// times finds the unit that the times of a set are counted in: by the file that decides
// what the samples are, so that all have one.
func (t *tree) times(ctx context.Context, c *choice) map[string]cf.Unit {
	out := map[string]cf.Unit{}
	if c.mode == byGroup {
		return out
	}
	for i := range t.objects {
		o := &t.objects[i]
		if len(o.wanted) != 1 || o.wanted[0].leaf.cf == nil {
			continue
		}
		l := &o.wanted[0].leaf
		if _, ok := l.cf.Time(); !ok {
			continue
		}
		out[o.path] = l.cf.Into()
		if l.cf.Into() != cf.Seconds && t.wholeSeconds(ctx, o, l) {
			out[o.path] = cf.Seconds
		}
	}
	return out
}

// wholeSeconds reads the values of a data set, if they are few.
func (t *tree) wholeSeconds(ctx context.Context, o *object, l *leaf) bool {
	a, err := t.file.array(o.path)
	if err != nil || a.Rows*a.RowBytes > maxTimes || a.Rows == 0 {
		return false
	}
	raw := make([]byte, a.Rows*a.RowBytes)
	if err := a.Read(ctx, new(array.Buffers), raw, 0, a.Rows); err != nil {
		return false // whoever reads it again will say why
	}
	size := l.num.DType.Size()
	codes := make([]byte, int(a.Rows*a.RowElems)*size*l.at.Values())
	l.at.Gather(codes, raw, int(a.Rows*a.RowElems), int(a.Elem), size, l.convert)
	return l.cf.Whole(codes)
}

// inUnit makes times those of the set's unit.
func (l *leaf) inUnit(u cf.Unit) {
	if l.cf != nil && u != 0 {
		if _, ok := l.cf.Time(); ok {
			l.cf = l.cf.In(u)
		}
	}
}

// decodeBlock is how many bytes of codes are decoded at once: they stay in the cache.
const decodeBlock = 32 << 10

// decoded converts n elements from raw by way of a block of codes.
func (s *stretch) decoded(w *work, l *leaf, dst, raw []byte, n int) error {
	from, to, values := l.num.DType.Size(), l.cf.To.Size(), l.at.Values()
	each := max(decodeBlock/max(from*values, 1), 1)
	if len(w.codes) < min(each, n)*from*values {
		w.codes = shardify.Bytes(make([]uint64, (min(each, n)*from*values+7)/8))
	}
	for n > 0 {
		k := min(n, each)
		codes := w.codes[:k*values*from]
		l.at.Gather(codes, raw, k, int(s.a.Elem), from, l.convert)
		if err := l.cf.Decode(dst[:k*values*to], codes); err != nil {
			return err
		}
		dst, raw, n = dst[k*values*to:], raw[k*int(s.a.Elem):], n-k
	}
	return nil
}
