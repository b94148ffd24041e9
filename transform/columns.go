package transform

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/suggest"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/transform/condition"
	"github.com/shardify/shardify/transform/expr"
	"github.com/shardify/shardify/transform/op"
)

// need is a field of the source that an operation names.
type need struct {
	name, flag, text string
	// wanted: who names it wants to have it, under this or another name. The others are
	// read and dropped.
	wanted bool
}

// needs lists the fields of the source that the operations name, without names that other
// operations make.
func (s Settings) needs() ([]need, error) {
	l := looker{defs: map[string]string{}, old: map[string]string{}, made: map[string]bool{}}
	// What is defined, and renamed, must be known before those that name it.
	lines := []int{lineOf(Define), lineOf(Rename)}
	for i := range Table {
		lines = append(lines, i)
	}
	for _, i := range lines {
		texts, err := s.texts(&Table[i])
		for _, t := range texts {
			if err == nil && Table[i].Fields != nil {
				err = l.look(i, t)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	for _, t := range s[Split] {
		if err := l.conditions(t); err != nil {
			return nil, err
		}
	}
	for _, n := range l.needs {
		if made := l.matchedMade(n.name); made != "" {
			return nil, fmt.Errorf("--%s '%s': %s matches %s, which is made here: name those fields one by one", n.flag, n.text, n.name, made)
		}
	}
	return slices.DeleteFunc(l.needs, func(n need) bool { return l.made[n.name] }), nil
}

// matchedMade is a field made by an operation that a glob of an expression matches. Such
// globs mean fields of the source.
func (l *looker) matchedMade(glob string) string {
	if !expr.IsGlob(glob) {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(l.made)) {
		if ok, _ := path.Match(glob, name); ok {
			return name
		}
	}
	return ""
}

// looker collects what operations name and make.
type looker struct {
	needs []need
	made  map[string]bool
	defs  map[string]string
	old   map[string]string // names of the source, by those of --rename
}

// conditions looks at those of splits.
func (l *looker) conditions(text string) error {
	r, err := splits.Parse(text)
	if err != nil {
		return err
	}
	for _, where := range r.Conditions() {
		if where == "" {
			continue
		}
		c, err := condition.New(&op.Env{Defs: l.defs}, Split, where)
		if err != nil {
			return err
		}
		for _, n := range c.Fields().Named {
			l.needs = append(l.needs, need{name: n, flag: Split, text: where})
		}
	}
	return nil
}

// look looks at an operation of a line of the table.
func (l *looker) look(line int, text string) error {
	k := &Table[line]
	f, err := k.Fields(&op.Env{Defs: l.defs}, text)
	if err != nil {
		return err
	}
	for _, n := range f.Made {
		l.made[n] = true
	}
	maps.Copy(l.defs, f.Defs)
	maps.Copy(l.old, f.Old)
	for _, n := range f.Named {
		if old, ok := l.old[n]; ok && line > lineOf(Rename) {
			n = old
		}
		l.needs = append(l.needs, need{n, k.Name, text, k.Keeps})
	}
	return nil
}

// Columns completes the fields that are asked for by those that operations name, and by others
// (such as those that decide the split). helpers are those of them that the set shall not contain.
// With no fields asked for, all are read and none is a helper.
func (s Settings) Columns(asked []string, others ...string) (open, helpers []string, err error) {
	needs, err := s.needs()
	if err != nil || len(asked) == 0 {
		return nil, nil, err
	}
	for _, o := range others {
		needs = append(needs, need{name: o})
	}
	want, err := columns.New(asked)
	if err != nil {
		return nil, nil, err
	}
	open = slices.Clone(asked)
	for _, n := range needs {
		glob := expr.IsGlob(n.name)
		if hit, _ := want.Match(n.name); hit && !glob || glob && (slices.Contains(asked, "*") || slices.Contains(asked, n.name)) && !want.Excludes() {
			continue
		}
		pattern := n.name
		if n.wanted && !glob && want.Excluded(n.name) {
			return nil, nil, shardify.Misuse("--%s '%s' keeps the field %s, which --columns leaves out: name it in one of them", n.flag, n.text, n.name)
		}
		if want.Excluded(n.name) || glob && want.Excludes() {
			pattern = columns.Helper(n.name)
		}
		if !slices.Contains(open, pattern) {
			open = append(open, pattern)
		}
		wanted := slices.ContainsFunc(needs, func(m need) bool { return m.name == n.name && m.wanted })
		if !wanted && !slices.Contains(helpers, n.name) {
			helpers = append(helpers, n.name)
		}
	}
	return open, helpers, nil
}

// Helpers completes the helpers that Columns found by the fields that the globs among them
// match, once it is known what fields there are. What was asked for otherwise is kept.
func (s Settings) Helpers(helpers, asked []string, schema []shardify.Field) ([]string, error) {
	globs := slices.DeleteFunc(slices.Clone(helpers), func(h string) bool { return !expr.IsGlob(h) })
	if len(globs) == 0 {
		return helpers, nil
	}
	needs, err := s.needs()
	if err != nil {
		return nil, err
	}
	ways := slices.Clone(asked)
	for _, a := range asked {
		if !strings.HasPrefix(a, "!") {
			ways = append(ways, path.Base(a)) // a path, perhaps
		}
	}
	want, err := columns.New(ways)
	if err != nil {
		return nil, err
	}
	var keep []string
	for _, n := range needs {
		if n.wanted {
			keep = append(keep, n.name)
		}
	}
	out := slices.Clone(helpers)
	for i := range schema {
		name := schema[i].Name
		if hit, _ := want.Match(name); !hit && matches(globs, name) && !matches(keep, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, nil
}

func matches(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		ok, _ := path.Match(g, name)
		return ok || g == name
	})
}

// Check refuses names that no field of a source has, flag by flag, where the source is
// known in full. Pads and sorts may name what only later stages make.
func (s Settings) Check(schema []shardify.Field) error {
	needs, err := s.needs()
	if err != nil {
		return err
	}
	known := make([]string, len(schema))
	for i := range schema {
		known[i] = schema[i].Name
	}
	for _, n := range needs {
		if n.flag == "" || slices.Contains(known, n.name) || expr.IsGlob(n.name) && slices.ContainsFunc(known, func(k string) bool { return matches([]string{n.name}, k) }) {
			continue
		}
		unknown := &format.UnknownField{Name: n.name, Suggest: suggest.Word(n.name, known)}
		return shardify.Misused(fmt.Errorf("--%s '%s': %w", n.flag, n.text, unknown))
	}
	return nil
}

// Correct is the flag of an error with the fields that were meant in it, "" if one of them is not known.
func (s Settings) Correct(err error) string {
	u, ok := errors.AsType[*format.UnknownField](err)
	if !ok || u.Suggest == "" {
		return ""
	}
	needs, _ := s.needs()
	for i := range Table {
		for _, t := range s[Table[i].Name] {
			if fixed := replaceNames(needs, t, u); fixed != t {
				return flagOf(Table[i].Name, fixed)
			}
		}
	}
	for _, t := range s[Split] {
		if fixed := replaceNames(needs, t, u); fixed != t {
			return flagOf(Split, fixed)
		}
	}
	return ""
}

func flagOf(name, text string) string {
	if text == "" {
		return ""
	}
	if word := printable.Quote(text); word != text {
		return "--" + name + " " + word
	}
	return fmt.Sprintf("--%s '%s'", name, text)
}

// replaceNames replaces all unknown names of a text that has this one; "" if it is not known by what.
func replaceNames(needs []need, text string, u *format.UnknownField) string {
	fixed := replaceWord(text, u.Name, u.Suggest)
	if fixed == text || u.Meant == nil {
		return fixed
	}
	done := map[string]bool{u.Name: true}
	for _, n := range needs {
		if n.text != text || done[n.name] {
			continue
		}
		done[n.name] = true
		meant := u.Meant(n.name)
		if meant == "" {
			return ""
		}
		fixed = replaceWord(fixed, n.name, meant)
	}
	return fixed
}

// replaceWord replaces a name where it is a whole word, and not in a text in quotes.
func replaceWord(s, old, by string) string {
	part := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	var out strings.Builder
	quote := byte(0) // of the text around i
	for i := 0; i < len(s); {
		end := i + len(old)
		if quote == 0 && old != "" && strings.HasPrefix(s[i:], old) && (i == 0 || !part(s[i-1])) && (end == len(s) || !part(s[end])) {
			out.WriteString(by)
			i = end
			continue
		}
		n := 1
		switch c := s[i]; {
		case c == '\\' && quote != 0 && quote != '`' && i+1 < len(s):
			n = 2
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\'' || c == '`'):
			quote = c
		}
		out.WriteString(s[i : i+n])
		i += n
	}
	return out.String()
}
