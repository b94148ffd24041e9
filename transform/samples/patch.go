package samples

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/op"
)

// Patch makes samples of parts of a grid.
var Patch = op.Kind{Name: format.PatchOp, Value: "DIM=SIZE,...[,overlap=N][,edge=drop|shift|pad][,wrap=DIM]", Example: "latitude=64,longitude=64,overlap=8", Help: "samples are patches of grids, row by row", More: "a dimension is a name or a number, 0 the first; edge says what becomes of the rest, wrap goes round; the field patch has the place",
	Phase: op.AfterSplit, New: op.Of(newPatch)}

// cutPatches makes samples of parts of a grid: each sample becomes its patches, in row-major
// order.
type cutPatches struct {
	text string
	axes []patchAxis
	pad  bool

	n      int
	starts [][]int64 // of each patch, by axis
	cuts   []patchCut
}

type patchAxis struct {
	name       string // of a dimension, or its number
	size, over int
	edge       string
	wrap       bool
}

// patchCut is a column that is cut.
type patchCut struct {
	column int
	dims   []int // by axis: the dimension of the column
	shape  []int // of the column
	field  shardify.Field
}

// How the rest behind the last whole patch is treated.
const (
	edgeDrop  = "drop"
	edgeShift = "shift"
	edgePad   = "pad"
)

// newPatch parses DIM=SIZE,...[,overlap=N][,edge=drop|shift|pad][,wrap=DIM].
func newPatch(_ *op.Env, text string) (*cutPatches, error) {
	p := &cutPatches{text: text}
	over, edge, wrap := 0, edgeDrop, ""
	bad := func(why string, args ...any) error {
		return op.FlagError("patch", text, fmt.Errorf(why+": want DIM=SIZE,...[,overlap=N][,edge=drop|shift|pad][,wrap=DIM]", args...))
	}
	for word := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(word), "=")
		n, err := strconv.Atoi(value)
		switch {
		case !ok || key == "":
			return nil, bad("%q", word)
		case key == "overlap":
			if over = n; err != nil || n < 0 {
				return nil, bad("overlap %q", value)
			}
		case key == "edge":
			if edge = value; value != edgeDrop && value != edgeShift && value != edgePad {
				return nil, bad("edge %q", value)
			}
		case key == "wrap":
			wrap = value
		case err != nil || n < 1 || n > math.MaxInt32:
			return nil, bad("%s of %q steps", key, value)
		case slices.ContainsFunc(p.axes, func(a patchAxis) bool { return a.name == key }):
			return nil, bad("%s twice", key)
		default:
			p.axes = append(p.axes, patchAxis{name: key, size: n})
		}
	}
	if len(p.axes) == 0 {
		return nil, bad("no dimension")
	}
	if wrap != "" && !slices.ContainsFunc(p.axes, func(a patchAxis) bool { return a.name == wrap }) {
		return nil, bad("wrap=%s, which is not cut", wrap)
	}
	for i := range p.axes {
		a := &p.axes[i]
		a.over, a.edge, a.wrap = over, edge, a.name == wrap
		if a.size == 1 {
			a.over = 0
		} else if a.size <= over {
			return nil, bad("an overlap of %d steps of %s=%d", over, a.name, a.size)
		}
	}
	p.pad = edge == edgePad
	return p, nil
}

// dim is the dimension of a field that is an axis, -1 if none is.
func (a *patchAxis) dim(f *shardify.Field) int {
	if f.Levels > 0 || len(f.Shape) == 0 {
		return -1
	}
	if names := f.Attrs[shardify.DimsAttr]; names != "" {
		if i := slices.Index(strings.Split(names, shardify.LabelSeparator), a.name); i >= 0 && i < len(f.Shape) {
			return i
		}
	}
	i, err := strconv.Atoi(a.name)
	if err != nil {
		return -1
	}
	if i < 0 {
		i += len(f.Shape)
	}
	if i < 0 || i >= len(f.Shape) {
		return -1
	}
	return i
}

// mostPatches is how many a sample may have.
const mostPatches = 1 << 16

var errPatches = fmt.Errorf("more than %d patches of a sample", mostPatches)

