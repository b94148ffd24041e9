package look

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// leave notes what is no field: damage is an error, anything else has no form that is
// read.
func (t *Tree) leave(p string, err error) {
	if !t.File.Fault(p, err) {
		t.left.add(p, err)
	}
}

// attributes are those of an object. What is damaged may say what the values mean, or
// what a sample is.
func (t *Tree) attributes(o *h5.Object, p string) element.Attributes {
	list, err := o.Attributes()
	for i := range list {
		if err == nil && list[i].Err != nil {
			err = fmt.Errorf("attribute %s: %w", list[i].Name, list[i].Err)
		}
	}
	t.File.Fault(cmp.Or(p, "/"), err)
	return list
}

// concerns reports whether damage at a path is in something that is wanted. The samples may
// be groups of which it is one.
func (t *Tree) concerns(want *columns.Wanted, c *Choice, p string) bool {
	if p == "/" {
		return true
	}
	if want.Excluded(naming.Ways(p, "")...) || want.Whole(p) {
		return false
	}
	if hit, _ := want.Match(naming.Ways(p, "")...); hit || want.Within(p) {
		return true
	}
	if c != nil {
		return c.Mode == ByGroup && c.sampleGroup("/"+p) != "" || c.Mode == ByItem && c.itemTypes[naming.Group("/"+p)] != ""
	}
	return slices.ContainsFunc(t.groupSets(true), func(g *groupSet) bool { return len(g.broken) > 0 })
}

// Concerned lists the damage in what is wanted.
func (t *Tree) Concerned(want *columns.Wanted, c *Choice) []survey.Damage {
	return slices.DeleteFunc(t.File.Damage(), func(d survey.Damage) bool { return !t.concerns(want, c, d.Object) })
}

// DamageErr is the error about damage, nil without.
func DamageErr(list []survey.Damage) error {
	if len(list) == 0 {
		return nil
	}
	return shardify.Annotate(list[0].Err, "", "", list[0].Object)
}

// sampleGroup is the name of the sample group that a path leads to or into, "" if it is
// none.
func (c *Choice) sampleGroup(p string) string {
	rest, ok := strings.CutPrefix(p, c.parent+"/")
	name, _, _ := strings.Cut(rest, "/")
	if stem, numbered := naming.Stem(name); !ok || c.numbered && (!numbered || stem != c.stem) {
		return ""
	}
	return name
}

// brokenGroups marks the sample groups that are damaged, so that they are samples all the
// same, and are not compared with others.
func (t *Tree) brokenGroups(sets map[setKey]*groupSet, numbered bool) {
	for p, err := range t.brokenPaths() {
		parent, name := p[:strings.LastIndexByte(p, '/')], p[strings.LastIndexByte(p, '/')+1:]
		stem, ok := naming.Stem(name)
		if !numbered {
			stem, ok = "", true
		}
		if g := sets[setKey{parent, stem}]; ok && g != nil && len(g.names) > 0 && !t.want.Excluded(naming.Ways(p, "")...) {
			if g.broken == nil {
				g.broken = map[string]error{}
			}
			g.broken[name] = err
		}
	}
}

// brokenPaths is everything that is damaged, and the groups it is in.
func (t *Tree) brokenPaths() map[string]error {
	out := map[string]error{}
	for _, d := range t.File.Damage() {
		for p := "/" + d.Object; len(p) > 1; p = p[:strings.LastIndexByte(p, '/')] {
			if out[p] == nil {
				out[p] = d.Err
			}
		}
	}
	return out
}

// all are the names of the sample groups in order, damaged ones among them.
func (g *groupSet) all() []string {
	out := slices.AppendSeq(slices.Clone(g.names), maps.Keys(g.broken))
	slices.SortFunc(out, naming.Natural)
	return out
}

// Place says for damage in a file which samples cannot be read for it.
func (t *Tree) Place(c *Choice, list []survey.Damage) []survey.Damage {
	if c != nil && c.Mode == ByItem {
		t.placeItems(c, list)
	}
	if c == nil || c.Mode != ByGroup {
		return list
	}
	f := factory{tree: t, choice: c}
	g, err := f.groups()
	if g == nil || err != nil {
		return list
	}
	all := g.all()
	for i := range list {
		if k := slices.Index(all, c.sampleGroup("/"+list[i].Object)); k >= 0 {
			list[i].Lo, list[i].Hi = int64(k), int64(k)+1
		}
	}
	return list
}

// leftovers collects what is not delivered.
type leftovers struct{ list []format.Leftover }

// add notes what has values in a form that is not read.
func (l *leftovers) add(name string, err error) {
	l.list = append(l.list, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: Reason(err), Unreadable: true, Err: err})
}

// note notes what is no column.
func (l *leftovers) note(name, why string) {
	l.list = append(l.list, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: why})
}

// Reason is an error as a line of a list that names the object itself.
func Reason(err error) string {
	var e *shardify.Error
	s := err.Error()
	if errors.As(err, &e) {
		if s = e.Err.Error(); e.Offset >= 0 {
			s += fmt.Sprintf(" (at byte %d)", e.Offset)
		}
	}
	return strings.Replace(s, ": "+shardify.ErrUnsupported.Error(), "", 1)
}
