// Package transform is the table of what happens to samples between reader and writer:
// selection, computed fields, constants by input, types, codes for categories, sorted,
// stacked and padded lists, names. (Random changes and images are lines of package
// augment's table, which the line "augment" here leads to.)
//
//	settings := transform.Settings{transform.Where: {"nJet >= 2"}, transform.Cast: {"f64=f32"}}
//	ops, err := settings.Ops(table)                   // when the plan is made
//	pipeline, err := transform.Compile(ops, env)      // then, and again in every task
//
// or, for a single one:
//
//	t, err := transform.New(transform.Define, "ht=sum(Jet_pt)", nil) // a shardify.Transform
//
// Operations run in the order of the table, whatever the order in which they are given:
//
//	join -> set -> fraction -> where -> drop-duplicates -> (split) -> copies -> patch -> augment
//	-> define -> nan -> encode -> tokenize -> pick -> sort -> (fields read for others go)
//	-> stack -> pad -> rename -> cast -> pack -> sequences
//
// Map of the files:
//
//	table.go     the table: one line for each kind of operation
//	settings.go  values as given for each kind -> the operations of a plan
//	compile.go   the operations of a plan -> a pipeline
//	columns.go   which fields of the source the operations need, and which are only helpers
//	split.go     splits by globs of inputs
//	augment.go   the line for package augment
//
// Below are op, what operations are made with; the folders of operations (samples, fields,
// lists, cast, codes, tables, sequence); and expr, the language of conditions and computed
// fields. docs/guides/shape.md says what the operations do to values.
package transform
