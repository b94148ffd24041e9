// Package set has the table that is made of many files: a Set. It says which fields there are,
// where a file may be cut, and what a plan keeps, and it changes what a file has into the columns
// that all files have in common. A survey makes a Set (New), or the state in a plan (Restore).
//
//	set.go            what is known of the whole, and what it reports
//	files.go          what is kept of each file
//	mapping.go        where the columns of some files come from
//	borders.go, units.go, spans.go   where files may be cut, and where they are
//	batch.go          a batch, before and after a format has filled it
//	channels.go, coords.go  fields that are made of others; coordinates of dimensions
//	state.go, restore.go    the set as a plan keeps it, and back
//	table.go, handles.go, runs.go    Sources of a Set, and their Readers
package set
