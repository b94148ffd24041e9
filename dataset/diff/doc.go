// Package diff compares two data sets sample by sample: which samples were added, removed and
// changed, in which fields, and how many of each class there are.
//
//	r, err := diff.Run(ctx, a, b, diff.Options{Memory: 1 << 30, Jobs: 4})
//	r.WriteText(os.Stdout)
//
// Samples are found by their key: their own name, the value of a field, or all of their values.
// Each sample becomes a record of a few digests; records are sorted in memory, in runs in a scratch
// file if there are too many, and both sides are merged. So memory does not depend on the sets.
//
//	fields.go  which fields are compared, and how they differ
//	digest.go  the record of a sample
//	sort.go    records in their order
//	diff.go    Run: both sides merged
//	report.go  what was found, as text; page.go: as HTML
package diff
