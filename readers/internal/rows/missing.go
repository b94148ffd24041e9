package rows

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// applyMissing decides about the fields that some files lack.
func (m *merger) applyMissing() error {
	var lacking []*candidate
	for _, c := range m.cands {
		if c.files < m.files {
			lacking = append(lacking, c)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	switch m.missing {
	case Intersect:
		return m.intersect(lacking)
	case Drop:
		return m.dropFiles(lacking)
	case Fill:
		return m.fillIn(lacking)
	}
	return m.differ(lacking)
}

// maxPairs bounds fields times layouts where each pair costs time or memory: files
// with hardly a field in common are not a table.
const maxPairs = 1 << 24

func (m *merger) fillIn(lacking []*candidate) error {
	if len(m.cands) > maxPairs/len(m.live) {
		return shardify.Mismatch("the inputs have hardly a field in common: %d fields in all, in %d different sets; --missing intersect, or --columns", len(m.cands), len(m.live))
	}
	for _, c := range lacking {
		c.fill = true
		m.notes = append(m.notes, fmt.Sprintf("field %s is filled in %s of %d (--missing fill)", c.name, m.in(m.without(c)), m.files))
	}
	return nil
}

// without is the layouts that lack a field.
func (m *merger) without(c *candidate) map[*layout]bool {
	has, lacks := c.layouts(), map[*layout]bool{}
	for _, l := range m.live {
		if !has[l] {
			lacks[l] = true
		}
	}
	return lacks
}

// listed is how many fields an error about many of them names.
const listed = 8

// differ is the error about fields that only some files have.
func (m *merger) differ(lacking []*candidate) error {
	var all []string
	for _, c := range lacking[:min(len(lacking), listed)] {
		all = append(all, fmt.Sprintf("field %s is in %s, not in %s", c.name, m.in(c.layouts()), m.in(m.without(c))))
	}
	if more := len(lacking) - listed; more > 0 {
		all = append(all, fmt.Sprintf("and %d more fields", more))
	}
	way := func(m Missing, makes string) format.Way {
		return format.Way{Options: format.Options{Option.Name: string(m)}, Makes: makes}
	}
	d := format.NewDoubt("the inputs differ: "+strings.Join(all, "; "), []format.Way{
		way(Intersect, "samples without "+printable.Of(int64(len(lacking)), "field")),
		way(Fill, "empty values where fields are missing"),
		way(Drop, "samples of the inputs that have all fields"),
	})
	d.Differ = true
	return d
}

func (m *merger) intersect(lacking []*candidate) error {
	for _, c := range lacking {
		where := inputs(m.files - c.files)
		if len(m.cands) <= maxPairs/len(m.live) {
			where = m.in(m.without(c))
		}
		if m.want.Exact(c.name) {
			return shardify.Mismatch("field %s was asked for by name and is not in %s; --missing drop leaves those out, --missing fill writes empty values", c.name, where)
		}
		m.left = append(m.left, format.Leftover{Name: c.name, Reason: fmt.Sprintf("not in %s of %d (--missing intersect)", where, m.files)})
	}
	m.drop(func(c *candidate) bool { return c.files < m.files })
	if len(m.cands) == 0 {
		return shardify.Mismatch("no field is in all %d inputs: nothing is left by --missing intersect", m.files)
	}
	return nil
}

// dropFiles takes out the files that lack a field.
func (m *merger) dropFiles(lacking []*candidate) error {
	has := make(map[*layout]int, len(m.live))
	for _, c := range m.cands {
		for _, r := range c.refs {
			has[r.layout]++
		}
		for l := range c.void {
			has[l]++
		}
	}
	lacks := func(l *layout) bool { return has[l] < len(m.cands) }
	keep := m.live[:0:0]
	var out failures
	for _, l := range m.live {
		if !lacks(l) {
			keep = append(keep, l)
			continue
		}
		if out.add(l.first[0], errText("")); out.count == 1 { // the first file of all
			out.first[0].err = errText(fmt.Sprintf("lacks %s (--missing drop)", lackedBy(l, lacking)))
		}
		out.count += l.files - 1
	}
	if len(keep) == 0 {
		return shardify.Mismatch("no input has all of the %d fields: nothing is left by --missing drop; %s", len(m.cands), format.Reason(m.differ(lacking)))
	}
	m.live, m.files = keep, m.files-out.count
	for i := range m.entries {
		if e := &m.entries[i]; e.layout != none && e.samples > 0 && lacks(m.layouts[e.layout]) {
			e.layout = none
		}
	}
	m.left = append(m.left, m.fileLeft(&out))
	for _, c := range m.cands {
		c.refs = slices.DeleteFunc(c.refs, func(r ref) bool { return lacks(r.layout) })
		maps.DeleteFunc(c.void, func(l *layout, _ bool) bool { return lacks(l) })
		c.files, c.fill = m.files, len(c.void) > 0
	}
	return m.dropVoid()
}

// dropVoid leaves out the fields of which the files that are left have no value.
func (m *merger) dropVoid() error {
	for _, c := range m.cands {
		if len(c.refs) > 0 {
			continue
		}
		if m.want.Exact(c.name) {
			return shardify.Mismatch("field %s was asked for by name, and %s in the inputs that --missing drop leaves", c.name, nothing)
		}
		m.left = append(m.left, format.Leftover{Name: c.name, Reason: nothing + " in the inputs that --missing drop leaves"})
	}
	m.drop(func(c *candidate) bool { return len(c.refs) == 0 })
	return nil
}

// lackedBy names the fields that a layout lacks.
func lackedBy(l *layout, lacking []*candidate) string {
	var names []string
	for _, c := range lacking {
		if !c.layouts()[l] {
			names = append(names, c.name)
		}
	}
	return examples(names, len(names))
}
