// Package flow is what happens to samples between a reader and the shards: stages of
// transforms, the split, copies.
//
//	compile.go    what operations are compiled for, and to: Env, Pipeline
//	flow.go       New puts a plan's stages in order and fixes their schemas; Bind is New for
//	              a finished plan
//	run.go        a Runner takes batches through the stages, and counts the results
//	route/        which split a sample goes to
//	groups.go     refuses groups that values divide among splits
//	surveys.go    surveys that stages want before the plan is complete
//	ranker.go     the hashes at which splits of exact numbers are cut
//	drop.go       the transform that leaves fields out
package flow
