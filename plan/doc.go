// Package plan is the data that one conversion follows from: which samples of which
// inputs go to which shard, in which order, and how far that is done.
//
// The groups of fields that a Plan has, and what is computed from each:
//
//	plan.go       Plan and its small groups
//	inputs.go     Inputs: what is read, and what is not
//	sample.go     Sample: schemas, and how much the operations make of a sample
//	pack.go       Packing: spans are cut into shards and units; tasks.go: which task does what
//	order.go      Order: the shards and buckets of a global shuffle
//	splits/       how samples are shared, as text, as shares and by names of inputs
//	builder.go    plans of long lists, block by block
//
// What a plan is worked by:
//
//	names.go      paths of shards, receipts and fragments
//	receipt.go    what proves that a shard is done
//	scratch.go    what scratch files take
//	own.go        which files of a folder are a plan's
//	manifest.go   what a plan says about the finished set
//
// What it is on disk and beside other plans:
//
//	file.go       the file format; head.go: its JSON; tables.go: its tables
//	blocks.go     consecutive inputs, in memory or read on demand
//	diff.go       how two plans differ, and which inputs were touched
package plan