// places are where patches of an axis of n steps begin.
func (a *patchAxis) places(n int) (list []int64, err error) {
	step := a.size - a.over
	switch {
	case n/step > mostPatches:
		return nil, errPatches
	case a.wrap && a.size > n:
		return nil, fmt.Errorf("patches of %d steps go around %s, which has %d", a.size, a.name, n)
	case a.wrap:
		for at := 0; at < n; at += step {
			list = append(list, int64(at))
		}
		return list, nil
	case a.size > n && a.edge != edgePad:
		return nil, fmt.Errorf("%s has %d steps, fewer than a patch of %d; edge=pad fills it up", a.name, n, a.size)
	}
	at := 0
	for ; at+a.size <= n; at += step {
		list = append(list, int64(at))
	}
	if covered := at - step + a.size; len(list) == 0 || covered < n {
		switch a.edge {
		case edgeShift:
			list = append(list, int64(n-a.size))
		case edgePad:
			list = append(list, int64(at))
		}
	}
	return list, nil
}

// Schema finds the fields that have all of the dimensions, which must agree on their lengths.
func (p *cutPatches) Schema(in []shardify.Field) ([]shardify.Field, error) {
	p.n, p.cuts, p.starts = len(in), nil, nil
	if err := op.Free(in, format.PatchField); err != nil {
		return nil, op.TextError(p.text, err)
	}
	out := slices.Clone(in)
	var first *patchCut
	for i := range in {
		f := &in[i]
		c := patchCut{column: i, shape: f.Shape, field: *f}
		for k := range p.axes {
			d := p.axes[k].dim(f)
			if d < 0 || slices.Contains(c.dims, d) {
				break
			}
			c.dims = append(c.dims, d)
		}
		if len(c.dims) < len(p.axes) {
			continue
		}
		c.field.Shape = slices.Clone(f.Shape)
		for k, d := range c.dims {
			if first != nil && first.shape[first.dims[k]] != f.Shape[d] {
				return nil, op.TextError(p.text, fmt.Errorf("%s has %d steps of %s, %s has %d: choose fields by --columns", in[first.column].Name, first.shape[first.dims[k]], p.axes[k].name, f.Name, f.Shape[d]))
			}
			c.field.Shape[d] = p.axes[k].size
		}
		p.cuts = append(p.cuts, c)
		first, out[i] = &p.cuts[0], c.field
	}
	if first == nil {
		return nil, op.TextError(p.text, fmt.Errorf("no field has these dimensions; there are %s", dimensions(in)))
	}
	p.starts = [][]int64{nil}
	for k := range p.axes {
		places, err := p.axes[k].places(first.shape[first.dims[k]])
		if err != nil {
			return nil, op.TextError(p.text, err)
		}
		if len(places)*len(p.starts) > mostPatches {
			return nil, op.TextError(p.text, errPatches)
		}
		var next [][]int64
		for _, s := range p.starts {
			for _, at := range places {
				next = append(next, append(slices.Clip(s), at))
			}
		}
		p.starts = next
	}
	return append(out, shardify.Field{Name: format.PatchField, DType: shardify.I32, Shape: []int{len(p.axes)}}), nil
}

