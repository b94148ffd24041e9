package settings

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/transform"
)

// Rules say when a setting may be given. One that would have no effect is an error.
type Rules struct {
	// Why a setting that is given has an effect, or what else refuses it.
	Why string
	// With are settings one of which must be given, too.
	With []string
	// Not are settings that must not be given as well.
	Not []Exclusion
	// Off is a value with which the setting counts as left out.
	Off string
	// Useless says why the setting has no effect on a plan; "" if it has.
	Useless func(s *Settings, p *plan.Plan) (why string)
	// Moves: the setting leaves samples out or changes their order, with each value or with those that the
	// function finds; MovesWith shows such a value.
	Moves     func(value string) bool
	MovesWith string
	// Alone says why a set that was made with the setting cannot be extended.
	Alone string
	// Fields: the value is names of fields, which the shell completes.
	Fields bool
}

// Exclusion is a setting that excludes another one.
type Exclusion struct{ Name, Why string } // Why may be empty

var (
	always  = Rules{Why: "it always has an effect"}
	bound   = Rules{Why: "it is a bound or a permission, or says how to work"}
	onError = Rules{Why: bound.Why, Moves: func(value string) bool { return value == plan.OnErrorSkip }, MovesWith: " " + plan.OnErrorSkip}
	matched = Rules{Why: "the code that uses it refuses a name or glob that matches nothing"}
)

func with(names ...string) Rules { return Rules{With: names} }

func (r Rules) moves() Rules { r.Moves = func(string) bool { return true }; return r }

// drops: the setting moves samples if a word of its value is drop, as shown.
func (r Rules) drops(shown string) Rules {
	r.MovesWith, r.Moves = shown, func(value string) bool {
		return slices.Contains(strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,=", r) }), "drop")
	}
	return r
}
func (r Rules) off(value string) Rules { r.Off = value; return r }
func (r Rules) alone(why string) Rules { r.Alone = why; return r }
func (r Rules) fields() Rules          { r.Fields = true; return r }

func (r Rules) not(name, why string) Rules {
	r.Not = append(slices.Clip(r.Not), Exclusion{name, why})
	return r
}

// uselessSeed: --seed 0 is the default.
func uselessSeed(s *Settings, p *plan.Plan) string {
	if p.Order.Shuffle != "" || p.Splits.Rule != nil && !p.Splits.Rule.Named() && !p.Splits.Rule.ByValue() || transform.Random(p.Steps.Ops) {
		return ""
	}
	return "nothing is random: the seed is for --shuffle, --split, --fraction, --pick and operations of --augment that are random"
}

// Moving is the first setting but one that leaves samples out or changes their order, with the value that does; "" if none does.
func (s *Settings) Moving(but string) string {
	for i := range Keys {
		k := &Keys[i]
		if k.Rules.Moves == nil || k.Name == but || !k.on(s) {
			continue
		}
		values := []string{k.Of(s).String()}
		if list, ok := k.Of(s).(Several); ok {
			values = list.All()
		}
		if slices.ContainsFunc(values, k.Rules.Moves) {
			return k.Name + k.Rules.MovesWith
		}
	}
	return ""
}

// on reports whether a setting counts as given for others.
func (k *Key) on(s *Settings) bool { return k.Given(s) && k.Of(s).String() != k.Rules.Off }

// together refuses settings that exclude each other, or that are for one that is not given.
func (s *Settings) together() error {
	on := func(name string) bool { return Lookup(name).on(s) }
	for i := range Keys {
		k := &Keys[i]
		if !k.on(s) {
			continue
		}
		if with := k.Rules.With; with != nil && !slices.ContainsFunc(with, on) {
			return without(k.Name, shardify.Usage("--%s goes with --%s", k.Name, strings.Join(with, " or --")))
		}
		for _, x := range k.Rules.Not {
			if on(x.Name) {
				why := ""
				if x.Why != "" {
					why = ": " + x.Why
				}
				err := shardify.Usage("--%s and --%s exclude each other%s", k.Name, x.Name, why)
				return &format.Cured{Err: err, Ways: []format.Way{{Without: x.Name, Makes: "with --" + k.Name}, {Without: k.Name, Makes: "with --" + x.Name}}}
			}
		}
	}
	return nil
}

// without is an error that a setting causes.
func without(name string, err error) error {
	return &format.Cured{Err: err, Ways: []format.Way{{Without: name, Makes: "without it"}}}
}

// Useless refuses a setting that has no effect on a plan.
func (s *Settings) Useless(p *plan.Plan) error {
	for i := range Keys {
		if k := &Keys[i]; k.Rules.Useless != nil && k.Given(s) {
			if why := k.Rules.Useless(s, p); why != "" {
				return without(k.Name, shardify.Usage("--%s %s has no effect: %s", k.Name, k.Of(s), why))
			}
		}
	}
	return nil
}

// Check refuses values that Set would, and settings that do not go together.
func (s *Settings) Check() error {
	for i := range Keys {
		if err := Keys[i].Check(s); err != nil {
			return shardify.Usage("--%s %v", Keys[i].Name, err)
		}
	}
	return s.together()
}
