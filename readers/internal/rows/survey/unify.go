package survey

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/grid"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// LeaveOut is what users can do about fields that differ in every format.
const LeaveOut = "--columns leaves out such fields"

// Unifier makes one field each of the fields that inputs have in different ways. A Set
// has one; formats that survey their inputs by themselves have the same rule, and say
// it in the same words.
type Unifier struct {
	Table  *format.Table
	Ragged bool                    // as in Format
	Rounds func(field string) bool // as in format.OpenArgs

	wrong   []string
	more    int
	inexact string // a field with numbers of types that no type holds
}

// Kinds are the ways in which inputs have one field.
type Kinds struct {
	all   []*kind
	byKey map[string]*kind
}

// kind is a way in which some inputs have a field.
type kind struct {
	field  shardify.Field
	varies bool // in shape
	rank   int
	in     Inputs
}

// Add counts inputs that have the field like this. They must not have been counted
// before.
func (k *Kinds) Add(f *shardify.Field, in *Inputs) {
	k.of(f, false, len(f.Shape)).in.join(in.count, in.first)
}

// of is the kind that a field is of. Properties in which inputs of one kind differ, and those that
// do not distinguish kinds, are not in its field.
func (k *Kinds) of(f *shardify.Field, varies bool, rank int) *kind {
	s := checked{fields: []shardify.Field{*f}, at: []int32{0}}
	s.fields[0].Counter, s.fields[0].Nullable = "", false
	s.makeKey(varies, false)
	x := k.byKey[string(s.key)]
	if x == nil {
		x = &kind{field: *f, varies: varies, rank: rank}
		if k.byKey == nil {
			k.byKey = map[string]*kind{}
		}
		k.byKey[string(s.key)] = x
		k.all = append(k.all, x)
	}
	x.field.Attrs = commonAttrs(x.field.Attrs, f.Attrs)
	x.field.Nullable = x.field.Nullable || f.Nullable
	if x.field.Counter != f.Counter {
		x.field.Counter = ""
	}
	return x
}

// Field is the field that all inputs can deliver, and what readers will do to the
// inputs' own columns. Without one it is part of the error.
func (u *Unifier) Field(name string, k *Kinds) (f shardify.Field, notes []string, ok bool) {
	f, what := u.combine(name, k.all)
	if what == "" {
		return f, u.changes(name, &f, k.all), true
	}
	var sides []string
	for _, x := range k.all {
		sides = append(sides, fmt.Sprintf("%s in %s", x.text(what), x.in.text(u.Table)))
	}
	if n := len(sides) - listed; n > 0 {
		sides = append(sides[:listed], fmt.Sprintf("and %d more", n))
	}
	u.refuse(fmt.Sprintf("field %s differs in %s: %s", name, what, strings.Join(sides, ", ")))
	if what == "type" && f.DType == shardify.F64 {
		u.inexact = cmp.Or(u.inexact, name)
	}
	return f, nil, false
}

// refuse makes a text part of the error.
func (u *Unifier) refuse(text string) {
	if len(u.wrong) == listed {
		u.more++
	} else {
		u.wrong = append(u.wrong, text)
	}
}

// Err is one error about all fields that differ, with what to do about it.
func (u *Unifier) Err(hint string) error {
	if len(u.wrong) == 0 {
		return nil
	}
	if u.inexact != "" {
		hint = fmt.Sprintf("no type holds the numbers of all exactly: --cast '%s=f64' rounds them; %s", u.inexact, hint)
	}
	all := u.wrong
	if u.more > 0 {
		all = append(all[:len(all):len(all)], fmt.Sprintf("and %d more fields", u.more))
	}
	return shardify.Mismatch("%s; %s", strings.Join(all, "; "), hint)
}

// unify finds for every candidate the field that all its files can deliver, and the coordinates of its dimensions.
func (m *merger) unify() (map[string]map[string]*grid.Coord, error) {
	u := Unifier{Table: m.table, Ragged: m.f.Ragged, Rounds: m.rounds}
	for _, c := range m.cands.list {
		kinds := c.kinds()
		f, notes, ok := u.Field(c.name, kinds)
		if !ok {
			continue
		}
		c.field, c.rank = f, kinds.all[0].rank
		if c.fill { // where it is filled, its lists are empty and those of its counter are not
			c.field.Nullable, c.field.Counter = true, ""
		}
		if len(c.void) > 0 {
			m.note("field %s is missing in %s of %d: %s there", c.name, m.in(c.void), m.count, nothing)
		}
		m.notes = append(m.notes, notes...)
	}
	coords, hint := m.grids(&u), LeaveOut
	if len(u.wrong)+u.more == len(m.cands.list) {
		hint = "convert the inputs of each kind by themselves, by a pattern of their names"
	}
	return coords, u.Err(hint)
}