// dimensions are those of all fields, for people.
func dimensions(in []shardify.Field) string {
	var list []string
	for i := range in {
		if f := &in[i]; f.Levels == 0 && len(f.Shape) > 0 {
			names := strings.Split(f.Attrs[shardify.DimsAttr], shardify.LabelSeparator)
			for d, n := range f.Shape {
				name := strconv.Itoa(d)
				if len(names) == len(f.Shape) {
					name = names[d]
				}
				list = append(list, fmt.Sprintf("%s %s=%d", f.Name, name, n))
			}
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Multiplies is how many patches a sample has.
func (p *cutPatches) Multiplies() int { return len(p.starts) }

// Cost is all patches.
func (p *cutPatches) Cost(in []shardify.Field) shardify.Cost {
	all := 0.0
	for i := range p.cuts {
		c := &p.cuts[i]
		all = max(all, float64(float64(len(p.starts))*float64(max(c.field.ElemBytes(), 1)))/float64(max(in[c.column].ElemBytes(), 1)))
	}
	if p.n > len(p.cuts) { // the others are repeated
		all = max(all, float64(len(p.starts)))
	}
	return shardify.Cost{Growth: all, Sample: int64(len(p.starts) * (4*len(p.axes) + 32))}
}

// Apply cuts.
func (p *cutPatches) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, p.n); err != nil {
		return nil, err
	}
	k := len(p.starts)
	rows := shardify.View[int32](mem.Alloc(b.Samples * k * 4))
	for i := range rows {
		rows[i] = int32(i / k)
	}
	rest := *b
	rest.Columns = nil
	for i := range b.Columns {
		if !slices.ContainsFunc(p.cuts, func(c patchCut) bool { return c.column == i }) {
			rest.Columns = append(rest.Columns, b.Columns[i])
		}
	}
	out, err := rest.Take(rows, mem)
	if err != nil {
		return nil, err
	}
	out.Counts, out.Proofs = b.Counts, b.Proofs
	for i := range out.IDs {
		n := int(out.IDs[i].Copy)*k + i%k
		if n >= 1<<16 {
			return nil, op.FlagError("patch", p.text, fmt.Errorf("%d patches of copy %d of a sample: more than %d", k, out.IDs[i].Copy, 1<<16))
		}
		out.IDs[i].Copy = uint16(n)
	}
	columns := make([]shardify.Column, 0, p.n+1)
	next := 0
	for i := range b.Columns {
		if c := slices.IndexFunc(p.cuts, func(c patchCut) bool { return c.column == i }); c >= 0 {
			columns = append(columns, p.cut(&p.cuts[c], &b.Columns[i], b.Samples, mem))
		} else {
			columns = append(columns, out.Columns[next])
			next++
		}
	}
	at := shardify.Column{Field: shardify.Field{Name: format.PatchField, DType: shardify.I32, Shape: []int{len(p.axes)}}, Data: mem.Alloc(b.Samples * k * len(p.axes) * 4)}
	list := shardify.View[int32](at.Data)
	for i := range b.Samples * k {
		for a, v := range p.starts[i%k] {
			list[i*len(p.axes)+a] = int32(v)
		}
	}
	out.Columns = append(columns, at)
	return out, nil
}

// cut is a column of all patches.
func (p *cutPatches) cut(c *patchCut, from *shardify.Column, samples int, mem *shardify.Arena) shardify.Column {
	k := len(p.starts)
	out := shardify.Column{Field: c.field}
	each, whole := c.field.ElemBytes(), from.ElemBytes()
	out.Data = mem.Alloc(samples * k * each)
	if p.pad {
		clear(out.Data)
	}
	if from.Valid != nil {
		out.Valid = mem.Alloc(samples * k)
		for i := range out.Valid {
			out.Valid[i] = from.Valid[i/k]
		}
	}
	start := make([]int, len(c.shape))
	round := make([]bool, len(c.shape))
	for a, d := range c.dims {
		round[d] = p.axes[a].wrap
	}
	for j, places := range p.starts {
		for a, d := range c.dims {
			start[d] = int(places[a])
		}
		for i := range samples {
			copyBox(out.Data[(i*k+j)*each:(i*k+j+1)*each], from.Data[i*whole:(i+1)*whole], c.field.Shape, c.shape, start, round, from.DType.Size())
		}
	}
	return out
}

// copyBox copies a box that begins at start of an array, as far as it is within it; at the end of a
// periodic dimension it continues at the beginning.
func copyBox(to, from []byte, size, shape, start []int, round []bool, item int) {
	inner, outer := item, item // bytes of a step of the first dimension
	for d := 1; d < len(shape); d++ {
		inner, outer = inner*size[d], outer*shape[d]
	}
	if len(shape) == 1 {
		n := min(size[0], shape[0]-start[0])
		copy(to[:n*item], from[start[0]*item:])
		if round[0] {
			copy(to[n*item:size[0]*item], from)
		}
		return
	}
	for i := range size[0] {
		s := start[0] + i
		if s >= shape[0] {
			if !round[0] {
				return
			}
			s -= shape[0]
		}
		copyBox(to[i*inner:(i+1)*inner], from[s*outer:(s+1)*outer], size[1:], shape[1:], start[1:], round[1:], item)
	}
}
