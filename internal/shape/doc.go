// Package shape holds the transforms that give samples the form a training wants and
// leave nothing to chance: constants by input, selection, computed fields, types,
// codes for categories, stacked, sorted and padded lists, names.
//
//	w, err := shape.NewWhere("nJet >= 2 && abs(eta) < 2.5", nil)
//	out, err := w.Schema(in)
//	b, err = w.Apply(b, seed, mem)
//
// Each is a shardify.Transform of one file. Which flags make them, and their order, is
// the business of internal/ops; docs/shape.md says what they do to values.
package shape
