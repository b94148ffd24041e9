// Package augment is the table of what --augment can do: random changes of images and
// arrays, and those that go with them (resizing, normalising). Each is a Transform; what
// is random about a sample follows from its identity and the seed alone.
//
//	a, err := augment.Parse("train:noise=x,sigma=0.1")
//	t, err := a.New(augment.Env{Table: table})     // a shardify.Transform
//
// The table documents itself: Table has the help that `shardify formats --augment`
// prints.
package augment

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Op is a line of the table.
type Op struct {
	Name string
	Help string // one line, no full stop
	// Value describes what follows "=": the fields, or a size.
	Value Arg
	Args  []Arg
	// Random: samples come out differently with another seed. Such an operation applies
	// to the split train alone, if there is one, unless the spec names splits.
	Random bool
	// Effect describes shapes and ranges of what comes out.
	Effect string
	make   func(a *args, env Env) (shardify.Transform, error)
}

// Arg is a setting of an operation.
type Arg struct {
	Name    string
	Default string // "" if it must be given
	Help    string
}

// Env is what transforms are made for.
type Env struct {
	// Table names the inputs: what is random follows from the names.
	Table *format.Table
}

// Spec is a parsed --augment.
type Spec struct {
	Op     *Op
	Text   string
	Splits []string // as named in the spec; nil if it names none
	args   args
}

// args are settings by name; that of Value is "".
type args struct {
	op    *Op
	spec  string // as it was given
	given map[string]string
}

// Table is everything that --augment can do.
var Table = append(slices.Clone(arrayOps), imageOps...)

// Lookup finds a line of the table.
func Lookup(name string) *Op {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i]
		}
	}
	return nil
}

// Parse reads [SPLIT,...:]NAME[=VALUE][,KEY=VALUE]...
func Parse(text string) (*Spec, error) {
	s := &Spec{Text: text}
	rest := text
	if head, tail, ok := strings.Cut(text, ":"); ok && !strings.ContainsAny(head, "=") {
		for _, name := range strings.Split(head, ",") {
			if name = strings.TrimSpace(name); name == "" {
				return nil, s.wrong("a split without a name")
			}
			s.Splits = append(s.Splits, name)
		}
		rest = tail
	}
	parts := strings.Split(rest, ",")
	name, value, valued := strings.Cut(parts[0], "=")
	if s.Op = Lookup(strings.TrimSpace(name)); s.Op == nil {
		return nil, s.wrong("no operation %q; there are %s", strings.TrimSpace(name), strings.Join(names(), ", "))
	}
	s.args = args{s.Op, text, map[string]string{}}
	if valued {
		s.args.given[""] = strings.TrimSpace(value)
	}
	for _, p := range parts[1:] {
		key, v, ok := strings.Cut(p, "=")
		key = strings.TrimSpace(key)
		if !ok || !slices.ContainsFunc(s.Op.Args, func(a Arg) bool { return a.Name == key }) {
			return nil, s.wrong("%q: want KEY=VALUE with one of %s", p, s.Op.keys())
		}
		if _, twice := s.args.given[key]; twice {
			return nil, s.wrong("%s is given twice", key)
		}
		s.args.given[key] = strings.TrimSpace(v)
	}
	if err := s.args.complete(); err != nil {
		return nil, s.wrong("%v; for example --augment '%s'", err, s.Op.Example())
	}
	_, err := s.New(Env{}) // says what is wrong with the values
	return s, err
}

// New makes the transform.
func (s *Spec) New(env Env) (shardify.Transform, error) {
	t, err := s.Op.make(&s.args, env)
	if err != nil {
		return nil, s.wrong("%v", err)
	}
	return t, nil
}

func (s *Spec) wrong(format string, a ...any) error {
	return fmt.Errorf("--augment '%s': %s", s.Text, fmt.Sprintf(format, a...))
}

func names() (out []string) {
	for i := range Table {
		out = append(out, Table[i].Name)
	}
	return out
}

func (o *Op) keys() string {
	var out []string
	for _, a := range o.Args {
		out = append(out, a.Name)
	}
	if out == nil {
		return "none: " + o.Name + " takes no settings"
	}
	return strings.Join(out, ", ")
}

// Example is a spec with every setting that must be given.
func (o *Op) Example() string {
	s := o.Name
	if o.Value.Name != "" {
		s += "=" + o.Value.Name
	}
	for _, a := range o.Args {
		if a.Default == "" {
			s += "," + a.Name + "=..."
		}
	}
	return s
}

// complete checks that everything that must be given is.
func (a *args) complete() error {
	v, ok := a.given[""]
	switch {
	case ok && a.op.Value.Name == "":
		return fmt.Errorf("%s takes no value", a.op.Name)
	case v == "" && a.op.Value.Name != "" && a.op.Value.Default == "":
		return fmt.Errorf("%s wants a value: %s", a.op.Name, a.op.Value.Help)
	}
	for _, x := range a.op.Args {
		if _, ok := a.given[x.Name]; !ok && x.Default == "" {
			return fmt.Errorf("%s wants %s: %s", a.op.Name, x.Name, x.Help)
		}
	}
	return nil
}

// text is a setting or its default; "none" for an empty default.
func (a *args) text(name string) string {
	if v, ok := a.given[name]; ok {
		return v
	}
	if name == "" {
		return a.op.Value.Default
	}
	for _, x := range a.op.Args {
		if x.Name == name && x.Default != "none" {
			return x.Default
		}
	}
	return ""
}

// number is a setting between lo and hi.
func (a *args) number(name string, lo, hi float64) (float64, error) {
	v := a.text(name)
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || !(x >= lo && x <= hi) {
		return 0, fmt.Errorf("%s=%s: want a number from %v to %v", name, v, lo, hi)
	}
	return x, nil
}

// whole is a setting that is a whole number.
func (a *args) whole(name string, lo, hi int) (int, error) {
	v := a.text(name)
	n, err := strconv.Atoi(v)
	if err != nil || n < lo || n > hi {
		return 0, fmt.Errorf("%s=%s: want a whole number from %d to %d", strings.TrimPrefix(name, "="), v, lo, hi)
	}
	return n, nil
}

// pair is LO:HI, or one number for both.
func (a *args) pair(name string, lo, hi float64) (from, to float64, err error) {
	v := a.text(name)
	x, y, ok := strings.Cut(v, ":")
	if !ok {
		y = x
	}
	from, err1 := strconv.ParseFloat(x, 64)
	to, err2 := strconv.ParseFloat(y, 64)
	if err1 != nil || err2 != nil || !(from >= lo && to <= hi && from <= to) {
		return 0, 0, fmt.Errorf("%s=%s: want LO:HI between %v and %v", name, v, lo, hi)
	}
	return from, to, nil
}

// fields are the names in the value, joined by +.
func (a *args) fields() []string {
	var out []string
	for _, n := range strings.Split(a.text(""), "+") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}
