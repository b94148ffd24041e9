package fields

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// Stack is one field of several that are alike.
var Stack = op.Kind{Name: "stack", Value: "NAME=FIELD,...", Example: "jets=Jet_pt,Jet_eta", Help: "one field of several",
	Phase: op.AtEnd, Keeps: true, Texts: op.Joined("\n"), New: op.Of(newStack), Fields: op.FieldsOf(newStack)}

// stackFields makes one field of several that are alike: jagged ones become one jagged field
// of elements [n], fixed ones of shape [..] one of shape [.., n].
type stackFields struct {
	specs []stackSpec
	joins []join
	drop  []bool // by column: it is part of a stack
	n     int
}

type stackSpec struct {
	text, name string
	parts      []string
}

// newStack parses lines NAME=FIELD,FIELD,...
func newStack(_ *op.Env, text string) (*stackFields, error) {
	s := &stackFields{}
	for line := range strings.SplitSeq(text, "\n") {
		name, parts, ok := strings.Cut(line, "=")
		spec := stackSpec{text: line, name: strings.TrimSpace(name), parts: op.List(parts)}
		if !ok || len(spec.parts) == 0 {
			return nil, op.FlagError("stack", line, fmt.Errorf("want NAME=FIELD,FIELD,..., as in --stack 'jets=Jet_pt,Jet_eta'"))
		}
		if err := shardify.ValidName(spec.name); err != nil {
			return nil, op.FlagError("stack", line, err)
		}
		s.specs = append(s.specs, spec)
	}
	return s, nil
}

func (s *stackFields) Fields() (f op.Fields) {
	f.Parts = map[string][]string{}
	for _, x := range s.specs {
		f.Made, f.Named, f.Parts[x.name] = append(f.Made, x.name), append(f.Named, x.parts...), x.parts
	}
	return f
}

// Schema puts the new fields at the place of their first parts, which go.
func (s *stackFields) Schema(in []shardify.Field) ([]shardify.Field, error) {
	s.n, s.joins, s.drop = len(in), nil, make([]bool, len(in))
	for _, x := range s.specs {
		j, err := x.join(in)
		if err != nil {
			return nil, op.TextError(x.text, err)
		}
		s.joins = append(s.joins, j)
		for _, i := range j.parts {
			s.drop[i] = true
		}
	}
	out := layout(in, s.drop, s.joins, func(k int) shardify.Field { return s.joins[k].field })
	for i := range out {
		if shardify.FieldIndex(out, out[i].Name) != i {
			return nil, fmt.Errorf("there would be two fields %s: choose another name", out[i].Name)
		}
	}
	return out, nil
}

func (x *stackSpec) join(in []shardify.Field) (join, error) {
	j := join{name: x.name}
	var first *shardify.Field
	for _, p := range x.parts {
		i, err := op.Lookup(in, p)
		if err != nil {
			return j, err
		}
		f := &in[i]
		switch {
		case f.Media != "" || f.Ragged || shardify.Companion(in, i):
			return j, fmt.Errorf("%s holds %s, no numbers", p, op.NoNumbers(f))
		case slices.Contains(j.parts, i):
			return j, fmt.Errorf("%s is named twice", p)
		case first == nil:
			first, j.to = f, f.DType
			j.field = shardify.Field{Name: x.name, Levels: f.Levels, Counter: f.Counter}
		default:
			if err := alike(first, f); err != nil {
				return j, err
			}
			if j.to, err = common(j.to, f.DType); err != nil {
				return j, err
			}
		}
		if j.field.Levels > 0 && j.field.Counter == "" {
			j.field.Counter = f.Counter
		}
		j.field.Nullable = j.field.Nullable || f.Nullable
		j.parts = append(j.parts, i)
	}
	j.field.DType = j.to
	j.field.Attrs = map[string]string{columnsAttr: strings.Join(x.parts, shardify.LabelSeparator)}
	// The parts are in the last dimension, one after another for each element: an element of
	// shape [2] of each of three parts has the shape [2, 3].
	j.field.Shape = append(slices.Clone(first.Shape), len(j.parts))
	return j, nil
}

// alike refuses fields that cannot be parts of one stack.
func alike(a, b *shardify.Field) error {
	switch {
	case a.Levels != b.Levels:
		return fmt.Errorf("%s has %s, %s has %s", a.Name, levels(a), b.Name, levels(b))
	case !slices.Equal(a.Shape, b.Shape):
		return fmt.Errorf("%s has shape %v, %s has %v", a.Name, a.Shape, b.Name, b.Shape)
	case a.Levels > 0 && a.Counter != "" && b.Counter != "" && a.Counter != b.Counter:
		return fmt.Errorf("%s is counted by %s, %s by %s: they have not the same elements", a.Name, a.Counter, b.Name, b.Counter)
	}
	return nil
}

func levels(f *shardify.Field) string {
	return [...]string{"one value a sample", "a list", "lists of lists"}[f.Levels]
}

// Cost is a copy of the parts, in their type and in that of the stack.
func (s *stackFields) Cost(in []shardify.Field) shardify.Cost {
	c := shardify.Cost{}
	for k := range s.joins {
		c.Growth = max(c.Growth, s.joins[k].cost(in))
	}
	return c
}

// Apply stacks.
func (s *stackFields) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, s.n); err != nil {
		return nil, err
	}
	made := make([]shardify.Column, len(s.joins))
	out := op.Fork(b)
	for k := range s.joins {
		j := &s.joins[k]
		for _, i := range j.parts[1:] {
			if err := sameLists(b, j.parts[0], i); err != nil {
				return nil, op.FlagError("stack", s.specs[k].text, err)
			}
		}
		var err error
		if made[k], err = j.interleave(out, b, "stack", mem); err != nil {
			return nil, op.FlagError("stack", s.specs[k].text, err)
		}
	}
	out.Columns = layout(b.Columns, s.drop, s.joins, func(k int) shardify.Column { return made[k] })
	return out, nil
}

// sameLists compares the lists of two columns at every level.
func sameLists(b *shardify.Batch, x, y int) error {
	if b.Columns[x].Levels == 0 {
		return nil
	}
	if err := op.SameLengths(b, x, y); err != nil {
		return err
	}
	p, q := &b.Columns[x], &b.Columns[y]
	if p.Levels > 1 && !slices.Equal(p.Offsets[1], q.Offsets[1]) {
		return shardify.Mismatch("the lists of %s and %s differ in length", p.Name, q.Name)
	}
	return nil
}
