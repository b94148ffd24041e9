package mds

import (
	"context"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index/mds"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

// maxIndex bounds index.json: a million shards take 500 MiB.
const maxIndex = 1 << 30

// shard is the record of one.
type shard struct {
	mds.Shard
	// In a set of ours: its place in the manifest, and the digest of its file.
	number uint32
	digest string
}

// dataSet is a parsed index.json.
type dataSet struct {
	storage.File
	shards  []shard
	samples int64
	columns []mds.Column // of all shards
	text    []bool       // by column: it is to be read as bytes
}

// Unwrap is the file below.
func (s *dataSet) Unwrap() any { return s.File }

// parse reads index.json.
func parse(f storage.File) (*dataSet, error) {
	b, err := storage.ReadWhole(f, indexName, maxIndex)
	if err != nil {
		return nil, err
	}
	x, err := mds.Parse(b)
	if err != nil {
		return nil, err
	}
	s := &dataSet{File: f, samples: x.Samples, columns: x.Columns, text: make([]bool, len(x.Columns)), shards: make([]shard, len(x.Shards))}
	for i := range x.Shards {
		s.shards[i].Shard = x.Shards[i]
	}
	return s, nil
}

// openShard is an open shard, as it is or decoded.
type openShard struct {
	io.ReaderAt
	file  storage.File // nil if it was decoded
	bytes int64        // in memory
	size  int64
	lo    int64 // its first sample
	n     int64
	// digest is of the bytes that are read, if they have one that was not compared yet.
	digest string
}

func (o *openShard) close() {
	if o != nil && o.file != nil {
		o.file.Close()
	}
}

// packed reports whether a shard must be decoded: it is not there unpacked, or only the compressed
// file has a digest.
func (s *source) packed(ctx context.Context, dir string, sh *shard) (bool, error) {
	if sh.Zip == nil || sh.digest != "" {
		return sh.Zip != nil, nil
	}
	st, err := s.fs.Stat(ctx, storage.Join(dir, sh.Raw.Name))
	return err != nil || st.Size != sh.Raw.Bytes, nil
}

// openShard opens one. hold is called with its size in memory before it is decoded.
func (s *source) openShard(ctx context.Context, dir string, sh *shard, hold func(n int64) error) (*openShard, error) {
	o := &openShard{size: sh.Raw.Bytes, lo: sh.Lo, n: sh.Samples}
	packed, err := s.packed(ctx, dir, sh)
	if err != nil {
		return nil, err
	}
	record := &sh.Raw
	if packed {
		record = sh.Zip
	}
	f, err := rows.OpenFile(ctx, s.fs, storage.Join(dir, record.Name), -1)
	if err != nil {
		return nil, shardify.Annotate(err, "open", storage.Join(dir, record.Name), "")
	}
	if f.Size() != record.Bytes {
		f.Close()
		return nil, shardify.Corrupt(-1, "shard %s: %s says %d bytes, the file has %d", record.Name, indexName, record.Bytes, f.Size())
	}
	if !packed {
		o.ReaderAt, o.file, o.digest = f, f, sh.digest
		return o, nil
	}
	defer f.Close()
	if sh.digest != "" {
		if err := dataset.CheckWhole(f, &shardify.File{Bytes: record.Bytes, Digest: sh.digest}); err != nil {
			return nil, shardify.Annotate(err, "read", storage.Join(dir, record.Name), "")
		}
	}
	if err := hold(sh.Raw.Bytes); err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(io.NewSectionReader(f, 0, f.Size()), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(128<<20))
	if err != nil {
		return nil, err
	}
	defer dec.Close()
	b, err := io.ReadAll(io.LimitReader(dec, sh.Raw.Bytes+1))
	if err != nil {
		return nil, shardify.Corrupt(-1, "shard %s: zstd at byte %d of %d: %v", record.Name, len(b), sh.Raw.Bytes, err)
	}
	if int64(len(b)) != sh.Raw.Bytes {
		return nil, shardify.Corrupt(-1, "shard %s: %d bytes or more unpacked, %s says %d", record.Name, len(b), indexName, sh.Raw.Bytes)
	}
	o.ReaderAt, o.bytes = memory(b), int64(len(b))
	return o, nil
}

type memory []byte

func (m memory) ReadAt(p []byte, at int64) (int, error) {
	if at < 0 || at >= int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(p, m[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
