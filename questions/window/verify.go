package window

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/storage"
)

// Verify finds the anchors of the views of a set again, by the values of their axes. wrong is
// called for each view whose anchors differ. Windows by number end where inputs did, which the set
// does not record; they are not checked.
func Verify(store storage.Store, m *index.Manifest, wrong func(name, what string)) error {
	axes := map[string]view.Rows{}
	each, err := patches(store, m)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(m.Windows)) {
		v := m.Windows[name]
		spec, err := view.Parse(v.Window)
		if err != nil || spec.Axis == "" {
			continue // made by another program, or by number
		}
		r, ok := axes[spec.Axis]
		if !ok {
			r.N, r.Each = m.Samples, each
			if r.Values, r.Nanos, err = axis(store, m, spec.Axis); err != nil {
				return err
			}
			axes[spec.Axis] = r
		}
		want, err := anchored(&spec, m, r)
		if err != nil {
			wrong(name, err.Error())
		} else if what := differ(&v, want, spec.Axis); what != "" {
			wrong(name, what)
		}
	}
	return nil
}

// anchored is a view of the rows, each part of a set by itself.
func anchored(spec *view.Spec, m *index.Manifest, r view.Rows) (*index.View, error) {
	var parts []*index.Manifest
	at := int64(0)
	for _, p := range m.AsParts() {
		if p.Samples < 0 || p.Samples > r.N-at {
			return nil, shardify.Corrupt(-1, "parts of more than %d rows", r.N)
		}
		v, _, err := spec.Build(view.Rows{N: p.Samples, Values: r.Values[at : at+p.Samples], Nanos: r.Nanos, Each: r.Each})
		if err != nil {
			return nil, err
		}
		parts = append(parts, &index.Manifest{Samples: p.Samples, Windows: map[string]index.View{"": *v}})
		at += p.Samples
	}
	all, lost := index.JoinWindows(parts...)
	if len(lost) > 0 {
		return nil, shardify.Mismatch("its parts have rows at other distances")
	}
	v := all[""]
	return &v, nil
}

// differ says how a view is another one, "" if it is not.
func differ(a, want *index.View, axis string) string {
	if !view.SameOffsets(a, want) {
		return fmt.Sprintf("rows %v and %v from the anchor, by the values of %s %v and %v", a.In, a.Out, axis, want.In, want.Out)
	}
	if slices.Equal(a.Anchors, want.Anchors) {
		return ""
	}
	has, wants := view.NewNumbered(a), view.NewNumbered(want)
	n, k := a.Len(), want.Len()
	for i := range max(n, k) {
		row := func(v *view.Numbered, n int64) int64 {
			if i >= n {
				return -1
			}
			return v.Rows(nil, i, i+1)[0]
		}
		switch x, y := row(&has, n), row(&wants, k); {
		case x == y:
		case y < 0 || x >= 0 && x < y:
			return fmt.Sprintf("anchor %d at row %d: by the values of %s there is no window (%d anchors, %d by value)", i, x, axis, n, k)
		default:
			return fmt.Sprintf("anchor %d: the window at row %d is left out, which the values of %s have (%d anchors, %d by value)", i, y, axis, n, k)
		}
	}
	return ""
}
