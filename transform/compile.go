package transform

import (
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/transform/expr"
)

// Compile is flow.Compile.
func Compile(list []plan.Op, env flow.Env) (*flow.Pipeline, error) {
	return CompileWith(Side{})(list, env)
}

// Side is what operations read beside the inputs, by their texts: those of JoinSpec and
// TokenizeSpec.
type Side struct {
	Tables     map[string]*JoinTable
	Tokenizers map[string]*Tokenizer
	// Scratch is where surveys keep what is too much for memory; nil is the system's folder.
	Scratch storage.Store
}

// CompileWith is Compile with what operations read beside the inputs.
func CompileWith(side Side) flow.Compile {
	return func(list []plan.Op, env flow.Env) (*flow.Pipeline, error) { return compile(list, env, side) }
}

func compile(list []plan.Op, env flow.Env, side Side) (*flow.Pipeline, error) {
	c := compiler{side: side, env: env, pipe: &flow.Pipeline{}, defs: map[string]*expr.Expr{}}
	if err := c.lookAhead(list); err != nil {
		return nil, err
	}
	dropped := false
	for i, op := range list {
		k := Lookup(op.Name)
		if k == nil {
			return nil, shardify.Unsupported("operation %q of the plan", op.Name)
		}
		if k.phase == last && !dropped {
			c.drop()
			dropped = true
		}
		if err := c.add(i, k, op); err != nil {
			return nil, err
		}
	}
	if !dropped {
		c.drop()
	}
	return c.pipe, nil
}

type compiler struct {
	env   flow.Env
	side  Side
	pipe  *flow.Pipeline
	defs  map[string]*expr.Expr
	stack *stackFields
}

// lookAhead reads what earlier operations must know of later ones.
func (c *compiler) lookAhead(list []plan.Op) error {
	for _, op := range list {
		switch op.Name {
		case Define:
			d, err := newDefine(op.Text)
			if err != nil {
				return err
			}
			c.defs[d.Name] = d.Expr
		case Stack:
			var err error
			if c.stack, err = newStack(op.Text); err != nil {
				return err
			}
		}
	}
	return nil
}

// drop leaves out fields that were read for operations alone. What still comes needs
// none of them, and globs must not take them for data.
func (c *compiler) drop() {
	if len(c.env.Helpers) > 0 {
		c.pipe.After = append(c.pipe.After, flow.Stage{Transform: flow.DropFields(c.env.Helpers...), Op: -1})
	}
}

func (c *compiler) add(i int, k *Kind, op plan.Op) error {
	text, rules, err := resolved(op.Text)
	if err != nil {
		return err
	}
	s, err := k.stage(c, text, rules)
	if err != nil || s.Transform == nil {
		return err
	}
	s.Op, s.Text = i, op.Name+" "+strings.Join(Shown(op), ", ")
	if k.phase == first {
		c.pipe.Before = append(c.pipe.Before, s)
	} else {
		c.pipe.After = append(c.pipe.After, s)
	}
	return nil
}
