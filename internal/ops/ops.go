// Package ops turns the flags and recipe keys that shape samples into the operations of
// a plan, in the order in which they run, and operations into a pipeline:
//
//	list, err := settings.Ops(table)             // when the plan is made
//	pipeline, err := ops.Compile(list, env)      // then, and again in every task
//
// The order is fixed, whatever the order of the flags:
//
//	set -> fraction -> where -> (split) -> copies -> augment -> define -> nan -> encode
//	-> sort -> (fields read for others go) -> stack -> pad -> rename -> cast -> pack
package ops

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/internal/shape"
	"github.com/shardify/shardify/internal/shape/expr"
)

// Names of the operations, which are those of their flags, in their order.
const (
	Set      = "set"
	Fraction = "fraction"
	Where    = "where"
	Copies   = "copies"
	Augment  = "augment"
	Define   = "define"
	NaN      = "nan"
	Encode   = "encode"
	Sort     = "sort"
	Stack    = "stack"
	Pad      = "pad"
	Rename   = "rename"
	Cast     = "cast"
	Pack     = "pack"
)

// Names lists the operations in the order in which they run.
var Names = []string{Set, Fraction, Where, Copies, Augment, Define, NaN, Encode, Sort, Stack, Pad, Rename, Cast, Pack}

// Lists tells whether a flag may be given several times (and is a list in recipes).
func Lists(name string) bool { return name != Copies && slices.Contains(Names, name) }

// Settings are the flags as given: by name, in their order.
type Settings map[string][]string

// Empty tells that nothing is asked for.
func (s Settings) Empty() bool {
	for _, v := range s {
		if len(v) > 0 {
			return false
		}
	}
	return true
}

// Orients tells whether images are turned by their EXIF tag.
func (s Settings) Orients() bool {
	return slices.ContainsFunc(s[Augment], func(text string) bool {
		spec, err := augment.Parse(text)
		return err == nil && spec.Op.Name == "orient"
	})
}

// inputsLine begins the line of an operation's text that says which rule each input
// has. It is found when the plan is made, and holds wherever the inputs lie later.
const inputsLine = "\ninputs: "

// Ops lists the operations in their order. The globs of set and fraction are looked up
// among the inputs.
func (s Settings) Ops(table *shardify.Table) ([]convert.Op, error) {
	var out []convert.Op
	for _, name := range Names {
		texts, err := s.texts(name)
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			if t, err = resolve(name, t, table); err != nil {
				return nil, err
			}
			out = append(out, convert.Op{Name: name, Text: t})
		}
	}
	return out, nil
}

// WithTotals completes the sums over other tables of the inputs in --set.
func (s Settings) WithTotals(table *shardify.Table, sums func(shape.Total) ([]shape.Sum, error)) (Settings, error) {
	texts, err := s.texts(Set)
	if err != nil || !slices.ContainsFunc(texts, shape.HasTotals) {
		return s, err
	}
	out := maps.Clone(s)
	out[Set] = nil
	for _, t := range texts {
		if t, err = shape.Totals(t, table, sums); err != nil {
			return nil, err
		}
		out[Set] = append(out[Set], strings.Split(t, "\n")...)
	}
	return out, nil
}

// texts are the texts of the operations of one name: some flags are one operation each,
// others one together.
func (s Settings) texts(name string) ([]string, error) {
	given := s[name]
	if len(given) == 0 {
		return nil, nil
	}
	for _, g := range given {
		if strings.Contains(g, "\n") {
			return nil, fmt.Errorf("--%s %q has a line feed", name, g)
		}
	}
	switch name {
	case Set:
		return byName(given), nil
	case Fraction, Stack, Pack:
		return []string{strings.Join(given, "\n")}, nil
	case NaN, Cast, Rename:
		return []string{strings.Join(given, ",")}, nil
	case Encode:
		return strings.FieldsFunc(strings.Join(given, ","), func(r rune) bool { return r == ',' }), nil
	case Copies:
		n, err := strconv.Atoi(given[len(given)-1])
		if err != nil || n < 1 || n > 1<<16 {
			return nil, fmt.Errorf("--copies %s: want a number from 1 to 65536", given[len(given)-1])
		}
		if n == 1 {
			return nil, nil
		}
		return []string{strconv.Itoa(n)}, nil
	}
	return given, nil
}

// byName joins what sets one field.
func byName(given []string) []string {
	var names, out []string
	for _, g := range given {
		name, _, _ := strings.Cut(g, "=")
		name, _, _ = strings.Cut(name, ":")
		if i := slices.Index(names, strings.TrimSpace(name)); i >= 0 {
			out[i] += "\n" + g
			continue
		}
		names, out = append(names, strings.TrimSpace(name)), append(out, g)
	}
	return out
}

