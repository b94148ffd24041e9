// Package columns is the choice of fields that --columns makes, one for all formats.
//
//	x,y        the fields x and y
//	Jet_*      those that match the glob (path.Match)
//	!Info/*    all but those that match
//	Jet_*,!*_id   those that match a glob, without those that match an exclusion
//
// An exclusion of a group holds for all that is below it, and wins over every glob.
package columns

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/internal/suggest"
)

// Wanted is the choice of fields. It may be used from several goroutines.
type Wanted struct {
	keep, drop, helpers   []string
	kept, dropped, helped []atomic.Bool // by pattern: something matched
	renamed               sync.Map      // names that fields cannot have, and what they become
}

// Helper is the pattern of fields that are read for the operations alone, whatever the
// other patterns say: it makes no list of its own.
func Helper(name string) string { return "!!" + name }

// New checks the patterns; none means that every field is wanted.
func New(patterns []string) (*Wanted, error) {
	w := &Wanted{}
	for _, p := range patterns {
		list, glob := &w.keep, p
		if g, ok := strings.CutPrefix(p, "!!"); ok {
			list, glob = &w.helpers, g
		} else if g, ok := strings.CutPrefix(p, "!"); ok {
			list, glob = &w.drop, g
		}
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			return nil, fmt.Errorf("column pattern %q: %w", p, path.ErrBadPattern)
		}
		*list = append(*list, glob)
	}
	w.kept, w.dropped, w.helped = make([]atomic.Bool, len(w.keep)), make([]atomic.Bool, len(w.drop)), make([]atomic.Bool, len(w.helpers))
	return w, nil
}

// All reports whether every field is wanted because no columns were named.
func (w *Wanted) All() bool { return len(w.keep)+len(w.drop) == 0 }

// Match reports whether a field is wanted, and whether by its name rather than by a wildcard: then
// leaving it out is an error. names are the ways in which users may write the field ("Jet_pt",
// "Events/Jet_pt"), as the input has them: their format.PlainName is a way, too.
func (w *Wanted) Match(names ...string) (hit, exact bool) {
	all := names
	for _, name := range names {
		if plain := format.PlainName(name); plain != name {
			all = append(all[:len(all):len(all)], plain)
		}
	}
	if hit, exact = w.match(all); hit && len(all) > len(names) {
		for _, name := range names {
			if plain := format.PlainName(name); plain != name {
				w.renamed.LoadOrStore(plain, name)
			}
		}
	}
	return hit, exact
}

// Renamed is the note about those fields of a schema that have other names than in the inputs;
// nothing if all have the same names.
func (w *Wanted) Renamed(schema []shardify.Field) []string {
	var list []string
	for i := range schema {
		if name, ok := w.renamed.Load(schema[i].Name); ok {
			list = append(list, fmt.Sprintf("%s is named %s", printable.Name(name.(string)), schema[i].Name))
		}
	}
	if list == nil {
		return nil
	}
	return []string{printable.Few(list) + ": #, control characters and __ in front are reserved in names; --columns and --rename take both names"}
}

// Original is the name that a field has in the input.
func (w *Wanted) Original(name string) string {
	if was, ok := w.renamed.Load(name); ok {
		return was.(string)
	}
	return name
}

func (w *Wanted) match(names []string) (hit, exact bool) {
	for i, h := range w.helpers {
		for _, name := range names {
			if is(h, name) {
				mark(&w.helped[i])
				w.Excluded(names...) // it matches, though the field is read
				return true, h == name
			}
		}
	}
	if w.Excluded(names...) {
		return false, false
	}
	if len(w.keep) == 0 {
		return true, false
	}
	for i, g := range w.keep {
		for _, name := range names {
			if is(g, name) {
				hit, exact = true, exact || g == name
				mark(&w.kept[i])
			}
		}
	}
	return hit, exact
}

// Excludes reports whether there are exclusions.
func (w *Wanted) Excludes() bool { return len(w.drop) > 0 }

// Excluded reports whether an exclusion matches one of the names, or a group above it.
func (w *Wanted) Excluded(names ...string) bool {
	hit := false
	for i, g := range w.drop {
		for _, name := range names {
			if below(g, name) {
				hit = true
				mark(&w.dropped[i])
			}
		}
	}
	return hit
}

