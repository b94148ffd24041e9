package rows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// kind is a way in which some files have a field.
type kind struct {
	field   shardify.Field
	varies  bool // in shape
	rank    int
	layouts map[*layout]bool
}

// unify finds for every candidate the field that all its files can deliver.
func (m *merger) unify() error {
	var wrong []string
	more := 0
	for _, c := range m.cands {
		kinds := m.kinds(c)
		what := m.combine(c, kinds)
		if what == "" {
			m.noteChanges(c, kinds)
			continue
		}
		if len(wrong) == listed {
			more++
			continue
		}
		var sides []string
		for _, k := range kinds {
			sides = append(sides, fmt.Sprintf("%s in %s", k.text(what), m.in(k.layouts)))
		}
		if n := len(sides) - listed; n > 0 {
			sides = append(sides[:listed], fmt.Sprintf("and %d more", n))
		}
		wrong = append(wrong, fmt.Sprintf("field %s differs in %s: %s", c.name, what, strings.Join(sides, ", ")))
	}
	if more > 0 {
		wrong = append(wrong, fmt.Sprintf("and %d more fields", more))
	}
	if len(wrong) > 0 {
		return shardify.Mismatch("%s; --columns leaves out such fields", strings.Join(wrong, "; "))
	}
	return nil
}

// kinds groups the files that have a field by how they have it.
func (m *merger) kinds(c *candidate) []*kind {
	var all []*kind
	byKey := map[string]*kind{}
	for _, r := range c.refs {
		f := r.get()
		s := surveyed{fields: []shardify.Field{*f}, at: []int32{0}}
		s.fields[0].Counter, s.fields[0].Nullable = "", false
		varies := r.layout.varies[r.field]
		s.makeKey(varies, false)
		k := byKey[string(s.key)]
		if k == nil {
			k = &kind{field: *f, varies: varies, rank: len(f.Shape), layouts: map[*layout]bool{}}
			if f.Ragged {
				k.rank = rank(r.layout.fields, f.Name)
			}
			byKey[string(s.key)] = k
			all = append(all, k)
		}
		k.field.Attrs = commonAttrs(k.field.Attrs, f.Attrs)
		k.field.Nullable = k.field.Nullable || f.Nullable
		if k.field.Counter != f.Counter {
			k.field.Counter = ""
		}
		k.layouts[r.layout] = true
	}
	return all
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

// combine makes c.field of the kinds, or says in what they differ.
func (m *merger) combine(c *candidate, kinds []*kind) (differ string) {
	f := kinds[0].field
	c.rank = kinds[0].rank
	ragged := f.Ragged || kinds[0].varies
	types := []shardify.DType{f.DType}
	for _, k := range kinds[1:] {
		g := &k.field
		types = append(types, g.DType)
		switch {
		case g.Media != f.Media:
			return "type"
		case m.f.Ragged && shaped(&f) && shaped(g) && k.rank == c.rank:
			ragged = ragged || g.Ragged || k.varies || !slices.Equal(f.Shape, g.Shape)
		case g.Levels != f.Levels || g.Ragged != f.Ragged:
			return "levels"
		case !slices.Equal(f.Shape, g.Shape) || k.rank != c.rank:
			return "shape"
		}
		if what := mergeAttrs(&f, g); what != "" {
			return what
		}
		f.Nullable = f.Nullable || g.Nullable
		if f.Counter != g.Counter {
			f.Counter = ""
		}
	}
	var ok bool
	if f.DType, ok = Common(types...); !ok {
		return "type"
	}
	if ragged {
		f.Ragged, f.Levels, f.Shape = true, 1, nil
	}
	if c.fill { // where it is filled, its lists are empty and those of its counter are not
		f.Nullable, f.Counter = true, ""
	}
	c.field = f
	return ""
}

// shaped tells whether a field has a shape that may differ from file to file.
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
		case hasA && hasB && a == b, k == "unit" && !hasB:
		case k == "unit" && !hasA:
			a = b
		case k == "labels" && hasA && hasB && strings.HasPrefix(a, b+shardify.LabelSeparator):
		case k == "labels" && hasA && hasB && strings.HasPrefix(b, a+shardify.LabelSeparator):
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

// noteChanges says what readers will do to the files' own columns.
func (m *merger) noteChanges(c *candidate, kinds []*kind) {
	if len(c.void) > 0 {
		m.notes = append(m.notes, fmt.Sprintf("field %s is missing in %s of %d: %s there", c.name, m.in(c.void), m.files, nothing))
	}
	byType := map[shardify.DType]map[*layout]bool{}
	var order []shardify.DType
	fixed := false
	for _, k := range kinds {
		t := k.field.DType
		if byType[t] == nil {
			byType[t] = map[*layout]bool{}
			order = append(order, t)
		}
		maps.Copy(byType[t], k.layouts)
		fixed = fixed || !k.field.Ragged
	}
	if c.field.Ragged && fixed {
		m.notes = append(m.notes, fmt.Sprintf("field %s has shapes that differ: it is ragged", c.name))
	}
	if len(order) < 2 {
		return
	}
	var from []string
	for _, t := range order {
		from = append(from, fmt.Sprintf("%s in %s", t, m.in(byType[t])))
	}
	m.notes = append(m.notes, fmt.Sprintf("field %s is widened to %s: %s", c.name, c.field.DType, strings.Join(from, ", ")))
}
