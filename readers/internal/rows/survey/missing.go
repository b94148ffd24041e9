package survey

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// Option is the --missing of every format that uses the package.
var Option = format.Option{
	Name: "missing", Idle: format.Permission, Kind: format.KindEnum, Default: string(Fail),
	Values: []string{string(Fail), string(Intersect), string(Drop), string(Fill)},
	Help:   "fields that some inputs lack: refuse, leave out the field, leave out the input, or write an empty value",
}

// Missing is a value of Option.
type Missing string

// What to do about a field that some inputs lack.
const (
	Fail      Missing = "fail"
	Intersect Missing = "intersect"
	Drop      Missing = "drop"
	Fill      Missing = "fill"
)

// gaps are the fields that some files lack.
type gaps struct {
	*merger
	lacking []*candidate
}

// someLack decides about the fields that some files lack.
func (m *merger) someLack(missing Missing) error {
	g := gaps{merger: m}
	for _, c := range m.cands.list {
		if c.files < m.count {
			g.lacking = append(g.lacking, c)
		}
	}
	if len(g.lacking) == 0 {
		return nil
	}
	switch missing {
	case Intersect:
		return g.intersect()
	case Drop:
		return g.dropFiles()
	case Fill:
		return g.fillIn()
	}
	return g.differ()
}

// maxPairs bounds fields times layouts where each pair costs time or memory: files
// with hardly a field in common are not a table.
const maxPairs = 1 << 24

func (g *gaps) fillIn() error {
	if len(g.cands.list) > maxPairs/len(g.live) {
		return shardify.Mismatch("the inputs have hardly a field in common: %d fields in all, in %d different sets; --missing intersect, or --columns", len(g.cands.list), len(g.live))
	}
	for _, c := range g.lacking {
		c.fill = true
		g.note("field %s is filled in %s of %d (--missing fill)", c.name, g.in(without(g.live, c)), g.count)
	}
	return nil
}

// without is the layouts that lack a field.
func without(live []*layout, c *candidate) map[*layout]bool {
	has, lacks := c.layouts(), map[*layout]bool{}
	for _, l := range live {
		if !has[l] {
			lacks[l] = true
		}
	}
	return lacks
}

// listed is how many fields an error about many of them names.
const listed = 8

// differ is the error about fields that only some files have.
func (g *gaps) differ() error {
	var all []string
	for _, c := range g.lacking[:min(len(g.lacking), listed)] {
		all = append(all, fmt.Sprintf("field %s is in %s, not in %s", c.name, g.in(c.layouts()), g.in(without(g.live, c))))
	}
	if more := len(g.lacking) - listed; more > 0 {
		all = append(all, fmt.Sprintf("and %d more fields", more))
	}
	way := func(m Missing, makes string) format.Way {
		return format.Way{Options: format.Options{Option.Name: string(m)}, Makes: makes}
	}
	d := format.NewAmbiguous("the inputs differ: "+strings.Join(all, "; "), []format.Way{
		way(Intersect, "samples without "+printable.Of(int64(len(g.lacking)), "field")),
		way(Fill, "empty values where fields are missing"),
		way(Drop, "samples of the inputs that have all fields"),
	})
	d.Differ = true
	return d
}

func (g *gaps) intersect() error {
	for _, c := range g.lacking {
		where := printable.Of(g.count-c.files, "input")
		if len(g.cands.list) <= maxPairs/len(g.live) {
			where = g.in(without(g.live, c))
		}
		if g.want.Exact(c.name) {
			return shardify.Mismatch("field %s was asked for by name and is not in %s; --missing drop leaves those out, --missing fill writes empty values", c.name, where)
		}
		g.leave(c.name, fmt.Sprintf("not in %s of %d (--missing intersect)", where, g.count))
	}
	g.cands.drop(func(c *candidate) bool { return c.files < g.count })
	if len(g.cands.list) == 0 {
		return shardify.Mismatch("no field is in all %d inputs: nothing is left by --missing intersect", g.count)
	}
	return nil
}

// dropFiles takes out the files that lack a field.
func (g *gaps) dropFiles() error {
	has := make(map[*layout]int, len(g.live))
	for _, c := range g.cands.list {
		for _, r := range c.refs {
			has[r.layout]++
		}
		for l := range c.void {
			has[l]++
		}
	}
	lacks := func(l *layout) bool { return has[l] < len(g.cands.list) }
	var keep []*layout
	var out failures
	for _, l := range g.live {
		if l.dropped = lacks(l); !l.dropped {
			keep = append(keep, l)
			continue
		}
		if out.add(l.first[0], errText("")); out.count == 1 { // the first file of all
			out.first[0].err = errText(fmt.Sprintf("lacks %s (--missing drop)", g.lackedBy(l)))
		}
		out.count += l.files - 1
	}
	if len(keep) == 0 {
		return shardify.Mismatch("no input has all of the %d fields: nothing is left by --missing drop; %s", len(g.cands.list), format.Reason(g.differ()))
	}
	g.live, g.count = keep, g.count-out.count
	g.leaveFiles(&out)
	for _, c := range g.cands.list {
		c.refs = slices.DeleteFunc(c.refs, func(r ref) bool { return r.layout.dropped })
		maps.DeleteFunc(c.void, func(l *layout, _ bool) bool { return l.dropped })
		c.files, c.fill = g.count, len(c.void) > 0
	}
	return g.dropVoid()
}

// dropVoid leaves out the fields of which the files that are left have no value.
func (g *gaps) dropVoid() error {
	for _, c := range g.cands.list {
		if len(c.refs) > 0 {
			continue
		}
		if g.want.Exact(c.name) {
			return shardify.Mismatch("field %s was asked for by name, and %s in the inputs that --missing drop leaves", c.name, nothing)
		}
		g.leave(c.name, nothing+" in the inputs that --missing drop leaves")
	}
	g.cands.drop(func(c *candidate) bool { return len(c.refs) == 0 })
	return nil
}

// lackedBy names the fields that a layout lacks.
func (g *gaps) lackedBy(l *layout) string {
	var names []string
	for _, c := range g.lacking {
		if !c.layouts()[l] {
			names = append(names, c.name)
		}
	}
	return examples(names, len(names))
}
