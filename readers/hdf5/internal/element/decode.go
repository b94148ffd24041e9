package element

import (
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/internal/cf"
)

// appliedAttrs are not in a schema whose values they were applied to.
var appliedAttrs = map[string]string{"units": "unit"}

// DecodeCF finds what attributes make of the values of a data set's leaves. of are the
// attributes of the variable whose bounds the data set holds, if it is such.
func DecodeCF(f *h5.File, leaves []Leaf, list, of Attributes) error {
	if len(leaves) != 1 {
		return nil
	}
	l := &leaves[0]
	for i := range list {
		if list[i].Err != nil && slices.Contains(cf.Names, list[i].Name) {
			return list[i].Err
		}
	}
	if l.Err != nil || l.Kind != Numbers || l.Name != "" || l.Attrs != nil || !(l.Num.DType.IsInt() || l.Num.DType.IsFloat()) {
		return nil
	}
	get := func(name string) (cf.Attribute, bool) {
		a := list.Find(name)
		if a == nil && (name == "units" || name == "calendar") {
			a = of.Find(name)
		}
		if a == nil {
			return cf.Attribute{}, false
		}
		return cfAttribute(f, a)
	}
	d, err := cf.New(l.Num.DType, get)
	if d == nil || err != nil {
		return err
	}
	if l.Notes = d.Notes; !d.Plain() {
		l.CF = d
	}
	return nil
}

// cfAttribute reads an attribute of one text or a few numbers.
func cfAttribute(f *h5.File, a *h5.Attribute) (cf.Attribute, bool) {
	text := AttributeText(f, a)
	if a.Err != nil || a.Type == nil || text == "" {
		return cf.Attribute{}, false
	}
	leaves := Rules{}.Leaves(a.Type)
	if len(leaves) != 1 || leaves[0].Kind != Numbers {
		return cf.Attribute{Text: text}, true
	}
	var out cf.Attribute
	t := leaves[0].Num.DType
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

// CFAttrs makes the attributes of a field those of decoded values.
func (l *Leaf) CFAttrs(attrs map[string]string) map[string]string {
	if l.CF == nil {
		return attrs
	}
	for _, name := range l.CF.Applied {
		delete(attrs, name)
		delete(attrs, appliedAttrs[name])
	}
	if calendar, ok := l.CF.Time(); ok {
		attrs = WithAttr(attrs, "time", l.CF.Into().Name())
		if calendar != "" {
			attrs["calendar"] = calendar
		}
	}
	return attrs
}

// InUnit makes times those of the set's unit.
func (l *Leaf) InUnit(u cf.Unit) {
	if l.CF != nil && u != 0 {
		if _, ok := l.CF.Time(); ok {
			l.CF = l.CF.In(u)
		}
	}
}
