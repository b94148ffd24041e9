package shape

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/shape/expr"
)

// Define adds a field that is computed from others.
type Define struct {
	text  string
	Name  string
	dtype shardify.DType // Invalid: what the expression gives
	Expr  *expr.Expr
	prog  *expr.Program
	to    shardify.DType
	in    int
}

// NewDefine parses NAME[:DTYPE]=EXPRESSION.
func NewDefine(text string) (*Define, error) {
	d := &Define{text: text}
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

// Needs names the fields that the expression looks at.
func (d *Define) Needs() []string { return d.Expr.Names() }

// Schema adds the field at the end.
func (d *Define) Schema(in []shardify.Field) ([]shardify.Field, error) {
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
func (d *Define) Cost(in []shardify.Field) shardify.Cost {
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
func (d *Define) Apply(b *shardify.Batch, _ uint64, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := match(b, d.in); err != nil {
		return nil, err
	}
	c, err := d.prog.Column(b, d.Name, mem)
	if err != nil {
		return nil, said("define", d.text, err)
	}
	out := fork(b)
	if c.DType != d.to {
		t, err := convert(&c, b, caster{to: d.to}, mem)
		if err != nil {
			return nil, said("define", d.text, err)
		}
		t.report(out, "define", d.Name)
	}
	out.Columns = append(out.Columns, c)
	return out, nil
}
