package tree

import (
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/lists"
)

// ruled gives data sets the lists that a rule of --lists says.
func (s *scanner) ruled(rule *lists.Rule) error {
	t := s.tree
	var in []*Object
	hit := map[string]bool{}
	for i := range t.Objects {
		o := &t.Objects[i]
		p := strings.TrimPrefix(o.Path, "/")
		globs := rule.Matches(p)
		if globs == nil {
			continue
		}
		for _, g := range globs {
			hit[g] = true
		}
		single := len(o.Dims) == 0 || o.Wide
		switch {
		case single && slices.Contains(rule.Of, p):
			return shardify.Annotate(shardify.Mismatch("--lists names what has no rows"), "", "", o.Path)
		case single:
		case t.Lists[o.Path] != nil:
			return shardify.Annotate(shardify.Mismatch("two rules of --lists name it, by %s and by %s", t.Lists[o.Path].Path, rule.Text()), "", "", o.Path)
		default:
			in = append(in, o)
		}
	}
	for _, g := range rule.Of {
		if hit[g] || strings.ContainsAny(g, `*?[\`) {
			continue
		}
		if _, err := t.File.H5.Lookup("/" + g); err != nil { // or other columns are wanted
			return shardify.Mismatch("--lists names %s: there is no such data set and no such group", g)
		}
	}
	stored := int64(-1)
	if len(in) > 0 {
		stored = in[0].Dims[0]
	}
	l, err := t.File.ListsBy(s.ctx, rule, stored)
	if err != nil {
		return err
	}
	note := "says where lists are, by --lists"
	if len(in) > 0 {
		note = "says where the lists of " + in[0].Path + " are, kept with them"
	}
	for _, o := range in {
		if o.Dims[0] != stored {
			return shardify.Annotate(shardify.Corrupt(-1, "%d rows, but lists by %s take %d; --lists names data sets that have lists in common", o.Dims[0], l.Path, stored), "", "", o.Path)
		}
		t.Lists[o.Path] = l
	}
	for _, p := range rule.By() {
		t.listNotes["/"+p] = note // a column of a table has none: it stays one
	}
	return nil
}
