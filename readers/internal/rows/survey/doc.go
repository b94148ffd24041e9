// Package survey looks at many files of one format and merges what they say into one table: a set.Set.
//
//	open.go                 the whole in order
//	facts.go                what a format says about one file
//	look.go                 all files are looked at, several at once
//	checked.go, damage.go   what is said is checked
//	layout.go               files with the same fields share a layout
//	merge.go                the layouts become one schema:
//	candidates.go             by name
//	unread.go                 fields that some files cannot deliver
//	missing.go                fields that some files lack
//	unify.go, grids.go        types, shapes and coordinates that all have in common
//	counters.go               lists that are equally long
//	mapping.go                where each file has the columns
//	inputs.go, failures.go  inputs in notes and errors
package survey
