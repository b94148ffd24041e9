// Package gpuload feeds trainers from shardify's data sets: it reads shards in a
// shuffled order that is a pure function of seed, epoch and position, gathers
// batches into slots, and says what the trainer waits for.
//
//	set, err := gpuload.Open(ctx, "data/train")
//	l, err := set.Loader(gpuload.Config{Batch: 256, Shuffle: gpuload.Block, Seed: 1})
//	for {
//		b, err := l.Next(ctx)
//		if err == io.EOF { // the epoch is over; the next Next begins another
//			break
//		}
//		if err != nil {
//			return err
//		}
//		x := b.Host("x") // b.Batch() samples, row-major
//		...
//		b.Release()
//	}
//
// It has no worker processes. Files are read with pread, or copied out of mappings whose faults are
// errors: a file that shrinks does not end the process. A shard is held against the manifest each time
// it is opened, a short read names shard and offset, and checksums are compared before or beside the
// reading (Config.Verify).
//
// Samples come from a tier: the GPU's memory, pinned memory, a copy of the shards that
// the ranks of a node share, or the shards themselves (Config.Tier).
//
// This package is the Loader, which owns nothing but its parts, from what is wanted to what is
// delivered. What changes while batches are made has one owner and one lock. No file uses a field
// without a capital of a type in another file.
//
//	samples.go   samples: what is delivered, in which order; window.go, stream.go, labels.go: kinds of it
//	target.go    target: the device
//	tier.go      budget: what fits into memory, so the tier
//	sources.go   sources: shards and what the tier keeps of them; what is read ahead and checked
//	make.go      maker: one goroutine's way from the sources into a slot
//	slots.go     slots: memory of batches
//	queue.go     queue: which slot has which step, and who waits
//	pipeline.go  pipeline: the goroutines
//	position.go  place: where the consumer is
//	meter.go     meter: figures and trace
//	batch.go     Batch: a slot in the hands of the consumer
//
// Below it are
//
//	order            which sample comes when: pure arithmetic
//	internal/load    shards into tables, tables into batches
//	internal/filemap files as memory, with faults that are errors
//	internal/tier    what is read ahead or kept in memory
//	internal/device  the host, GPUs
//	internal/cuda    the CUDA driver
//
// docs/design/loader.md defines the order of samples precisely enough to compute it
// elsewhere; it is a promise, held by order/testdata/order.golden.
package gpuload
