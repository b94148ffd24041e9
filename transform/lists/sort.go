package lists

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
	"github.com/shardify/shardify/transform/op"
)

// Sort orders lists by one of them.
var Sort = op.Kind{Name: "sort", Value: "NAME=[-]FIELD", Example: "Jet=-Jet_pt", Help: "order lists by one of them",
	Phase: op.AfterSplit, New: op.Of(newSort), Fields: op.FieldsOf(newSort)}

// sortLists orders the elements of each sample by one of the lists that count them, and all
// fields with it that have the same counter.
type sortLists struct {
	text   string
	target string
	parts  []string // fields that the target will be stacked of
	key    string
	down   bool
	col    int
	n      int
	group  []int // columns to order, the key's among them
	own    []int // of them, those whose lengths only the data show
	pool   sync.Pool
}

// newSort parses TARGET=[-]KEY. TARGET is a counter, one of its fields, or a field that
// is stacked of parts afterwards.
func newSort(e *op.Env, text string) (*sortLists, error) {
	target, key, ok := strings.Cut(text, "=")
	s := &sortLists{text: text, target: strings.TrimSpace(target)}
	s.parts = e.Parts[s.target]
	s.key, s.down = strings.CutPrefix(strings.TrimSpace(key), "-")
	if !ok || s.key == "" || s.target == "" {
		return nil, op.FlagError("sort", text, fmt.Errorf("want TARGET=KEY, or TARGET=-KEY for the largest first, as in --sort 'Jet=-Jet_pt'"))
	}
	return s, nil
}

func (s *sortLists) Fields() op.Fields { return op.Fields{Named: []string{s.key}} }

// Schema finds the fields to order.
func (s *sortLists) Schema(in []shardify.Field) ([]shardify.Field, error) {
	i, err := op.Lookup(in, s.key)
	if err != nil {
		return nil, op.TextError(s.text, err)
	}
	k := &in[i]
	if k.Levels != 1 || len(k.Shape) > 0 || k.Media != "" || k.Ragged {
		return nil, op.TextError(s.text, fmt.Errorf("%s is not a list of numbers to sort by", s.key))
	}
	s.col, s.n, s.group, s.own = i, len(in), []int{i}, nil
	known := s.target == s.key || op.IsCounter(k.Counter, s.target)
	for j := range in {
		f := &in[j]
		named := f.Name == s.target || slices.Contains(s.parts, f.Name)
		known = known || named
		shared := k.Counter != "" && f.Counter == k.Counter
		if j == i || !shared && !named {
			continue
		}
		if f.Levels == 0 || f.Ragged || f.Media != "" && f.Levels == 1 {
			return nil, op.TextError(s.text, fmt.Errorf("%s has no elements to sort", f.Name))
		}
		if !shared && f.Counter != "" && k.Counter != "" {
			return nil, op.TextError(s.text, fmt.Errorf("%s is counted by %s and %s by %s", s.key, k.Counter, f.Name, f.Counter))
		}
		s.group = append(s.group, j)
		s.own = append(s.own, j)
	}
	if !known {
		return nil, op.TextError(s.text, s.unknown(in, k))
	}
	return in, nil
}

func (s *sortLists) unknown(in []shardify.Field, k *shardify.Field) error {
	if _, err := op.Lookup(in, s.target); k.Counter == "" {
		return err
	}
	minus := ""
	if s.down {
		minus = "-"
	}
	return fmt.Errorf("%s is neither a field nor the counter of %s: --sort '%s=%s%s'", s.target, s.key, k.Counter, minus, s.key)
}

// Cost is a copy of the lists and their order.
func (s *sortLists) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 3} }

// Apply sorts, keeping the order of equal elements. NaN comes last.
func (s *sortLists) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, s.n); err != nil {
		return nil, err
	}
	key := &b.Columns[s.col]
	o := key.Offsets[0]
	if err := s.lengths(b, o); err != nil {
		return nil, op.FlagError("sort", s.text, err)
	}
	pairs, _ := s.pool.Get().(*[]op.Element)
	if pairs == nil {
		pairs = new([]op.Element)
	}
	defer s.pool.Put(pairs)
	*pairs = slices.Grow((*pairs)[:0], int(o[b.Samples]))[:o[b.Samples]]
	p := *pairs
	s.keys(key, p)
	moved := false
	for i := range b.Samples {
		if one := p[o[i]:o[i+1]]; !slices.IsSortedFunc(one, byKey) {
			sortPairs(one)
			moved = true
		}
	}
	if !moved {
		return b, nil
	}
	out := op.Fork(b)
	for _, c := range s.group {
		op.Reorder(&out.Columns[c], p, mem)
	}
	return out, nil
}

func byKey(a, b op.Element) int { return cmp.Compare(a.Key, b.Key) }

// sortPairs is stable: places decide between equal keys.
func sortPairs(p []op.Element) {
	if len(p) > 24 {
		slices.SortFunc(p, func(a, b op.Element) int {
			if c := cmp.Compare(a.Key, b.Key); c != 0 {
				return c
			}
			return cmp.Compare(a.At, b.At)
		})
		return
	}
	for i := 1; i < len(p); i++ {
		e := p[i]
		k := i
		for ; k > 0 && p[k-1].Key > e.Key; k-- {
			p[k] = p[k-1]
		}
		p[k] = e
	}
}

// lengths checks that fields without a common counter have equally many elements.
func (s *sortLists) lengths(b *shardify.Batch, o []int64) error {
	for _, c := range s.own {
		if err := op.SameLengths(b, s.col, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *sortLists) keys(c *shardify.Column, p []op.Element) {
	switch c.DType {
	case shardify.F32:
		for i, x := range shardify.View[float32](c.Data) {
			p[i] = op.Element{Key: floatKey(float64(x), s.down), At: int64(i)}
		}
	case shardify.F64:
		for i, x := range shardify.View[float64](c.Data) {
			p[i] = op.Element{Key: floatKey(x, s.down), At: int64(i)}
		}
	case shardify.F16, shardify.BF16:
		for i, h := range shardify.View[uint16](c.Data) {
			x := half.BF16(h)
			if c.DType == shardify.F16 {
				x = half.F16(h)
			}
			p[i] = op.Element{Key: floatKey(float64(x), s.down), At: int64(i)}
		}
	case shardify.Bool:
		for i, x := range c.Data {
			p[i] = op.Element{Key: intKey(uint64(x), s.down), At: int64(i)}
		}
	default:
		x := op.Bits(c)
		flip := uint64(1) << 63
		if c.DType == shardify.U64 {
			flip = 0
		}
		for i := range p {
			p[i] = op.Element{Key: intKey(x(i)^flip, s.down), At: int64(i)}
		}
	}
}

func intKey(x uint64, down bool) uint64 {
	if down {
		return ^x
	}
	return x
}

// floatKey puts floats in order, both zeros alike and NaN last.
func floatKey(x float64, down bool) uint64 {
	if x != x {
		return math.MaxUint64
	}
	u := math.Float64bits(x + 0) // -0 + 0 is 0
	if u>>63 != 0 {
		u = ^u
	} else {
		u |= 1 << 63
	}
	return intKey(u, down)
}
