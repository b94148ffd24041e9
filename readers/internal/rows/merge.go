package rows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// merger makes one schema of the layouts that the survey found.
type merger struct {
	*collector
	ctx     context.Context
	set     *Set
	want    *Wanted
	missing Missing
	alone   bool // no field is needed: there is one beside those of the files

	live   []*layout // whose files count: with samples, not dropped; by first file
	files  int64     // of live
	cands  []*candidate
	byName map[string]*candidate
	left   []format.Leftover
	notes  []string
}

// candidate is a field that may become one of the schema.
type candidate struct {
	name  string
	refs  []ref            // by layout, in the order of live
	files int64            // that have it
	fill  bool             // some files lack it, or have nothing but missing values
	void  map[*layout]bool // that have nothing but missing values
	field shardify.Field
	rank  int // of a Ragged field
	// shape is, for layouts in which the field is Ragged, the index of its companion.
	shape map[*layout]int
}

// ref is a field of a layout.
type ref struct {
	layout *layout
	field  int
}

func (r ref) get() *shardify.Field { return &r.layout.fields[r.field] }

func (m *merger) merge() error {
	if err := m.begin(); err != nil {
		return err
	}
	if err := m.unreadable(); err != nil {
		return err
	}
	if err := m.findWanted(); err != nil {
		return err
	}
	if err := m.applyMissing(); err != nil {
		return err
	}
	if len(m.cands) == 0 && !m.alone {
		return m.nothing()
	}
	if err := m.unify(); err != nil {
		return err
	}
	m.shareCounters()
	m.build()
	m.set.notes = append(m.set.notes, m.want.Renamed(m.set.schema)...)
	if err := m.set.validate(m.set.schema); err != nil {
		return fmt.Errorf("%w; --columns selects some", err)
	}
	return nil
}

// begin finds the layouts that count and their fields. Files without samples do not count, unless
// all are such: their columns often have another type.
func (m *merger) begin() error {
	out := m.foreign.count + int64(len(m.skipped))
	if m.foreign.count == int64(m.table.Len()) {
		err := shardify.Unsupported("%s (%d inputs)", m.foreign.first[0].err, m.foreign.count)
		return shardify.Annotate(err, "open", m.table.Shown(int(m.foreign.first[0].input)), "")
	}
	if m.foreign.count > 0 {
		m.left = append(m.left, m.fileLeft(&m.foreign))
	}
	var empty Inputs
	for i := range m.entries {
		if e := &m.entries[i]; e.layout != none && e.samples == 0 {
			empty.Add(e.input)
		}
	}
	for _, l := range m.layouts {
		if !l.empty || empty.count+out == int64(m.table.Len()) {
			m.live = append(m.live, l)
		}
	}
	m.notes = append(m.notes, Empty(m.table, &empty)...)
	for _, text := range slices.Sorted(maps.Keys(m.remarks)) {
		r := m.remarks[text]
		m.notes = append(m.notes, fmt.Sprintf("%s: %s in %s", text, printable.Of(r.samples, "sample"), r.in.text(m.table)))
	}
	slices.SortFunc(m.live, func(a, b *layout) int { return cmp.Compare(a.first[0], b.first[0]) })
	m.byName = map[string]*candidate{}
	for _, l := range m.live {
		m.files += l.files
		m.addFields(l)
	}
	return nil
}

// addFields makes candidates of the fields of a layout, except companions, which go with their
// fields.
func (m *merger) addFields(l *layout) {
	shapes := map[string]int{}
	for i := range l.fields {
		if shardify.Companion(l.fields, i) {
			shapes[l.fields[i].Name] = i
		}
	}
	for i := range l.fields {
		f := &l.fields[i]
		if _, ok := shapes[f.Name]; ok {
			continue
		}
		c := m.byName[f.Name]
		if c == nil {
			c = &candidate{name: f.Name}
			m.byName[c.name] = c
			m.cands = append(m.cands, c)
		}
		if k, ok := shapes[f.Name+shardify.ShapeSuffix]; ok {
			if c.shape == nil {
				c.shape = map[*layout]int{}
			}
			c.shape[l] = k
		}
		c.refs = append(c.refs, ref{l, i})
		c.files += l.files
	}
}

// fileLeft is the leftover for files that are left out for one kind of reason.
func (m *merger) fileLeft(f *failures) format.Leftover {
	return format.Leftover{Name: m.table.Name(int(f.first[0].input)), Reason: f.first[0].err.Error(), Count: f.count}
}

// in says which files have one of the layouts: "3 inputs (a, b, c)".
func (m *merger) in(layouts map[*layout]bool) string {
	var in Inputs
	for l := range layouts {
		in.join(l.files, l.first)
	}
	return in.text(m.table)
}

// layouts are those of the files that have the field.
func (c *candidate) layouts() map[*layout]bool {
	all := make(map[*layout]bool, len(c.refs)+len(c.void))
	maps.Copy(all, c.void)
	for _, r := range c.refs {
		all[r.layout] = true
	}
	return all
}

