package fields

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// Pack is scalars as one field.
var Pack = op.Kind{Name: "pack", Value: "NAME=GLOB,...", Example: "features=ht,MET_*", Help: "scalars as one field",
	Phase: op.AtEnd, Keeps: true, Texts: op.Joined("\n"), New: op.Of(newPack), Fields: op.FieldsOf(newPack)}

// packFields makes one field [F] of F scalars, so that a sample is in one place on disk.
// Their names stay in its attributes.
type packFields struct {
	specs []stackSpec // parts are globs
	joins []join
	drop  []bool
	n     int
}

// newPack parses lines NAME=GLOB,...
func newPack(_ *op.Env, text string) (*packFields, error) {
	p := &packFields{}
	for line := range strings.SplitSeq(text, "\n") {
		name, globs, ok := strings.Cut(line, "=")
		spec := stackSpec{text: line, name: strings.TrimSpace(name), parts: op.List(globs)}
		if !ok || len(spec.parts) == 0 {
			return nil, op.FlagError("pack", line, fmt.Errorf("want NAME=GLOB,..., as in --pack 'features=pt,eta,jet_*'"))
		}
		if err := shardify.ValidName(spec.name); err != nil {
			return nil, op.FlagError("pack", line, err)
		}
		for _, g := range spec.parts {
			if _, err := path.Match(g, ""); err != nil {
				return nil, op.FlagError("pack", line, fmt.Errorf("%s: %w", g, err))
			}
		}
		p.specs = append(p.specs, spec)
	}
	return p, nil
}

// fields are those that are named without a glob.
func (p *packFields) Fields() (f op.Fields) {
	for _, x := range p.specs {
		f.Made = append(f.Made, x.name)
		for _, g := range x.parts {
			if !strings.ContainsAny(g, "*?[") {
				f.Named = append(f.Named, g)
			}
		}
	}
	return f
}

// Schema puts the packed fields at the place of their first scalars.
func (p *packFields) Schema(in []shardify.Field) ([]shardify.Field, error) {
	p.n, p.joins, p.drop = len(in), nil, make([]bool, len(in))
	for _, x := range p.specs {
		j, err := x.pack(in, p.drop)
		if err != nil {
			return nil, op.TextError(x.text, err)
		}
		p.joins = append(p.joins, j)
		for _, i := range j.parts {
			p.drop[i] = true
		}
	}
	out := layout(in, p.drop, p.joins, func(k int) shardify.Field { return p.joins[k].field })
	for i := range out {
		if shardify.FieldIndex(out, out[i].Name) != i {
			return nil, fmt.Errorf("there would be two fields %s: choose another name", out[i].Name)
		}
	}
	return out, nil
}

// pack finds the scalars. A glob takes what can be packed; a name must be such a field.
func (x *stackSpec) pack(in []shardify.Field, gone []bool) (join, error) {
	j := join{name: x.name, field: shardify.Field{Name: x.name}}
	for _, g := range x.parts {
		if i := shardify.FieldIndex(in, g); i >= 0 {
			if why := unpackable(in, i); why != "" {
				return j, fmt.Errorf("%s %s", g, why)
			}
			if gone[i] || slices.Contains(j.parts, i) {
				return j, fmt.Errorf("%s is packed twice", g)
			}
			j.parts = append(j.parts, i)
			continue
		}
		if !strings.ContainsAny(g, "*?[") {
			_, err := op.Lookup(in, g)
			return j, err
		}
		found := false
		for i := range in {
			ok, _ := path.Match(g, in[i].Name)
			if ok && unpackable(in, i) == "" {
				found = true
				if !gone[i] && !slices.Contains(j.parts, i) {
					j.parts = append(j.parts, i)
				}
			}
		}
		if !found {
			return j, fmt.Errorf("%s matches no scalar field", g)
		}
	}
	if len(j.parts) == 0 {
		return j, fmt.Errorf("all that it matches is packed already")
	}
	var names []string
	j.to = in[j.parts[0]].DType
	for _, i := range j.parts {
		var err error
		if j.to, err = common(j.to, in[i].DType); err != nil {
			return j, fmt.Errorf("%s: %w", in[i].Name, err)
		}
		names = append(names, in[i].Name)
	}
	j.field.DType, j.field.Shape = j.to, []int{len(j.parts)}
	j.field.Attrs = map[string]string{columnsAttr: strings.Join(names, shardify.LabelSeparator)}
	return j, nil
}

// unpackable says why a field cannot be packed.
func unpackable(in []shardify.Field, i int) string {
	f := &in[i]
	switch {
	case f.Levels > 0 || len(f.Shape) > 0:
		return "is not a scalar"
	case f.Nullable:
		return "may be missing: x ?? 0 in its --define fills it"
	case shardify.Companion(in, i):
		return "belongs to another field"
	}
	return ""
}

// Cost is a copy of the scalars, in their type and in that of the pack.
func (p *packFields) Cost(in []shardify.Field) shardify.Cost {
	n := 0
	for _, j := range p.joins {
		n += 2 * 8 * len(j.parts)
	}
	return shardify.Cost{Sample: int64(n)}
}

// Apply packs.
func (p *packFields) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, p.n); err != nil {
		return nil, err
	}
	made := make([]shardify.Column, len(p.joins))
	out := op.Fork(b)
	for k := range p.joins {
		var err error
		if made[k], err = p.joins[k].interleave(out, b, "pack", mem); err != nil {
			return nil, op.FlagError("pack", p.specs[k].text, err)
		}
	}
	out.Columns = layout(b.Columns, p.drop, p.joins, func(k int) shardify.Column { return made[k] })
	return out, nil
}
