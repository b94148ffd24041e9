// Package plan is the data that one conversion follows from: which samples of which
// inputs go to which shard, in which order, and how far that is done.
//
// Making one, from spans and schemas that package convert has collected:
//
//	plan.go       Plan, Shard, Unit
//	pack.go       spans are cut into shards, units and the portions of a global shuffle
//	split.go      splits as text, their hashes and ranks; inputs.go: splits that exist
//	builder.go    plans of long lists, block by block
//
// What it is worked by:
//
//	names.go      paths of shards, receipts and fragments
//	tasks.go      which task does what
//	receipt.go    what proves that a shard is done
//	scratch.go    what scratch files take
//
// What it is on disk and beside other plans:
//
//	file.go       the file format; blocks.go: consecutive inputs, in memory or read on demand
//	diff.go       how two plans differ; times.go: inputs that were touched
//	manifest.go   what a plan says about the finished set
//	own.go        which files of a folder are a plan's
package plan
