package lists

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/transform/op"
)

// Pick is a number of elements of longer lists.
var Pick = op.Kind{Name: "pick", Value: "NAME=K[,...]", Example: "pulses=128,prefer=!auxiliary", Help: "K elements of longer lists, drawn, in their order", More: "first, last or top=[-]FIELD instead of drawing; those that prefer=[!]FIELD marks never lose to others",
	Phase: op.AfterSplit, New: op.Of(newPick), Fields: op.FieldsOf(newPick),
	Random: func(text string) bool { p, err := newPick(&op.Env{}, text); return err != nil || p.draws() }}

// pickLists keeps a number of elements of each sample's lists, in their order.
type pickLists struct {
	text   string
	target string
	most   int
	prefer string // a field whose elements that are not 0 never lose to others
	not    bool   // those that are 0
	way    string // "" draws
	top    *sortLists
	table  *format.Table

	n     int
	group []int // columns
	pref  int   // column, or -1
	pool  sync.Pool
}

// Ways of choosing beside drawing.
const (
	pickFirst = "first"
	pickLast  = "last"
	pickTop   = "top"
)

// newPick parses NAME=K[,prefer=[!]FIELD][,first|last|top=[-]FIELD]. NAME is a list or the
// counter of some.
func newPick(e *op.Env, text string) (*pickLists, error) {
	p := &pickLists{text: text, table: e.Table, pref: -1}
	words := strings.Split(text, ",")
	name, k, ok := strings.Cut(words[0], "=")
	p.target = strings.TrimSpace(name)
	var err error
	p.most, err = strconv.Atoi(strings.TrimSpace(k))
	bad := func() error {
		return op.FlagError("pick", text, fmt.Errorf("want NAME=K[,prefer=[!]FIELD][,first|last|top=[-]FIELD], as in --pick 'pulses=128,prefer=!auxiliary'"))
	}
	if !ok || err != nil || p.most < 1 || p.most > maxPad || p.target == "" {
		return nil, bad()
	}
	for _, w := range words[1:] {
		key, value, given := strings.Cut(strings.TrimSpace(w), "=")
		switch {
		case key == "prefer" && value != "" && p.prefer == "":
			p.prefer, p.not = strings.CutPrefix(value, "!")
		case (key == pickFirst || key == pickLast) && !given && p.way == "":
			p.way = key
		case key == pickTop && value != "" && p.way == "":
			p.way = key
			if p.top, err = newSort(&op.Env{}, p.target+"="+value); err != nil {
				return nil, bad()
			}
		default:
			return nil, bad()
		}
	}
	return p, nil
}

// draws says whether the seed decides which elements stay.
func (p *pickLists) draws() bool { return p.way == "" }

func (p *pickLists) Fields() (f op.Fields) {
	if p.prefer != "" {
		f.Named = append(f.Named, p.prefer)
	}
	if p.top != nil {
		f.Named = append(f.Named, p.top.key)
	}
	return f
}

// Schema finds the lists.
func (p *pickLists) Schema(in []shardify.Field) ([]shardify.Field, error) {
	p.n, p.group, p.pref = len(in), nil, -1
	counter := p.target
	if i := shardify.FieldIndex(in, p.target); i >= 0 && in[i].Levels > 0 {
		counter = in[i].Counter
		p.group = []int{i}
	}
	for i := range in {
		if f := &in[i]; op.IsCounter(f.Counter, counter) && !slices.Contains(p.group, i) {
			p.group = append(p.group, i)
		}
	}
	if len(p.group) == 0 {
		_, err := op.Lookup(in, p.target)
		if err == nil {
			err = fmt.Errorf("%s has no lists to pick from", p.target)
		}
		return nil, op.TextError(p.text, err)
	}
	for _, i := range p.group {
		if f := &in[i]; f.Ragged || f.Media != "" && f.Levels == 1 {
			return nil, op.TextError(p.text, fmt.Errorf("%s has no elements to pick", f.Name))
		}
	}
	var err error
	if p.prefer != "" {
		if p.pref, err = p.among(in, p.prefer); err != nil {
			return nil, err
		}
	}
	if p.top != nil {
		if _, err := p.among(in, p.top.key); err != nil {
			return nil, err
		}
		p.top.col = shardify.FieldIndex(in, p.top.key)
	}
	return in, nil
}