// unread is a field that some files have and cannot deliver.
type unread struct {
	leftField
	layouts map[*layout]bool
	files   int64
}

// unreadable leaves out the fields that no file delivers, and refuses those that only some
// do: what the others hold must not get lost unseen.
func (m *merger) unreadable() error {
	byName := map[string]*unread{}
	var all, some []*unread
	for _, l := range m.live {
		for _, x := range m.untyped(l) {
			b := byName[x.name]
			if b == nil {
				b = &unread{leftField: x, layouts: map[*layout]bool{}}
				byName[x.name] = b
				all = append(all, b)
			}
			b.layouts[l] = true
			b.files += l.files
		}
	}
	for _, b := range all {
		why := b.reason
		if m.want.Exact(b.name) {
			err := shardify.Unsupported("%s", why)
			err.Field = b.name
			return shardify.Annotate(err, "open", m.table.Shown(int(b.input)), "")
		}
		if m.byName[b.name] != nil {
			some = append(some, b)
			continue
		}
		if b.files < m.files {
			why = fmt.Sprintf("%s, in %s of %d", why, m.in(b.layouts), m.files)
		}
		m.left = append(m.left, format.Leftover{Name: b.name, Reason: why, Unreadable: b.unreadable, Err: b.err})
	}
	return m.someUnread(some)
}

// someUnread is the error about fields that some files deliver and others have, but cannot.
func (m *merger) someUnread(some []*unread) error {
	if len(some) == 0 {
		return nil
	}
	var why, cure []string
	for i, b := range some {
		cure = append(cure, "!"+b.name)
		switch {
		case i < listed:
			why = append(why, fmt.Sprintf("field %s is in the other inputs, not in %s of %d: %s", b.name, m.in(b.layouts), m.files, b.reason))
		case i == listed:
			why = append(why, fmt.Sprintf("and %d more fields", len(some)-listed))
		}
	}
	text := fmt.Sprintf("%s; --columns '%s' leaves out such fields", strings.Join(why, "; "), strings.Join(cure, ","))
	err := shardify.Mismatch("%s", text)
	if some[0].unreadable {
		err = shardify.Unsupported("%s", text)
	}
	return shardify.Annotate(err, "open", m.table.Shown(int(some[0].input)), "")
}

// nothing is why a field is left out that has no value anywhere.
const nothing = "it holds nothing but missing values"

// untyped lists what a layout cannot deliver, but not fields without a type for which other files
// have one: they become missing values.
func (m *merger) untyped(l *layout) []leftField {
	left := l.left[:len(l.left):len(l.left)]
	for _, name := range l.void {
		c := m.byName[name]
		if c == nil {
			left = append(left, leftField{name: name, reason: nothing, input: l.first[0]})
			continue
		}
		if c.void == nil {
			c.void = map[*layout]bool{}
		}
		c.void[l], c.fill = true, true
		c.files += l.files
	}
	return left
}

// drop takes candidates out.
func (m *merger) drop(is func(c *candidate) bool) {
	m.cands = slices.DeleteFunc(m.cands, func(c *candidate) bool {
		if !is(c) {
			return false
		}
		delete(m.byName, c.name)
		return true
	})
}

// findWanted refuses globs that nothing matched.
func (m *merger) findWanted() error {
	if len(m.want.Unmatched()) == 0 {
		return nil
	}
	return m.want.Check(m.available())
}

// available looks into the first file again for all that it has.
func (m *merger) available() []string {
	all, _ := NewWanted(nil)
	for _, l := range m.layouts {
		facts, err := m.f.Look(m.ctx, m.table.Path(int(l.first[0])), all)
		if err != nil {
			continue
		}
		var names []string
		for i := range facts.Fields {
			names = append(names, facts.Fields[i].Name)
		}
		for i := range facts.Left {
			names = append(names, facts.Left[i].Name)
		}
		names = append(names, facts.Void...)
		return names
	}
	return nil
}

// nothing says why there is no field at all.
func (m *merger) nothing() error {
	var why []string
	var ways []format.Way // of the first that has any
	for _, l := range m.left {
		if l.Count > 0 {
			continue
		}
		why = append(why, strings.TrimPrefix(l.Name+": "+l.Reason, ": "))
		if c, ok := errors.AsType[*format.Cured](l.Err); ok && ways == nil {
			ways = c.Ways
		}
	}
	text := "no fields to read"
	if len(why) > 0 {
		text += ": " + strings.Join(why[:min(len(why), shown)], "; ")
	}
	if more := len(why) - shown; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	err := shardify.Unsupported("%s", text)
	if ways != nil {
		err = format.Cure(err, ways...)
	}
	return shardify.Annotate(err, "open", m.table.Shown(int(m.live[0].first[0])), "")
}
