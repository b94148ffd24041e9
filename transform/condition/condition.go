// Package condition has conditions on samples: those of --where, and those that decide a split.
package condition

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/transform/expr"
	"github.com/shardify/shardify/transform/op"
)

// Condition is a condition on samples. Those for which it is missing do not meet it. It may be used from several
// goroutines at once, once it is bound.
type Condition struct {
	flag, text string
	expr       *expr.Expr
	defs       map[string]*expr.Expr
	prog       *expr.Program
}

// New parses a condition, of a flag. Fields that are defined later, where it names them, are
// computed from what the source has.
func New(e *op.Env, flag, text string) (*Condition, error) {
	c := &Condition{flag: flag, text: text, defs: map[string]*expr.Expr{}}
	var err error
	if c.expr, err = expr.Parse(text); err != nil {
		return nil, op.FlagError(flag, text, err)
	}
	c.expr.Keyed = e.Keyed
	for name, def := range e.Defs {
		if c.defs[name], err = expr.Parse(def); err != nil {
			return nil, op.FlagError("define", name+"="+def, err)
		}
	}
	return c, nil
}

// Fields are those of the source that it names.
func (c *Condition) Fields() op.Fields { return op.Fields{Named: needs(c.expr, c.defs)} }

// Bind checks the condition against the fields of the samples.
func (c *Condition) Bind(in []shardify.Field) error {
	p, err := c.expr.Bind(in, c.defs)
	if err == nil {
		err = p.Condition()
	}
	if err != nil {
		return op.TextError(c.text, err)
	}
	c.prog = p
	return nil
}

// Keep sets keep[i] to 1 if the condition holds for sample i, else to 0.
func (c *Condition) Keep(b *shardify.Batch, keep []byte) error {
	if err := c.prog.Keep(b, keep); err != nil {
		return op.FlagError(c.flag, c.text, err)
	}
	return nil
}

// needs follows the names of definitions.
func needs(e *expr.Expr, defs map[string]*expr.Expr) []string {
	var out []string
	seen := map[string]bool{}
	var visit func(e *expr.Expr)
	visit = func(e *expr.Expr) {
		for _, n := range e.Names() {
			if seen[n] {
				continue
			}
			seen[n] = true
			if d := defs[n]; d != nil {
				visit(d)
				continue
			}
			out = append(out, n)
		}
	}
	visit(e)
	return out
}
