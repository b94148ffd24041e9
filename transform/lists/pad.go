package lists

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/cast"
	"github.com/shardify/shardify/transform/op"
)

// maskSuffix names the bool field that marks the real elements of a padded one.
const maskSuffix = "_mask"

// maxPad bounds the elements of a padded field: more is a mistake.
const maxPad = 1 << 28

// Pad makes lists of one length, and a mask.
var Pad = op.Kind{Name: "pad", Value: "NAME=LENGTH[:VALUE]", Example: "jets=128", Help: "lists of one length, and a mask",
	Phase: op.AtEnd, New: op.Of(newPad), Fields: op.FieldsOf(newPad)}

// padLists makes all lists of a field equally long: longer ones are cut, shorter ones filled up,
// and a mask marks the real elements.
type padLists struct {
	text   string
	target string
	length int
	value  string
	n      int
	cols   []int    // to pad
	fill   [][]byte // by column
	mask   shardify.Field
}

// newPad parses NAME=LENGTH[:VALUE]. NAME is a jagged field or the counter of some; the
// mask is called NAME_mask.
func newPad(_ *op.Env, text string) (*padLists, error) {
	p := &padLists{text: text}
	name, rest, ok := strings.Cut(text, "=")
	length, value, given := strings.Cut(rest, ":")
	p.target, p.value = strings.TrimSpace(name), "0"
	if given {
		p.value = value
	}
	n, err := strconv.Atoi(strings.TrimSpace(length))
	if !ok || err != nil || n < 1 || n > maxPad {
		return nil, op.FlagError("pad", text, fmt.Errorf("want NAME=LENGTH, or NAME=LENGTH:VALUE, as in --pad 'jets=128'"))
	}
	p.length = n
	return p, op.FlagError("pad", text, shardify.ValidName(p.target))
}

// fields has no name: the lists may be made by --stack.
func (p *padLists) Fields() op.Fields { return op.Fields{Made: []string{p.target + maskSuffix}} }

// Schema makes the lists a dimension. The mask comes last.
func (p *padLists) Schema(in []shardify.Field) ([]shardify.Field, error) {
	p.n, p.cols = len(in), nil
	p.fill = make([][]byte, len(in))
	out := slices.Clone(in)
	one := shardify.FieldIndex(in, p.target)
	if one >= 0 && in[one].Levels == 0 && slices.ContainsFunc(in, func(f shardify.Field) bool { return op.IsCounter(f.Counter, p.target) }) {
		one = -1 // ROOT's counters are fields themselves
	}
	for i := range in {
		f := &in[i]
		if i != one && (one >= 0 || !op.IsCounter(f.Counter, p.target)) {
			continue
		}
		if err := p.can(f); err != nil {
			return nil, op.TextError(p.text, err)
		}
		var err error
		if p.fill[i], err = cast.Number(p.value, f.DType); err != nil {
			return nil, op.TextError(p.text, fmt.Errorf("%s: %w", f.Name, err))
		}
		p.cols = append(p.cols, i)
		o := &out[i]
		o.Levels, o.Counter = 0, ""
		o.Shape = append([]int{p.length}, f.Shape...)
		if int64(p.length)*int64(f.ElemBytes()) > 1<<40 {
			return nil, op.TextError(p.text, fmt.Errorf("%d elements of %d bytes", p.length, f.ElemBytes()))
		}
	}
	if len(p.cols) == 0 {
		_, err := op.Lookup(in, p.target)
		return nil, op.TextError(p.text, err)
	}
	p.mask = shardify.Field{Name: p.target + maskSuffix, DType: shardify.Bool, Shape: []int{p.length}}
	if err := op.Free(in, p.mask.Name); err != nil {
		return nil, op.TextError(p.text, fmt.Errorf("%w, where the mask would be: rename the field", err))
	}
	return append(out, p.mask), nil
}

func (p *padLists) can(f *shardify.Field) error {
	switch {
	case f.Media != "":
		return fmt.Errorf("%s holds %s; lists of numbers are padded", f.Name, f.Media)
	case f.Levels == 0:
		return fmt.Errorf("%s has no lists to pad", f.Name)
	case f.Levels > 1:
		return fmt.Errorf("%s has lists of lists; one level is padded", f.Name)
	case f.Ragged:
		return fmt.Errorf("%s has a shape for each sample; lists are padded", f.Name)
	}
	return nil
}

// Cost is the padded elements and the mask.
func (p *padLists) Cost(in []shardify.Field) shardify.Cost {
	n := int64(p.length)
	for _, i := range p.cols {
		n += int64(p.length) * int64(in[i].ElemBytes())
	}
	return shardify.Cost{Sample: n}
}

// Apply pads.
func (p *padLists) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, p.n); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	lists := b.Columns[p.cols[0]].Offsets[0]
	for _, i := range p.cols {
		c, to := &b.Columns[i], &out.Columns[i]
		to.Levels, to.Counter, to.Offsets = 0, "", nil
		to.Shape = append([]int{p.length}, c.Shape...)
		size := c.ElemBytes()
		to.Data = mem.Alloc(b.Samples * p.length * size)
		p.pad(to.Data, c.Data, c.Offsets[0], size, p.fill[i])
	}
	mask := shardify.Column{Field: p.mask, Data: mem.Alloc(b.Samples * p.length)}
	samples, elements := p.marks(mask.Data, lists)
	op.Count(out, samples, "pad %s: samples cut", p.target)
	op.Count(out, elements, "pad %s: elements cut", p.target)
	out.Columns = append(out.Columns, mask)
	return out, nil
}

func (p *padLists) pad(dst, src []byte, o []int64, size int, fill []byte) {
	zero := !slices.ContainsFunc(fill, func(b byte) bool { return b != 0 })
	row := p.length * size
	for i := range len(o) - 1 {
		from := int(o[i]) * size
		n := min(int(o[i+1])*size-from, row)
		z := dst[i*row : (i+1)*row]
		copy(z[:n], src[from:from+n])
		if zero {
			clear(z[n:])
		} else {
			op.Repeat(z[n:], fill)
		}
	}
}

// marks writes the mask and counts what was cut.
func (p *padLists) marks(mask []byte, o []int64) (samples, elements int64) {
	for i := range len(o) - 1 {
		n := int(o[i+1] - o[i])
		if n > p.length {
			samples++
			elements += int64(n - p.length)
			n = p.length
		}
		row := mask[i*p.length : (i+1)*p.length]
		fillBytes(row[:n], 1)
		clear(row[n:])
	}
	return samples, elements
}

func fillBytes(b []byte, x byte) {
	for i := range b {
		b[i] = x
	}
}
