// Package pipeline does what the commands do: it is the one way from settings to a data set,
// for the program shardify, for Python and for Go.
//
//	r, err := pipeline.Convert(ctx, pipeline.Settings{
//		Inputs: []string{"run*.npz"}, Output: "shards",
//		Where: []string{"pt > 30"}, Shuffle: "global", Split: "train=0.9,val=0.1",
//	})
//
// # Map
//
//   - settings: Settings, and the table from which flags, recipes and records follow
//   - prepare.go: from settings to a planned job (Prepared): formats, inputs, plan. What else a
//     user may ask for is in package questions, step by step for all of its table
//   - check.go, fields.go, parts.go, reopen.go: parts of that
//   - state.go, space.go: what is in the output folder, and what has room there
//   - facts.go, notes.go: what a plan says
//   - convert.go: Convert and Plan, for one process and for tasks
//   - task.go: Work and Merge, the tasks of a plan; reopen.go
//   - submit.go, submitkeys.go: Submit, the tasks of a plan as jobs of Slurm
//   - sets.go, extend.go: MergeSets and Extend, for finished data sets
//   - verify.go, stage.go, status.go, gc.go, inspect.go, stats.go: what the commands of these names do
//   - hooks.go: progress, and other things that a caller wants to know
//
// Nothing here prints. Errors carry advice (shardify.Hints), and wrap ErrUsage where other
// settings would help.
package pipeline
