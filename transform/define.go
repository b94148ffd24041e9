package transform

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/expr"
)

// defineField adds a field that is computed from others.
type defineField struct {
	text  string
	Name  string
	dtype shardify.DType // Invalid: what the expression gives
	Expr  *expr.Expr
	prog  *expr.Program
	to    shardify.DType
	in    int
}

// newDefine parses NAME[:DTYPE]=EXPRESSION.
func newDefine(text string) (*defineField, error) {
	d := &defineField{text: text}
	name, e, ok := strings.Cut(text, "=")
	if !ok {
		return nil, said("define", text, fmt.Errorf("want NAME=EXPRESSION, as in --define 'ht=sum(Jet_pt)'"))
	}
	var err error
	if d.Name, d.dtype, err = typedName(strings.TrimSpace(name)); err == nil {
		d.Expr, err = expr.Parse(strings.TrimSpace(e))
	}
	return d, said("define", text, err)
}

// typedName splits NAME[:DTYPE].
func typedName(s string) (string, shardify.DType, error) {
	name, t, ok := cutLast(s, ":")
	if !ok {
		return s, shardify.Invalid, shardify.ValidName(s)
	}
	d, err := shardify.ParseDType(t)
	if err != nil {
		return name, d, err
	}
	return name, d, shardify.ValidName(name)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (d *defineField) fields() fields {
	return fields{named: d.Expr.Names(), made: []string{d.Name}, defs: map[string]*expr.Expr{d.Name: d.Expr}}
}

// Schema adds the field at the end.
func (d *defineField) Schema(in []shardify.Field) ([]shardify.Field, error) {
	if err := taken(in, d.Name); err != nil {
		return nil, within(d.text, fmt.Errorf("%w: choose another name", err))
	}
	p, err := d.Expr.Bind(in, nil)
	if err != nil {
		return nil, within(d.text, err)
	}
	f := p.Field(d.Name)
	if d.dtype != shardify.Invalid {
		f.DType = d.dtype
	}
	d.prog, d.to, d.in = p, f.DType, len(in)
	return append(in[:len(in):len(in)], f), nil
}

// Cost is at most eight bytes for each value that the expression has.
func (d *defineField) Cost(in []shardify.Field) shardify.Cost {
	return computed(d.Expr, in)
}

// computed is the cost of a column of f64, and of its final type.
func computed(e *expr.Expr, in []shardify.Field) shardify.Cost {
	p, err := e.Bind(in, nil)
	if err != nil {
		return shardify.Cost{}
	}
	f := p.Field("x")
	if f.Levels > 0 {
		return shardify.Cost{Growth: 4, Sample: 8} // of i8 elements even 8, but those are rare
	}
	return shardify.Cost{Sample: int64(f.Elem())*16 + 1}
}

// Apply computes.
func (d *defineField) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := match(b, d.in); err != nil {
		return nil, err
	}
	c, err := d.prog.Column(b, d.Name, mem)
	if err != nil {
		return nil, said("define", d.text, err)
	}
	out := fork(b)
	if c.DType != d.to {
		t, err := convertColumn(&c, b, caster{to: d.to}, mem)
		if err != nil {
			return nil, said("define", d.text, err)
		}
		t.report(out, "define", d.Name)
	}
	out.Columns = append(out.Columns, c)
	return out, nil
}