// Whole reports whether nothing in a group is wanted, whatever it holds: an exclusion
// matches the group, or all names in it.
func (w *Wanted) Whole(group string) bool {
	group = strings.TrimSuffix(group, "/")
	return w.Excluded(group, strings.TrimPrefix(group, "/")) || w.Excluded(group+"/*", strings.TrimPrefix(group, "/")+"/*")
}

// Within reports whether something in a group may be wanted, by its full name.
func (w *Wanted) Within(group string) bool {
	if w.Whole(group) {
		return false
	}
	above := strings.Split(strings.Trim(group, "/"), "/")
	for _, g := range slices.Concat(w.keep, w.helpers) {
		parts := strings.Split(strings.Trim(g, "/"), "/")
		if len(parts) > len(above) && slices.EqualFunc(parts[:len(above)], above, is) {
			return true
		}
	}
	return len(w.keep) == 0
}

// below reports whether a glob matches the name or one of the groups that it is in.
func below(glob, name string) bool {
	for {
		if is(glob, name) {
			return true
		}
		i := strings.LastIndexByte(name, '/')
		if i <= 0 {
			return false
		}
		name = name[:i]
	}
}

func is(glob, name string) bool {
	ok, _ := path.Match(glob, name)
	return ok || glob == name
}

// mark stores true: a load is cheap where all cores look, a store is not.
func mark(b *atomic.Bool) {
	if !b.Load() {
		b.Store(true)
	}
}

// Open reports whether every field is wanted that is not excluded.
func (w *Wanted) Open() bool { return len(w.keep) == 0 }

// Names are the globs without a wildcard: fields that were asked for by name.
func (w *Wanted) Names() []string {
	return slices.DeleteFunc(slices.Concat(w.keep, w.helpers), func(g string) bool { return strings.ContainsAny(g, `*?[\`) })
}

// Literal reports whether fields are asked for by their names alone, so that nothing else is
// wanted, whatever its name.
func (w *Wanted) Literal() bool {
	return len(w.keep) > 0 && len(w.Names()) == len(w.keep)+len(w.helpers)
}

// Exact reports whether a field was asked for by its name.
func (w *Wanted) Exact(name string) bool {
	return slices.Contains(w.keep, name) || slices.Contains(w.helpers, name)
}

// Unmatched lists the patterns that no field has matched.
func (w *Wanted) Unmatched() []string {
	var out []string
	for i, g := range w.keep {
		if !w.kept[i].Load() {
			out = append(out, g)
		}
	}
	for i, g := range w.drop {
		if !w.dropped[i].Load() {
			out = append(out, "!"+g)
		}
	}
	for i, h := range w.helpers {
		if !w.helped[i].Load() {
			out = append(out, h)
		}
	}
	return out
}

// Check is the error about patterns that no field has matched; available are all names
// that there are.
func (w *Wanted) Check(available []string) error {
	if left := w.Unmatched(); len(left) > 0 {
		return NotFound(left, available)
	}
	return nil
}

// listed is how many patterns an error names, shown how many names for each.
const (
	listed = 8
	shown  = 3
)

// NotFound is the error about patterns that match none of the available names.
func NotFound(patterns, available []string) error {
	var all []string
	for _, g := range patterns[:min(len(patterns), listed)] {
		text := fmt.Sprintf("no field %q", g)
		if near := nearest(strings.TrimPrefix(g, "!"), available); len(near) > 0 {
			text += " (near: " + strings.Join(near, ", ") + ")"
		}
		all = append(all, text)
	}
	if more := len(patterns) - listed; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	const most = 20
	names := strings.Join(available[:min(len(available), most)], ", ")
	if more := len(available) - most; more > 0 {
		names += fmt.Sprintf(", and %d more", more)
	}
	if names == "" {
		names = "nothing"
	}
	return shardify.Misuse("%s; there is %s", strings.Join(all, "; "), names)
}

// nearest are the names most like s, at most three.
func nearest(s string, names []string) []string {
	type near struct {
		name string
		far  int
	}
	var all []near
	low := strings.ToLower(strings.Trim(s, "*?/"))
	for _, name := range names {
		n := strings.ToLower(name)
		far := suggest.Distance(low, n)
		if low != "" && strings.Contains(n, low) {
			far = min(far, 1) // a part of the path, or another beginning
		}
		if far <= max(len(low)/3, 1) {
			all = append(all, near{name, far})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.far - b.far })
	var out []string
	for _, x := range all[:min(len(all), shown)] {
		out = append(out, x.name)
	}
	return out
}
