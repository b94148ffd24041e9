// Package op is what operations on samples are made with. An operation is one file in the
// folder of its kind: a type that is a shardify.Transform, a constructor, and a Kind, which
// package transform has in its table.
//
//	var Rename = op.Kind{Name: "rename", Value: "NEW=OLD,...", Example: "pt=Jet_pt", Help: "other names",
//		Phase: op.AtEnd, New: op.Of(newRename), Fields: op.FieldsOf(newRename)}
//
//	func newRename(e *op.Env, text string) (*renameFields, error)
//
// Map of the files:
//
//	kind.go      Kind, what it is made for (Env), what it becomes (Stage)
//	text.go      values of flags: lists, pairs, and errors that name them
//	fields.go    fields by the names that users give them
//	batch.go     copies of batches, counts, samples that are marked
//	elements.go  elements of lists: their order, their values as integers
//	runs.go      globs that give each input its line of a value
package op
