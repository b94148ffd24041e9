package entries

import (
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/ttree"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

// leafWire is the wire of a leaf by its class.
func leafWire(l *ttree.Leaf) (wire.Wire, string, bool) {
	signed := map[string]shardify.DType{"TLeafB": shardify.I8, "TLeafS": shardify.I16, "TLeafI": shardify.I32, "TLeafL": shardify.I64, "TLeafG": shardify.I64}
	unsigned := map[string]shardify.DType{"TLeafB": shardify.U8, "TLeafS": shardify.U16, "TLeafI": shardify.U32, "TLeafL": shardify.U64, "TLeafG": shardify.U64}
	switch l.Class {
	case "TLeafO":
		return wire.Plain(shardify.Bool), "bool", true
	case "TLeafF":
		return wire.Plain(shardify.F32), "float", true
	case "TLeafD":
		return wire.Plain(shardify.F64), "double", true
	case "TLeafF16":
		return wire.Packed(l.Title, false), "Float16_t", true
	case "TLeafD32":
		return wire.Packed(l.Title, true), "Double32_t", true
	}
	t, ok := signed[l.Class]
	if l.IsUnsigned {
		t = unsigned[l.Class]
	}
	return wire.Plain(t), t.String(), ok
}

// leafShape is the constant dimensions in a leaf's title.
func leafShape(title string, length int) []int {
	var shape []int
	n := 1
	for rest := title; ; {
		i := strings.IndexByte(rest, '[')
		j := strings.IndexByte(rest, ']')
		if i < 0 || j < i {
			break
		}
		if d, err := strconv.Atoi(rest[i+1 : j]); err == nil && d > 0 && d <= maxRepeat/n {
			shape = append(shape, d)
			n *= d
		}
		rest = rest[j+1:]
	}
	switch {
	case n == length:
		return shape
	case length > 1:
		return []int{length}
	}
	return nil
}

// leaves interprets a plain branch.
func (r *Reading) leaves() {
	b := r.Branch
	if len(b.Leaves) == 0 {
		r.damaged("", shardify.Corrupt(-1, "branch without leaves"))
		return
	}
	fixed := true
	for _, l := range b.Leaves {
		if l.Len < 1 || l.Len > maxRepeat {
			r.damaged("", shardify.Corrupt(-1, "leaf %s of %d values", l.Name, l.Len))
			return
		}
		fixed = fixed && l.Count == nil && l.Class != "TLeafC"
	}
	switch {
	case fixed:
		r.flatLeaves()
	case len(b.Leaves) > 1:
		r.mixedLeaves()
	case b.Leaves[0].Class == "TLeafC":
		r.layout, r.bare = layoutProgram, true
		r.Columns = []Column{{DType: shardify.U8, Levels: 1, Media: "txt", Type: "char*"}}
		r.steps = []step{{op: opText, cols: []int{0}}}
	default:
		r.jaggedLeaf(b.Leaves[0])
	}
}

func (r *Reading) flatLeaves() {
	for _, l := range r.Branch.Leaves {
		w, typ, ok := leafWire(l)
		if !ok {
			r.refuse(l.Class, "leaf of class "+l.Class)
			return
		}
		c := Column{DType: w.DType, Shape: leafShape(l.Title, l.Len), Type: typ}
		if len(r.Branch.Leaves) > 1 {
			c.Name = l.Name
		}
		r.Columns = append(r.Columns, c)
		r.fields = append(r.fields, flatField{wire: w, at: r.width, per: l.Len})
		r.width += w.Size * l.Len
	}
	r.layout = layoutFlat
}

func (r *Reading) jaggedLeaf(l *ttree.Leaf) {
	w, typ, ok := leafWire(l)
	if !ok {
		r.refuse(l.Class, "leaf of class "+l.Class)
		return
	}
	r.layout = layoutJagged
	r.Columns = []Column{{DType: w.DType, Shape: leafShape(l.Title, l.Len), Levels: 1, Type: typ}}
	r.fields = []flatField{{wire: w, per: l.Len}}
	r.count = countRef{branch: l.Count.Branch, leaf: l.Count.Name}
}

// mixedLeaves interprets a leaf-list with parts of variable length.
func (r *Reading) mixedLeaves() {
	b := builder{}
	for _, l := range r.Branch.Leaves {
		if l.Class == "TLeafC" {
			r.steps = append(r.steps, b.text(opText, l.Name, 0, "char*"))
			continue
		}
		w, typ, ok := leafWire(l)
		if !ok {
			r.refuse(l.Class, "leaf of class "+l.Class)
			return
		}
		shape := leafShape(l.Title, l.Len)
		var s step
		if l.Count == nil {
			s = b.values(l.Name, w, shape, 0, typ)
			if len(shape) == 0 && w.DType.IsInt() {
				s.op, s.slot = opCount, b.slot(l.Name)
			}
		} else {
			if l.Count.Branch != r.Branch {
				r.refuse(typ, "leaf-list with a length from another branch")
				return
			}
			s = b.values(l.Name, w, shape, 1, typ)
			s.op, s.slot = opSized, b.slot(l.Count.Name)
		}
		r.steps = append(r.steps, s)
	}
	r.program(&b, r.steps)
}
