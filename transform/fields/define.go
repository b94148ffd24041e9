package fields

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/cast"
	"github.com/shardify/shardify/transform/expr"
	"github.com/shardify/shardify/transform/op"
)

// Define is a computed field.
var Define = op.Kind{Name: "define", Value: "NAME=EXPRESSION", Example: "ht=sum(Jet_pt)", Help: "a computed field", More: "'cls=path(0)' of names",
	Phase: op.AfterSplit, New: op.Of(newDefine), Fields: op.FieldsOf(newDefine)}

// defineField adds a field that is computed from others.
type defineField struct {
	text  string
	name  string
	dtype shardify.DType // Invalid: what the expression gives
	from  string         // expr as text
	expr  *expr.Expr
	prog  *expr.Program
	to    shardify.DType
	in    int
}

// newDefine parses NAME[:DTYPE]=EXPRESSION.
func newDefine(env *op.Env, text string) (*defineField, error) {
	d := &defineField{text: text}
	name, e, ok := strings.Cut(text, "=")
	if !ok {
		return nil, op.FlagError("define", text, fmt.Errorf("want NAME=EXPRESSION, as in --define 'ht=sum(Jet_pt)'"))
	}
	var err error
	d.from = strings.TrimSpace(e)
	if d.name, d.dtype, err = typedName(strings.TrimSpace(name)); err == nil {
		if d.expr, err = expr.Parse(d.from); err == nil {
			d.expr.Keyed = env.Keyed
		}
	}
	return d, op.FlagError("define", text, err)
}

// typedName splits NAME[:DTYPE].
func typedName(s string) (string, shardify.DType, error) {
	name, t, ok := op.CutLast(s, ":")
	if !ok {
		return s, shardify.Invalid, shardify.ValidName(s)
	}
	d, err := shardify.ParseDType(t)
	if err != nil {
		return name, d, err
	}
	return name, d, shardify.ValidName(name)
}

func (d *defineField) Fields() op.Fields {
	return op.Fields{Named: d.expr.Names(), Made: []string{d.name}, Defs: map[string]string{d.name: d.from}}
}

// Schema adds the field at the end.
func (d *defineField) Schema(in []shardify.Field) ([]shardify.Field, error) {
	if err := op.Free(in, d.name); err != nil {
		return nil, op.TextError(d.text, fmt.Errorf("%w: choose another name", err))
	}
	p, err := d.expr.Bind(in, nil)
	if err != nil {
		return nil, op.TextError(d.text, err)
	}
	f := p.Field(d.name)
	if f.Media != "" && d.dtype != shardify.Invalid {
		return nil, op.TextError(d.text, fmt.Errorf("%s is a text, not %s: --encode %s makes codes of it", d.name, d.dtype, d.name))
	}
	if d.dtype != shardify.Invalid {
		f.DType = d.dtype
	}
	d.prog, d.to, d.in = p, f.DType, len(in)
	return append(in[:len(in):len(in)], f), nil
}

// Cost is at most eight bytes for each value that the expression has.
func (d *defineField) Cost(in []shardify.Field) shardify.Cost {
	return d.expr.Cost(in)
}

// Apply computes.
func (d *defineField) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := op.Match(b, d.in); err != nil {
		return nil, err
	}
	c, err := d.prog.Column(b, d.name, mem)
	if err != nil {
		return nil, op.FlagError("define", d.text, err)
	}
	out := op.Fork(b)
	if c.DType != d.to {
		if err := cast.Column(&c, b, out, d.to, "define "+d.name, mem); err != nil {
			return nil, op.FlagError("define", d.text, err)
		}
	}
	out.Columns = append(out.Columns, c)
	return out, nil
}
