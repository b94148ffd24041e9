package shardify

import (
	"context"
	"io"
	"iter"
)

// Source is the whole list of inputs of one format, narrowed to the wanted
// fields. Schema and Spans come from metadata alone. All methods may be called
// concurrently.
type Source interface {
	Schema() []Field
	// Spans yields every sample once, in order, in spans of about target
	// decoded bytes cut at the format's natural borders. Spans of one run are
	// contiguous in the sequence.
	Spans(ctx context.Context, target int64) iter.Seq2[Span, error]
	// Reader returns a new reader for one run; run 0 reads any span of run 0.
	// A reader is used by one goroutine at a time, several readers at once.
	Reader(run uint32) (Reader, error)
	io.Closer
}

// Reader reads spans. Readers of a run > 0 are asked for its spans in order
// (spans may be left out). The batch's buffers belong to mem; on error nothing
// is returned. A short read is an error, never a short batch.
type Reader interface {
	Read(ctx context.Context, s Span, mem *Arena) (*Batch, error)
	io.Closer
}

// Sink writes one shard, from one goroutine. The shard does not exist for
// others until Commit.
type Sink interface {
	// Write takes samples in order. It must not keep b or its buffers.
	Write(b *Batch) error
	// Commit publishes the shard with all files that belong to it. After an
	// error nothing is published under the shard's name.
	Commit(ctx context.Context) (Shard, error)
	// Abort removes what was written; after Commit it does nothing.
	Abort() error
}

// Shard is the record of a published shard.
type Shard struct {
	Name    string `json:"name"` // slash path below the data set's folder
	Samples int64  `json:"samples"`
	Bytes   int64  `json:"bytes"`
	Digest  string `json:"digest"` // "xxh3:" + 32 hex digits; what it covers is the format's choice
	// Files are further files that belong to this shard (an offset index).
	Files []File `json:"files,omitempty"`
}

// File is a published file that is not a shard.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// Record is the record of a file that belongs to the shard, nil without one.
func (s *Shard) Record(name string) *File {
	for i := range s.Files {
		if s.Files[i].Name == name {
			return &s.Files[i]
		}
	}
	return nil
}
