package h5

import (
	"encoding/json"
	"fmt"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

func (c *corpusCheck) attributes(path string, o *Object, want *expectedObject) {
	unnamed := 0
	for n := range want.Attrs {
		if strings.HasPrefix(n, "?") {
			unnamed++
		}
	}
	attrs, err := o.Attributes()
	if err != nil && unnamed == 0 {
		c.errorf("attributes: %v", err)
	}
	got := map[string]Attribute{}
	for _, a := range attrs {
		got[a.Name] = a
	}
	if len(got) != len(want.Attrs) && unnamed == 0 {
		c.errorf("%s: attributes %v, want %d", path, slices.Sorted(maps.Keys(got)), len(want.Attrs))
	}
	heap := heap.New(c.f.File, 0)
	for name, w := range want.Attrs {
		if strings.HasPrefix(name, "?") { // the oracle could not read it at all
			c.counts["attributes without a name"]++
			continue
		}
		a, ok := got[name]
		if !ok {
			c.errorf("%s: no attribute %q", path, name)
			continue
		}
		if w.Error != "" {
			c.counts["attributes with an oracle error"]++
			if a.Err != nil {
				c.counts["attributes with an oracle error that we refuse"]++
			}
			continue
		}
		if a.Err != nil {
			c.errorf("%s: attribute %q: %v", path, name, a.Err)
			continue
		}
		c.counts["attributes compared"]++
		if !sameType(a.Type, w.Type) || !sameShape(&a.Space, w.Shape) {
			c.errorf("%s: attribute %q: type %v %v, want %v %v", path, name, typeJSON(a.Type), a.Space, w.Type, w.Shape)
		}
		c.value(path+" "+name, heap, &a, w.Value)
	}
}

// value compares numbers and strings.
func (c *corpusCheck) value(what string, heap *heap.Heap, a *Attribute, want any) {
	list, ok := want.([]any)
	if !ok {
		list = []any{want}
	}
	n := int(a.Space.Elements())
	if len(list) > n {
		return
	}
	for i, w := range list {
		e := a.Data[i*a.Type.Size : (i+1)*a.Type.Size]
		switch w := w.(type) {
		case json.Number:
			if a.Type.Plain() && a.Type.Class != datatype.BitField {
				if g := number(a.Type, e); g != jsonNumber(w) {
					c.errorf("%s: %v, want %v", what, g, w)
				}
				c.counts["attribute numbers equal"]++
			}
		case string:
			var s string
			switch {
			case a.Type.Class == datatype.String:
				s = text(a.Type, e)
			case a.Type.Class == datatype.VarLen && a.Type.VarString:
				b, err := heap.View(e, 1)
				if err != nil {
					c.errorf("%s: %v", what, err)
				}
				s = meta.UntilNUL(b)
			default:
				continue
			}
			if strings.ToValidUTF8(s, "") == s && s != w && !strings.ContainsRune(w, 0xfffd) && !strings.Contains(w, `\x`) {
				c.errorf("%s: %q, want %q", what, s, w)
			}
			c.counts["attribute strings equal"]++
		}
	}
}

func text(t *datatype.Type, e []byte) string {
	switch t.Padding {
	case datatype.NulTerminated:
		return meta.UntilNUL(e)
	case datatype.NulPadded:
		return strings.TrimRight(string(e), "\x00")
	}
	return strings.TrimRight(string(e), " ")
}

// number widens a plain number.
func number(t *datatype.Type, e []byte) float64 {
	b := slices.Clone(e)
	if t.Order == datatype.BigEndian {
		slices.Reverse(b)
	}
	u := meta.Uint(b)
	if t.Class == datatype.Float {
		switch {
		case t.Size == 8:
			return math.Float64frombits(u)
		case t.Size == 4:
			return float64(math.Float32frombits(uint32(u)))
		case t.Float.ExpSize == 8:
			return float64(math.Float32frombits(uint32(u) << 16))
		}
		s, x, m := u>>15, int(u>>10&31), float64(u&1023)
		v := math.Ldexp(1+m/1024, x-15)
		if x == 0 {
			v = math.Ldexp(m/1024, -14)
		}
		if s == 1 {
			v = -v
		}
		return v
	}
	if t.Signed {
		shift := 64 - 8*t.Size
		return float64(int64(u<<shift) >> shift)
	}
	return float64(u)
}

func jsonNumber(n json.Number) float64 {
	v, _ := n.Float64()
	return v
}

func sameShape(s *datatype.Space, want []int64) bool {
	if want == nil {
		return s.Kind == datatype.Null
	}
	return s.Kind != datatype.Null && slices.Equal(s.Dims, want)
}

// typeJSON writes a type as the oracle does.
func typeJSON(t *datatype.Type) any {
	order := map[datatype.Order]string{datatype.LittleEndian: "<", datatype.BigEndian: ">", datatype.VAX: "vax"}[t.Order]
	charset := func() int {
		if t.UTF8 {
			return 1
		}
		return 0
	}
	switch t.Class {
	case datatype.Integer:
		s := fmt.Sprintf("%su%d", order, t.Size)
		if t.Signed {
			s = fmt.Sprintf("%si%d", order, t.Size)
		}
		if t.Precision != 8*t.Size || t.BitOffset != 0 {
			s += fmt.Sprintf(":prec%d@%d", t.Precision, t.BitOffset)
		}
		return s
	case datatype.Float:
		g := t.Float
		return fmt.Sprintf("%sf%d fields(%d, %d, %d, %d, %d) ebias%d", order, t.Size, g.SignPos, g.ExpPos, g.ExpSize, g.ManPos, g.ManSize, g.Bias)
	case datatype.BitField:
		return fmt.Sprintf("bitfield%d", t.Size)
	case datatype.String:
		return fmt.Sprintf("str%d cset%d pad%d", t.Size, charset(), t.Padding)
	case datatype.Opaque:
		return fmt.Sprintf("opaque%d tag=b'%s'", t.Size, t.Tag)
	case datatype.Reference:
		return fmt.Sprintf("ref%d", t.Size)
	case datatype.VarLen:
		if t.VarString {
			return fmt.Sprintf("vlen-str cset%d pad%d", charset(), t.Padding)
		}
		return map[string]any{"vlen": typeJSON(t.Base)}
	case datatype.Enum:
		values := map[string]any{}
		for i, n := range t.Names {
			values[n] = number(t.Base, t.Values[i*t.Size:(i+1)*t.Size])
		}
		return map[string]any{"enum": typeJSON(t.Base), "values": values}
	case datatype.Array:
		dims := make([]any, len(t.Dims))
		for i, d := range t.Dims {
			dims[i] = float64(d)
		}
		return map[string]any{"array": dims, "of": typeJSON(t.Base)}
	case datatype.Time:
		return fmt.Sprintf("time%d", t.Size)
	case datatype.Compound:
		members := make([]any, len(t.Members))
		for i, m := range t.Members {
			members[i] = []any{m.Name, float64(m.Offset), typeJSON(m.Type)}
		}
		return map[string]any{"compound": float64(t.Size), "members": members}
	}
	return fmt.Sprintf("class%d size%d", t.Class, t.Size)
}

// sameType compares a type with its JSON. The oracle shows compounds with variable-length
// members as in memory, with other offsets.
func sameType(t *datatype.Type, want any) bool {
	got, want := typeJSON(t), plainJSON(want)
	if t.HasVarLen() {
		withoutOffsets(got)
		withoutOffsets(want)
	}
	return reflect.DeepEqual(got, want)
}

func withoutOffsets(v any) {
	switch v := v.(type) {
	case map[string]any:
		if m, ok := v["members"].([]any); ok {
			v["compound"] = 0
			for _, x := range m {
				x.([]any)[1] = 0
			}
		}
		for _, x := range v {
			withoutOffsets(x)
		}
	case []any:
		for _, x := range v {
			withoutOffsets(x)
		}
	}
}

func plainJSON(v any) any {
	switch v := v.(type) {
	case json.Number:
		return jsonNumber(v)
	case []any:
		for i := range v {
			v[i] = plainJSON(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plainJSON(v[k])
		}
	}
	return v
}
