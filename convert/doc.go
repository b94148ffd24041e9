// Package convert carries out plans: it makes one from metadata, works its units, and
// merges the receipts into a manifest.
//
//	p, err := convert.MakePlan(ctx, request)        // metadata only
//	job := convert.Job{Plan: p, Source: src, Sink: format, Store: out, Pool: pool, Jobs: 4}
//	err = job.Work(ctx, p.Pack.Task(0, 1))          // any units, any order, any machine
//	manifest, err := job.Merge(ctx)                 // needs every receipt
//
// A unit is the work of one goroutine: it reads its spans ahead in order, routes
// the samples to its shards, and publishes each shard with a receipt. The plan
// alone decides the bytes: not the number of jobs, tasks or machines, nor the
// memory. What a plan is, as data and as a file, is package plan; what happens to samples
// on their way is package flow.
//
// Making a plan:
//
//	make.go        MakePlan
//	partplan.go    of a list that comes in parts; partfaults.go: errors about many parts
//	survey.go      passes over all samples before the plan is complete
//
// Carrying it out:
//
//	convert.go     what a task does: work, gather, and begin again after others
//	job.go         Job; work.go: units by several goroutines
//	partsource.go  the source of a plan in parts
//	ahead.go       spans are read before they are asked for; inline.go: or by the goroutine that needs them
//	spanreader.go  one reader; retry.go: after errors that pass
//	worker.go      one unit: its spans, its shards, damage, receipts
//	changed.go     inputs that change while they are read; stall.go: a job that does not move
//	destination.go where the samples of a shard go: sinks, a fragment, an order
//	gather.go      the shards of a global shuffle
//	store.go       receipts: what is done, in the store
//
// Completing the set:
//
//	collect.go     what receipts say, and the manifest of that
//	origin.go      which sample came from where
package convert
