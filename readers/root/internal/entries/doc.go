// Package entries says how the entries of the branches of a TTree become columns, and decodes
// them.
//
//	readings := entries.Interpret(tree, file.Streamers())
//	d := entries.NewDecoder(readings[i])
//	d.Begin(lo, hi, want, ratio, lengths, arena)
//	err := d.Basket(&basket) // each that has entries of the span
//	err = d.Finish(column, to)
//
// A Reading is what is known of a branch from metadata: its columns, and either that entries
// are plain records or arrays, or a recipe of steps. The files, each of which calls those above it:
//
//	output.go      a column of one span, as it grows
//	machine.go     steps, and what does them
//	reading.go     readings of all branches; leaf.go: of plain ones; element.go: of
//	               members of classes; class.go, items.go: steps for classes and collections
//	offsets.go     where entries begin
//	decoder.go     baskets become columns
//	try.go         whether a recipe explains the bytes, and counts from other branches
package entries
