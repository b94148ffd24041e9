package transform

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/numbers/half"
)

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
func newSort(text string, parts []string) (*sortLists, error) {
	target, key, ok := strings.Cut(text, "=")
	s := &sortLists{text: text, target: strings.TrimSpace(target), parts: parts}
	s.key, s.down = strings.CutPrefix(strings.TrimSpace(key), "-")
	if !ok || s.key == "" || s.target == "" {
		return nil, said("sort", text, fmt.Errorf("want TARGET=KEY, or TARGET=-KEY for the largest first, as in --sort 'Jet=-Jet_pt'"))
	}
	return s, nil
}

func (s *sortLists) fields() fields { return fields{named: []string{s.key}} }

// Schema finds the fields to order.
func (s *sortLists) Schema(in []shardify.Field) ([]shardify.Field, error) {
	i, err := lookup(in, s.key)
	if err != nil {
		return nil, within(s.text, err)
	}
	k := &in[i]
	if k.Levels != 1 || len(k.Shape) > 0 || k.Media != "" || k.Ragged {
		return nil, within(s.text, fmt.Errorf("%s is not a list of numbers to sort by", s.key))
	}
	s.col, s.n, s.group, s.own = i, len(in), []int{i}, nil
	known := s.target == s.key || counts(k.Counter, s.target)
	for j := range in {
		f := &in[j]
		named := f.Name == s.target || slices.Contains(s.parts, f.Name)
		known = known || named
		shared := k.Counter != "" && f.Counter == k.Counter
		if j == i || !shared && !named {
			continue
		}
		if f.Levels == 0 || f.Ragged || f.Media != "" && f.Levels == 1 {
			return nil, within(s.text, fmt.Errorf("%s has no elements to sort", f.Name))
		}
		if !shared && f.Counter != "" && k.Counter != "" {
			return nil, within(s.text, fmt.Errorf("%s is counted by %s and %s by %s", s.key, k.Counter, f.Name, f.Counter))
		}
		s.group = append(s.group, j)
		s.own = append(s.own, j)
	}
	if !known {
		return nil, within(s.text, s.unknown(in, k))
	}
	return in, nil
}

func (s *sortLists) unknown(in []shardify.Field, k *shardify.Field) error {
	if _, err := lookup(in, s.target); k.Counter == "" {
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

// pair is an element: its key in an order that unsigned numbers have, and its place.
type pair struct {
	key uint64
	at  int64
}

// Apply sorts, keeping the order of equal elements. NaN comes last.
func (s *sortLists) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := match(b, s.n); err != nil {
		return nil, err
	}
	key := &b.Columns[s.col]
	o := key.Offsets[0]
	if err := s.lengths(b, o); err != nil {
		return nil, said("sort", s.text, err)
	}
	pairs, _ := s.pool.Get().(*[]pair)
	if pairs == nil {
		pairs = new([]pair)
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
	out := fork(b)
	for _, c := range s.group {
		reorder(&out.Columns[c], p, mem)
	}
	return out, nil
}

func byKey(a, b pair) int { return cmp.Compare(a.key, b.key) }

// sortPairs is stable: places decide between equal keys.
func sortPairs(p []pair) {
	if len(p) > 24 {
		slices.SortFunc(p, func(a, b pair) int {
			if c := cmp.Compare(a.key, b.key); c != 0 {
				return c
			}
			return cmp.Compare(a.at, b.at)
		})
		return
	}
	for i := 1; i < len(p); i++ {
		e := p[i]
		k := i
		for ; k > 0 && p[k-1].key > e.key; k-- {
			p[k] = p[k-1]
		}
		p[k] = e
	}
}

// lengths checks that fields without a common counter have equally many elements.
func (s *sortLists) lengths(b *shardify.Batch, o []int64) error {
	for _, c := range s.own {
		if err := sameLengths(b, s.col, c); err != nil {
			return err
		}
	}
	return nil
}

// sameLengths compares the lists of two columns.
func sameLengths(b *shardify.Batch, x, y int) error {
	p, q := b.Columns[x].Offsets[0], b.Columns[y].Offsets[0]
	if &p[0] == &q[0] {
		return nil
	}
	for i := range b.Samples {
		if p[i+1]-p[i] != q[i+1]-q[i] {
			return atSample(shardify.Mismatch("%s has %d elements, %s has %d", b.Columns[x].Name, p[i+1]-p[i], b.Columns[y].Name, q[i+1]-q[i]), b, i)
		}
	}
	return nil
}

func (s *sortLists) keys(c *shardify.Column, p []pair) {
	switch c.DType {
	case shardify.F32:
		for i, x := range shardify.View[float32](c.Data) {
			p[i] = pair{floatKey(float64(x), s.down), int64(i)}
		}
	case shardify.F64:
		for i, x := range shardify.View[float64](c.Data) {
			p[i] = pair{floatKey(x, s.down), int64(i)}
		}
	case shardify.F16, shardify.BF16:
		for i, h := range shardify.View[uint16](c.Data) {
			x := half.BF16(h)
			if c.DType == shardify.F16 {
				x = half.F16(h)
			}
			p[i] = pair{floatKey(float64(x), s.down), int64(i)}
		}
	case shardify.Bool:
		for i, x := range c.Data {
			p[i] = pair{intKey(uint64(x), s.down), int64(i)}
		}
	default:
		x := bitsOf(c)
		flip := uint64(1) << 63
		if c.DType == shardify.U64 {
			flip = 0
		}
		for i := range p {
			p[i] = pair{intKey(x(i)^flip, s.down), int64(i)}
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

// reorder makes a column of the elements of p, or its lists, in their order.
func reorder(c *shardify.Column, p []pair, mem *shardify.Arena) {
	src := c.Data
	if c.Levels > 1 {
		reorderLists(c, src, p, mem)
		return
	}
	c.Data = mem.Alloc(len(p) * c.ElemBytes())
	switch size := c.ElemBytes(); size {
	case 1:
		permute(c.Data, src, p)
	case 2:
		permute(shardify.View[uint16](c.Data), shardify.View[uint16](src), p)
	case 4:
		permute(shardify.View[uint32](c.Data), shardify.View[uint32](src), p)
	case 8:
		permute(shardify.View[uint64](c.Data), shardify.View[uint64](src), p)
	default:
		for i, e := range p {
			copy(c.Data[i*size:(i+1)*size], src[int(e.at)*size:])
		}
	}
}

func permute[T any](dst, src []T, p []pair) {
	for i, e := range p {
		dst[i] = src[e.at]
	}
}

func reorderLists(c *shardify.Column, src []byte, p []pair, mem *shardify.Arena) {
	size := int64(c.ElemBytes())
	from, to := c.Offsets[1], mem.Int64s(len(p)+1)
	to[0] = 0
	for i, e := range p {
		to[i+1] = to[i] + from[e.at+1] - from[e.at]
	}
	c.Data = mem.Alloc(int(to[len(p)] * size))
	for i, e := range p {
		lo, hi := from[e.at], from[e.at+1]
		copy(c.Data[to[i]*size:to[i+1]*size], src[lo*size:hi*size])
	}
	c.Offsets = [][]int64{c.Offsets[0], to}
}