// resolve adds which rule each input has.
func resolve(name, text string, table *shardify.Table) (string, error) {
	var in shape.Inputs
	switch name {
	case Set:
		s, err := shape.NewSet(text, table, nil)
		if err != nil {
			return "", err
		}
		in = s.Inputs()
	case Fraction:
		f, err := shape.NewFraction(text, table, nil)
		if err != nil {
			return "", err
		}
		in = f.Inputs()
	default:
		return text, nil
	}
	return text + inputsLine + in.String(), nil
}

// Shown is an operation's text as it was given: a line for each flag.
func Shown(op convert.Op) []string {
	text, _, _ := strings.Cut(op.Text, inputsLine)
	return strings.Split(text, "\n")
}

// resolved splits an operation's text.
func resolved(text string) (string, shape.Inputs, error) {
	text, runs, ok := strings.Cut(text, inputsLine)
	if !ok {
		return text, nil, nil
	}
	in, err := shape.ParseInputs(runs)
	return text, in, err
}

// Compile is convert.Compile.
func Compile(list []convert.Op, env convert.Env) (*convert.Pipeline, error) {
	c := compiler{env: env, pipe: &convert.Pipeline{}, defs: map[string]*expr.Expr{}}
	if err := c.lookAhead(list); err != nil {
		return nil, err
	}
	dropped := false
	for i, op := range list {
		late := slices.Index(Names, op.Name) > slices.Index(Names, Sort)
		if late && !dropped {
			c.drop()
			dropped = true
		}
		if err := c.add(i, op); err != nil {
			return nil, err
		}
	}
	if !dropped {
		c.drop()
	}
	return c.pipe, nil
}

type compiler struct {
	env   convert.Env
	pipe  *convert.Pipeline
	defs  map[string]*expr.Expr
	stack *shape.Stack
}

// lookAhead reads what earlier operations must know of later ones.
func (c *compiler) lookAhead(list []convert.Op) error {
	for _, op := range list {
		switch op.Name {
		case Define:
			d, err := shape.NewDefine(op.Text)
			if err != nil {
				return err
			}
			c.defs[d.Name] = d.Expr
		case Stack:
			var err error
			if c.stack, err = shape.NewStack(op.Text); err != nil {
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
		c.pipe.After = append(c.pipe.After, convert.Stage{Transform: convert.DropFields(c.env.Helpers...), Op: -1})
	}
}

func (c *compiler) add(i int, op convert.Op) error {
	if op.Name == Copies {
		n, err := strconv.Atoi(op.Text)
		if err != nil {
			return shardify.Corrupt(-1, "copies %q", op.Text)
		}
		c.pipe.Copies = n
		if slices.Contains(c.env.Splits, trainSplit) { // copies of what is validated on tell nothing
			c.pipe.CopySplits = []string{trainSplit}
		}
		if slices.Contains(c.env.Splits, trainSplit) {
			c.pipe.CopySplits = []string{trainSplit}
		}
		return nil
	}
	s := convert.Stage{Op: i}
	var err error
	if op.Name == Augment {
		s.Transform, s.Splits, err = augmentation(op.Text, c.env)
	} else {
		s.Transform, err = c.transform(op)
	}
	if err != nil {
		return err
	}
	if slices.Index(Names, op.Name) <= slices.Index(Names, Where) {
		c.pipe.Before = append(c.pipe.Before, s)
	} else {
		c.pipe.After = append(c.pipe.After, s)
	}
	return nil
}

func (c *compiler) transform(op convert.Op) (shardify.Transform, error) {
	text, in, err := resolved(op.Text)
	if err != nil {
		return nil, err
	}
	switch op.Name {
	case Set:
		return shape.NewSet(text, c.env.Table, in)
	case Fraction:
		return shape.NewFraction(text, c.env.Table, in)
	case Where:
		return shape.NewWhere(text, c.defs)
	case Define:
		return shape.NewDefine(text)
	case NaN:
		return shape.NewNaN(text, c.env.Helpers...)
	case Encode:
		return shape.NewEncode(text)
	case Sort:
		var parts []string
		if target, _, ok := strings.Cut(text, "="); ok && c.stack != nil {
			parts = c.stack.Parts(strings.TrimSpace(target))
		}
		return shape.NewSort(text, parts)
	case Stack:
		return shape.NewStack(text)
	case Pad:
		return shape.NewPad(text)
	case Rename:
		return shape.NewRename(text)
	case Cast:
		return shape.NewCast(text)
	case Pack:
		return shape.NewPack(text)
	}
	return nil, shardify.Unsupported("operation %q of the plan", op.Name)
}
