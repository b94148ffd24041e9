package transform

import (
	"maps"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/transform/codes"
	"github.com/shardify/shardify/transform/condition"
	"github.com/shardify/shardify/transform/op"
	"github.com/shardify/shardify/transform/tables"
)

// Compile is flow.Compile.
func Compile(list []plan.Op, env flow.Env) (*flow.Pipeline, error) {
	return CompileWith(Side{})(list, env)
}

// Side is what operations read beside the inputs, by their texts: those of tables.Spec and
// codes.TokenizeSpec.
type Side struct {
	Tables     map[string]*tables.Table
	Tokenizers map[string]*codes.Tokenizer
	// Scratch is where surveys keep what is too much for memory; nil is the system's folder.
	Scratch storage.Store
}

// opened is the file of an operation; nil if it is not open.
func (s *Side) opened(name, text string) any {
	switch name {
	case Join:
		return s.Tables[text]
	case Tokenize:
		return s.Tokenizers[text]
	}
	return nil
}

// CompileWith is Compile with what operations read beside the inputs.
func CompileWith(side Side) flow.Compile {
	return func(list []plan.Op, env flow.Env) (*flow.Pipeline, error) {
		c := compiler{side: side, helpers: env.Helpers, pipe: &flow.Pipeline{}}
		c.env = op.Env{Table: env.Table, Splits: env.Splits, Helpers: env.Helpers, Keyed: env.Keyed, Scratch: side.Scratch, Defs: map[string]string{}, Parts: map[string][]string{}}
		if err := c.compile(list); err != nil {
			return nil, err
		}
		return c.pipe, c.conditions(env.Conditions)
	}
}

type compiler struct {
	env     op.Env
	side    Side
	pipe    *flow.Pipeline
	helpers []string // fields that are still to go
}

func (c *compiler) compile(list []plan.Op) error {
	if err := c.lookAhead(list); err != nil {
		return err
	}
	for i, o := range list {
		k := Lookup(o.Name)
		if k == nil {
			return shardify.Unsupported("operation %q of the plan", o.Name)
		}
		if k.Phase == op.AtEnd {
			c.drop()
		}
		if err := c.add(i, k, o); err != nil {
			return err
		}
	}
	c.drop()
	return nil
}

// conditions makes those that decide the splits.
func (c *compiler) conditions(texts []string) error {
	for _, text := range texts {
		if text == "" {
			c.pipe.Conditions = append(c.pipe.Conditions, nil)
			continue
		}
		x, err := condition.New(&c.env, Split, text)
		if err != nil {
			return err
		}
		c.pipe.Conditions = append(c.pipe.Conditions, x)
	}
	return nil
}

// lookAhead reads what earlier operations must know of later ones.
func (c *compiler) lookAhead(list []plan.Op) error {
	for _, o := range list {
		c.env.Keyed = c.env.Keyed && o.Name != Sequences // which have no names
		if k := Lookup(o.Name); k != nil && k.Fields != nil {
			f, err := k.Fields(&op.Env{}, shown(o.Text))
			if err != nil {
				return err
			}
			maps.Copy(c.env.Defs, f.Defs)
			maps.Copy(c.env.Parts, f.Parts)
		}
	}
	return nil
}

// drop leaves out fields that were read for operations alone. What still comes needs
// none of them, and globs must not take them for data.
func (c *compiler) drop() {
	if len(c.helpers) > 0 {
		c.pipe.After = append(c.pipe.After, flow.Stage{Transform: flow.DropFields(c.helpers...), Op: -1})
	}
	c.helpers = nil
}

// add adds operation i of the list.
func (c *compiler) add(i int, k *op.Kind, o plan.Op) error {
	text, env := shown(o.Text), c.env
	if _, runs, ok := strings.Cut(o.Text, runsLine); ok {
		var err error
		if env.Runs, err = op.ParseRuns(runs); err != nil {
			return err
		}
	}
	_, env.Digest, _ = strings.Cut(o.Text, openedLine)
	env.Beside = c.side.opened(k.Name, text)
	s, err := k.New(&env, text)
	if err != nil {
		return err
	}
	if s.Packer != nil {
		c.pipe.Packer = packer{s.Packer}
	}
	if s.Copies > 0 {
		c.pipe.Copies, c.pipe.CopySplits = s.Copies, s.Splits
	}
	if s.Transform == nil {
		return nil
	}
	stage := flow.Stage{Transform: s.Transform, Splits: s.Splits, Op: i, Text: o.Name + " " + strings.Join(Shown(o), ", ")}
	if k.Phase == op.BeforeSplit {
		c.pipe.Before = append(c.pipe.Before, stage)
	} else {
		c.pipe.After = append(c.pipe.After, stage)
	}
	return nil
}

// packer is a flow.Packer.
type packer struct{ op.Packer }

func (p packer) New(store storage.Store, pool *shardify.Pool, emit func(*shardify.Batch, *shardify.Arena) error) flow.Packing {
	return p.Begin(store, pool, emit)
}
