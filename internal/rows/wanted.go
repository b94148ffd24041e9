package rows

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/suggest"
)

// Wanted is the choice of columns, as globs. It may be used from several
// goroutines.
type Wanted struct {
	globs   []string
	matched []atomic.Bool // by glob
}

// NewWanted checks the globs (path.Match); none means every field is wanted.
func NewWanted(globs []string) (*Wanted, error) {
	for _, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return nil, fmt.Errorf("column pattern %q: %w", g, err)
		}
	}
	return &Wanted{globs: globs, matched: make([]atomic.Bool, len(globs))}, nil
}

// All tells whether every field is wanted because no columns were named.
func (w *Wanted) All() bool { return len(w.globs) == 0 }

// Match tells whether a field is wanted, and whether by its name rather than by a
// wildcard: then leaving it out is an error. names are the ways in which users may
// write the field ("Jet_pt", "Events/Jet_pt").
func (w *Wanted) Match(names ...string) (hit, exact bool) {
	if len(w.globs) == 0 {
		return true, false
	}
	for i, g := range w.globs {
		for _, name := range names {
			ok, _ := path.Match(g, name)
			if !ok && g != name {
				continue
			}
			hit, exact = true, exact || g == name
			if !w.matched[i].Load() { // a load is cheap where all cores look, a store is not
				w.matched[i].Store(true)
			}
		}
	}
	return hit, exact
}

// Names are the globs without a wildcard: fields that were asked for by name.
func (w *Wanted) Names() []string {
	return slices.DeleteFunc(slices.Clone(w.globs), func(g string) bool { return strings.ContainsAny(g, `*?[\`) })
}

// exact tells whether a field was asked for by its name.
func (w *Wanted) exact(name string) bool { return slices.Contains(w.globs, name) }

// unmatched lists the globs that no field of any file matched.
func (w *Wanted) unmatched() []string {
	var out []string
	for i, g := range w.globs {
		if !w.matched[i].Load() {
			out = append(out, g)
		}
	}
	return out
}

// notFound is the error about globs that match none of the available names.
func (w *Wanted) notFound(globs, available []string) error {
	var all []string
	for _, g := range globs[:min(len(globs), listed)] {
		text := fmt.Sprintf("no field %q", g)
		if near := nearest(g, available); len(near) > 0 {
			text += " (near: " + strings.Join(near, ", ") + ")"
		}
		all = append(all, text)
	}
	if more := len(globs) - listed; more > 0 {
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
	return shardify.Mismatch("%s; there is %s", strings.Join(all, "; "), names)
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
