// Package shardify is the vocabulary that readers, writers and the conversion
// pipeline share: fields, columns, batches, spans, and the four small
// interfaces Source, Reader, Transform and Sink. It does no work itself and
// imports only the standard library. Package format has what formats declare, and
// what only some sources and sinks can do.
//
// The common currency is a [Batch] of byte columns, laid out as in a
// shard and on the GPU: little-endian, row-major, one buffer per column. A
// [Source] turns inputs of one format into batches, a [Sink] turns batches into
// one shard, and package convert runs the two against a plan:
//
//	f, _, err := readers.Choose(ctx, nil, "", inputs)
//	in, err := readers.Open(ctx, f, readers.Request{Inputs: inputs})
//	plan, err := convert.MakePlan(ctx, convert.Request{Input: f.Name, Source: in.Source, Args: in.Args, Output: sink})
//	job := convert.Job{Plan: plan, Source: in.Source, Sink: sink, Store: convert.Folder("train")}
//	manifest, err := job.Convert(ctx)
//
// where sink is a format of package writers; the example of package convert has it
// whole. Package gpuload reads what was made.
//
// Words: a sample is one training example; a field is the schema entry and a
// column its data in a batch; a span is consecutive samples read together; a
// shard is a published file. docs/reference/format.md states the bytes on disk.
package shardify
