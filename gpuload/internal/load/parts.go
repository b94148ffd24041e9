package load

import (
	"slices"

	"github.com/shardify/shardify/index"
)

// Parts reports whether a batch of several steps can be parted by the numbers of their rows: it has
// rows of one size, and with lists also lists of numbers.
func Parts(l *index.Layout, lists bool) bool {
	if !lists {
		return !slices.ContainsFunc(l.Tensors, func(t index.TensorSpec) bool { return t.Lead != index.LeadSamples })
	}
	for i := range l.Schema {
		if f := &l.Schema[i]; f.Levels > 1 || f.Ragged || f.Media != "" {
			return false
		}
	}
	return !l.Keyed
}