// text is what the files have, as far as it matters for what differs.
func (k *kind) text(what string) string {
	if v, ok := k.field.Attrs[what]; ok || slices.Contains(keptAttrs, what) {
		if !ok {
			return "none"
		}
		return fmt.Sprintf("%.40q", strings.ReplaceAll(v, shardify.LabelSeparator, ","))
	}
	if k.varies {
		return fmt.Sprintf("%s of %d dimensions that vary", k.field.DType, k.rank)
	}
	return typeOf(&k.field)
}

// combine makes a field of the kinds, or says in what they differ; its type is f64 if that is what numbers could be rounded to.
func (u *Unifier) combine(name string, kinds []*kind) (f shardify.Field, differ string) {
	f = kinds[0].field
	rank := kinds[0].rank
	ragged := f.Ragged || kinds[0].varies
	types := []shardify.DType{f.DType}
	for _, k := range kinds[1:] {
		g := &k.field
		types = append(types, g.DType)
		switch {
		case g.Media != f.Media:
			return shardify.Field{}, "type"
		case u.Ragged && shaped(&f) && shaped(g) && k.rank == rank:
			ragged = ragged || g.Ragged || k.varies || !slices.Equal(f.Shape, g.Shape)
		case g.Levels != f.Levels || g.Ragged != f.Ragged:
			return f, "levels"
		case !slices.Equal(f.Shape, g.Shape) || k.rank != rank:
			return f, "shape"
		}
		if what := mergeAttrs(&f, g); what != "" {
			return f, what
		}
		f.Nullable = f.Nullable || g.Nullable
		if f.Counter != g.Counter {
			f.Counter = ""
		}
	}
	var ok bool
	if f.DType, ok = coltype.Common(types...); !ok && (f.DType != shardify.F64 || u.Rounds == nil || !u.Rounds(name)) {
		return f, "type"
	}
	if ragged && !f.Ragged {
		f.Ragged, f.Levels, f.Shape = true, 1, nil
	}
	return f, ""
}

// shaped reports whether a field has a shape that may differ from file to file.
func shaped(f *shardify.Field) bool { return f.Ragged || mayVary(f) }

// mergeAttrs makes f's attributes those of both, or names the one in which they
// contradict. Codes that were added behind the others contradict nothing, nor does a
// file that has no unit.
func mergeAttrs(f, g *shardify.Field) (differ string) {
	kept := map[string]string{}
	for _, k := range keptAttrs {
		a, hasA := f.Attrs[k]
		b, hasB := g.Attrs[k]
		switch {
		case !hasA && !hasB:
			continue
		case hasA && hasB && a == b, k == "unit" && !hasB, k == "labels" && hasA && hasB && strings.HasPrefix(a, b+shardify.LabelSeparator):
		case k == "unit" && !hasA, k == "labels" && hasA && hasB && strings.HasPrefix(b, a+shardify.LabelSeparator):
			a = b
		default:
			return k
		}
		kept[k] = a
	}
	maps.Copy(kept, commonAttrs(f.Attrs, g.Attrs)) // of the kept ones, those that are equal
	if f.Attrs = kept; len(kept) == 0 {
		f.Attrs = nil
	}
	return ""
}

// changes says what readers will do to the inputs' own columns of a field.
func (u *Unifier) changes(name string, f *shardify.Field, kinds []*kind) (notes []string) {
	byType := map[shardify.DType]*Inputs{}
	var order []shardify.DType
	fixed := false
	for _, k := range kinds {
		t := k.field.DType
		if byType[t] == nil {
			byType[t] = &Inputs{}
			order = append(order, t)
		}
		byType[t].join(k.in.count, k.in.first)
		fixed = fixed || !k.field.Ragged
	}
	if f.Ragged && fixed {
		notes = append(notes, fmt.Sprintf("field %s has shapes that differ: it is ragged", name))
	}
	if len(order) < 2 {
		return notes
	}
	var from []string
	for _, t := range order {
		from = append(from, fmt.Sprintf("%s in %s", t, byType[t].text(u.Table)))
	}
	how := "widened"
	if _, ok := coltype.Common(order...); !ok {
		how = "rounded, as --cast allows,"
	}
	return append(notes, fmt.Sprintf("field %s is %s to %s: %s", name, how, f.DType, strings.Join(from, ", ")))
}