// among finds a field that is one of the lists, of numbers.
func (p *pickLists) among(in []shardify.Field, name string) (int, error) {
	i, err := op.Lookup(in, name)
	switch {
	case err != nil:
	case !slices.Contains(p.group, i):
		err = fmt.Errorf("%s is not one of the lists of %s", name, p.target)
	case in[i].Levels != 1 || len(in[i].Shape) > 0:
		err = fmt.Errorf("%s is not a list of numbers", name)
	}
	return i, op.TextError(p.text, err)
}

// Cost is a copy of the lists and their order.
func (p *pickLists) Cost([]shardify.Field) shardify.Cost { return shardify.Cost{Growth: 3, Sample: 16} }

// chooser is what Apply works with.
type chooser struct {
	all, kept []op.Element
	ids       []uint64
}

// Apply picks. The draw depends on the sample's identity; a larger number of elements includes
// those of a smaller one.
func (p *pickLists) Apply(b *shardify.Batch, seed uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, p.n); err != nil {
		return nil, err
	}
	o := b.Columns[p.group[0]].Offsets[0]
	for _, c := range p.group[1:] {
		if err := op.SameLengths(b, p.group[0], c); err != nil {
			return nil, op.FlagError("pick", p.text, err)
		}
	}
	var samples, elements int64
	for i := range b.Samples {
		if n := o[i+1] - o[i]; n > int64(p.most) {
			samples, elements = samples+1, elements+n-int64(p.most)
		}
	}
	if samples == 0 {
		return b, nil
	}
	x, _ := p.pool.Get().(*chooser)
	if x == nil {
		x = &chooser{}
	}
	defer p.pool.Put(x)
	x.all = slices.Grow(x.all[:0], int(o[b.Samples]))[:o[b.Samples]]
	x.ids = p.table.Identity(x.ids[:0], b)
	if p.top != nil {
		p.top.keys(&b.Columns[p.top.col], x.all)
	} else {
		for i := range x.all {
			x.all[i].At = int64(i)
		}
	}
	var preferred func(i int) uint64
	if p.pref >= 0 {
		preferred = nonzero(&b.Columns[p.pref])
	}
	x.kept = x.kept[:0]
	offsets := mem.Int64s(b.Samples + 1)
	offsets[0] = 0
	for i := range b.Samples {
		one := x.all[o[i]:o[i+1]]
		if len(one) > p.most {
			p.rank(one, shardify.SampleSeed(seed, x.ids[i], b.ID(i).Copy), preferred)
			one = one[:p.most]
			slices.SortFunc(one, func(a, b op.Element) int { return int(a.At - b.At) })
		}
		x.kept = append(x.kept, one...)
		offsets[i+1] = int64(len(x.kept))
	}
	out := op.Fork(b)
	for _, c := range p.group {
		to := &out.Columns[c]
		op.Reorder(to, x.kept, mem)
		to.Offsets = slices.Clone(to.Offsets)
		to.Offsets[0] = offsets
	}
	op.Count(out, samples, "pick %s: samples cut", p.target)
	op.Count(out, elements, "pick %s: elements left out", p.target)
	return out, nil
}

// rank puts the elements of a sample into the order in which they are kept.
func (p *pickLists) rank(one []op.Element, seed uint64, preferred func(int) uint64) {
	const golden = 0x9e3779b97f4a7c15
	for k := range one {
		switch p.way {
		case "":
			one[k].Key = shardify.Mix(seed + uint64(k+1)*golden)
		case pickFirst:
			one[k].Key = uint64(k)
		case pickLast:
			one[k].Key = uint64(len(one) - k)
		}
	}
	sortPairs(one)
	if preferred == nil {
		return
	}
	slices.SortStableFunc(one, func(a, b op.Element) int {
		x, y := preferred(int(a.At)) != 0, preferred(int(b.At)) != 0
		switch {
		case x == y:
			return 0
		case x != p.not:
			return -1
		}
		return 1
	})
}

// nonzero returns 1 for each value of a column that is not 0 (as NaN is not), else 0.
func nonzero(c *shardify.Column) func(i int) uint64 {
	size, data := c.DType.Size(), c.Data
	sign := byte(0)
	if c.DType.IsFloat() {
		sign = 0x80
	}
	return func(i int) uint64 {
		for k := range size {
			x := data[i*size+k]
			if k == size-1 {
				x &^= sign
			}
			if x != 0 {
				return 1
			}
		}
		return 0
	}
}
