package cast

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/op"
)

// Cast is other types.
var Cast = op.Kind{Name: "cast", Value: "FIELD=DTYPE,...", Example: "x=f32,f64=f32", Help: "other types", More: "* is all floats, f64 a type",
	Phase: op.AtEnd, Keeps: true, Texts: op.Joined(","), New: op.Of(newCast), Fields: op.FieldsOf(newCast)}

// castFields changes the types of fields.
type castFields struct {
	text  string
	rules []castRule
	to    []caster // by column; Invalid leaves it
}

type castRule struct {
	sel  string
	from shardify.DType // if sel is the name of one
	caster
}

// newCast parses rules FIELD=DTYPE[:clip],... where FIELD is a name, a glob or a dtype.
func newCast(_ *op.Env, text string) (*castFields, error) {
	c := &castFields{text: text}
	for _, p := range op.List(text) {
		sel, to, ok := op.CutLast(p, "=")
		if !ok || sel == "" {
			return nil, op.FlagError("cast", text, fmt.Errorf("%q: want FIELD=DTYPE, as in --cast 'x=f32,*=f16'", p))
		}
		r := castRule{sel: sel}
		to, r.clip = strings.CutSuffix(to, ":clip")
		var err error
		if r.to, err = shardify.ParseDType(to); err != nil {
			return nil, op.FlagError("cast", text, fmt.Errorf("%s: unknown dtype %q: want one of bool, i8 to i64, u8 to u64, f16, bf16, f32, f64", p, to))
		}
		if r.clip && !r.to.IsInt() {
			return nil, op.FlagError("cast", text, fmt.Errorf("%s: only integers are clipped; floats become infinite and are counted", p))
		}
		if _, err := path.Match(sel, ""); err != nil {
			return nil, op.FlagError("cast", text, fmt.Errorf("%s: %w", p, err))
		}
		r.from, _ = shardify.ParseDType(sel)
		c.rules = append(c.rules, r)
	}
	if len(c.rules) == 0 {
		return nil, op.FlagError("cast", text, fmt.Errorf("want FIELD=DTYPE"))
	}
	return c, nil
}

// Schema finds the rule of each field: its name goes before globs, those before dtypes,
// and * is for the rest. A glob takes floating fields if the new type is floating, else
// integers: what it sweeps in must not lose its meaning.
func (c *castFields) Schema(in []shardify.Field) ([]shardify.Field, error) {
	c.to = make([]caster, len(in))
	used := make([]bool, len(c.rules))
	out := slices.Clone(in)
	for i := range in {
		k := c.rule(in, i)
		if k < 0 {
			continue
		}
		used[k] = true
		f := &in[i]
		if f.Media != "" || shardify.Companion(in, i) {
			return nil, op.TextError(c.text, fmt.Errorf("%s holds %s, no numbers", f.Name, op.NoNumbers(f)))
		}
		if f.DType != c.rules[k].to {
			c.to[i] = c.rules[k].caster
			out[i].DType = c.rules[k].to
		}
	}
	for k, r := range c.rules {
		if used[k] || r.sel == "*" || r.from != shardify.Invalid {
			continue // of these there may be none
		}
		if strings.ContainsAny(r.sel, "*?[") {
			return nil, op.TextError(c.text, fmt.Errorf("%s takes no field that another rule leaves and that %s is for", r.sel, r.to))
		}
		_, err := op.Lookup(in, r.sel)
		return nil, op.TextError(c.text, err)
	}
	if !slices.Contains(used, true) { // a rule for all of a kind may take none, but not all rules
		return nil, op.TextError(c.text, errors.New("it changes no field: none has the type or the kind of numbers"))
	}
	return out, nil
}

// named is the rule that has the name of a field, which goes before all others; -1 without one.
func named(rules []castRule, field string) int {
	return slices.IndexFunc(rules, func(r castRule) bool { return r.sel == field })
}

func (c *castFields) rule(in []shardify.Field, i int) int {
	f := &in[i]
	if k := named(c.rules, f.Name); k >= 0 {
		return k
	}
	if f.Media != "" || shardify.Companion(in, i) {
		return -1
	}
	for _, pass := range []func(r castRule) bool{
		func(r castRule) bool { return r.from == shardify.Invalid && r.sel != "*" },
		func(r castRule) bool { return r.from != shardify.Invalid },
		func(r castRule) bool { return r.sel == "*" },
	} {
		if k := slices.IndexFunc(c.rules, func(r castRule) bool { return pass(r) && r.takes(f) }); k >= 0 {
			return k
		}
	}
	return -1
}

// takes reports whether a glob or a dtype selects a field.
func (r castRule) takes(f *shardify.Field) bool {
	if r.from != shardify.Invalid {
		return r.from == f.DType
	}
	ok, _ := path.Match(r.sel, f.Name)
	return ok && f.DType.IsFloat() == r.to.IsFloat() && (f.DType.IsFloat() || f.DType.IsInt())
}

// fields are those that are named one by one.
func (c *castFields) Fields() (f op.Fields) {
	for _, r := range c.rules {
		if r.from == shardify.Invalid && !strings.ContainsAny(r.sel, "*?[") {
			f.Named = append(f.Named, r.sel)
		}
	}
	return f
}

// Cost is the largest growth of a type.
func (c *castFields) Cost(in []shardify.Field) shardify.Cost {
	growth, grown := 0.0, 0
	for i, t := range c.to {
		if t.to != shardify.Invalid {
			growth = max(growth, float64(t.to.Size())/float64(max(in[i].DType.Size(), 1)))
			grown++
		}
	}
	return shardify.Cost{Growth: growth, Sample: int64(grown) * 64}
}

// Apply casts.
func (c *castFields) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, len(c.to)); err != nil {
		return nil, err
	}
	out := op.Fork(b)
	for i, t := range c.to {
		if t.to == shardify.Invalid {
			continue
		}
		if err := convertColumn(&out.Columns[i], b, out, t, "cast "+out.Columns[i].Name, mem); err != nil {
			return nil, op.FlagError("cast", c.text, err)
		}
	}
	return out, nil
}

// Rounds reports of a field whether a cast names it, or a pattern of it, and converts it to floats: its numbers may be rounded
// before, too. nil: there are no such casts.
func Rounds(texts []string) func(field string) bool {
	c, err := newCast(nil, strings.Join(texts, ","))
	if err != nil || !slices.ContainsFunc(c.rules, func(r castRule) bool { return r.to.IsFloat() }) {
		return nil
	}
	return func(field string) bool {
		if k := named(c.rules, field); k >= 0 {
			return c.rules[k].to.IsFloat()
		}
		return slices.ContainsFunc(c.rules, func(r castRule) bool {
			ok, _ := path.Match(r.sel, field)
			return r.to.IsFloat() && r.sel != "*" && ok
		})
	}
}
