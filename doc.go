// Package shardify is the vocabulary that readers, writers and the conversion
// pipeline share: fields, columns, batches, spans, and the four small
// interfaces Source, Reader, Transform and Sink. It does no work itself and
// imports only the standard library.
//
// The common currency is a [Batch] of byte columns, laid out as it stands in a
// shard and on the GPU: little-endian, row-major, one buffer per column. A
// [Source] turns inputs of one format into batches, a [Sink] turns batches into
// one shard, and package convert runs the two against a plan:
//
//	src, err := readers.Open(ctx, shardify.OpenArgs{Table: table})
//	res, err := convert.Convert(ctx, convert.Request{Source: src, ...})
//
// Words: a sample is one training example; a field is the schema entry and a
// column its data in a batch; a span is consecutive samples read together; a
// shard is a published file. docs/format.md states the bytes on disk.
package shardify
