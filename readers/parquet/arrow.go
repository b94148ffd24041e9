package parquet

import (
	"encoding/json"

	meta "github.com/parquet-go/parquet-go/format"

	"github.com/shardify/shardify/readers/internal/rows/coltype"
	"github.com/shardify/shardify/readers/parquet/internal/pq"
)

// hints are what a file says about its columns beyond Parquet's own schema: in the
// schema that Arrow's writers add, and in what Hugging Face's data sets add.
type hints struct {
	shapes map[*pq.Node][]int // of lists of a fixed size
	units  map[*pq.Node]string
	labels map[*pq.Node]string
}

// shape of the items of a list that is of a fixed size; nil if it varies.
func (h *hints) shape(n *pq.Node) []int { return h.shapes[n] }

// refine adds what is known of a leaf.
func (h *hints) refine(n *pq.Node, t *leafType) {
	add := func(key, value string) {
		if t.attrs == nil {
			t.attrs = map[string]string{}
		}
		t.attrs[key] = value
	}
	if u := h.units[n]; u != "" && n.Type == meta.Int64 && t.attrs == nil {
		add("time", u)
		add("delta", "true")
	}
	if l := h.labels[n]; l != "" && t.dtype.IsInt() {
		add("labels", l)
	}
}

func readHints(f *pq.File) (*hints, error) {
	h := &hints{shapes: map[*pq.Node][]int{}, units: map[*pq.Node]string{}, labels: map[*pq.Node]string{}}
	fields, err := f.Arrow()
	if err != nil {
		return nil, err
	}
	if len(fields) == len(f.Root.Children) {
		for i, n := range f.Root.Children {
			h.arrow(n, &fields[i])
		}
	}
	h.huggingFace(f)
	return h, nil
}

// arrow goes down both schemas side by side, as long as they agree.
func (h *hints) arrow(n *pq.Node, f *pq.ArrowField) {
	switch {
	case n.Leaf >= 0:
		if f.Type == pq.ArrowDuration && f.Unit >= 0 && f.Unit < 4 {
			h.units[n] = []string{"s", "ms", "us", "ns"}[f.Unit]
		}
	case (n.IsList() || n.IsMap()) && len(n.Children) == 1 && len(f.Children) == 1:
		if f.Type == pq.ArrowFixedSizeList && f.Size > 0 {
			h.shapes[n] = tensorShape(f)
		}
		if r := n.Children[0]; n.IsMap() {
			h.members(r, &f.Children[0])
		} else if len(r.Children) == 1 {
			h.arrow(r.Children[0], &f.Children[0])
		}
	default:
		h.members(n, f)
	}
}

func (h *hints) members(n *pq.Node, f *pq.ArrowField) {
	if len(n.Children) != len(f.Children) {
		return
	}
	for i, c := range n.Children {
		h.arrow(c, &f.Children[i])
	}
}

// tensorShape is the size of the list, or the shape that an extension type gives it.
func tensorShape(f *pq.ArrowField) []int {
	plain := []int{f.Size}
	if f.Meta["ARROW:extension:name"] != "arrow.fixed_shape_tensor" {
		return plain
	}
	var m struct {
		Shape       []int `json:"shape"`
		Permutation []int `json:"permutation"`
	}
	if json.Unmarshal([]byte(f.Meta["ARROW:extension:metadata"]), &m) != nil || m.Permutation != nil || len(m.Shape) == 0 {
		return plain
	}
	n := 1
	for _, d := range m.Shape {
		if d <= 0 || d > f.Size {
			return plain
		}
		if n *= d; n > f.Size {
			return plain
		}
	}
	if n != f.Size {
		return plain
	}
	return m.Shape
}

// huggingFace takes over the names of classes.
func (h *hints) huggingFace(f *pq.File) {
	names := coltype.ClassNames(f.KeyValue["huggingface"])
	for _, n := range f.Root.Children {
		if joined, ok := names[n.Name]; ok && n.Leaf >= 0 {
			h.labels[n] = joined
		}
	}
}
