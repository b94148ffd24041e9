package mds

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

// maxIndex bounds index.json: a million shards take 500 MiB.
const maxIndex = 1 << 30

// config is what all shards of a set have alike.
type config struct {
	Format      string   `json:"format"`
	Names       []string `json:"column_names"`
	Encodings   []string `json:"column_encodings"`
	Sizes       []*int64 `json:"column_sizes"`
	Compression *string  `json:"compression"`
	Version     int      `json:"version"`
}

type blobRecord struct {
	Name  string `json:"basename"`
	Bytes int64  `json:"bytes"`
}

// shard is the record of one.
type shard struct {
	config
	Samples int64       `json:"-"`
	Count   *int64      `json:"samples"` // as in the file
	Raw     blobRecord  `json:"raw_data"`
	Zip     *blobRecord `json:"zip_data"`
	lo      int64       // its first sample
	// In a set of ours: its place in the manifest, and the digest of its file.
	number uint32
	digest string
}

// file is the record of the file that the shard was published as.
func (sh *shard) file() *blobRecord {
	if sh.Zip != nil {
		return sh.Zip
	}
	return &sh.Raw
}

// dataSet is a parsed index.json.
type dataSet struct {
	storage.File
	shards  []shard
	samples int64
	columns []column // of all shards
}

// Unwrap is the file below.
func (s *dataSet) Unwrap() any { return s.File }

// parse reads index.json.
func parse(f storage.File) (*dataSet, error) {
	b, err := storage.ReadWhole(f, indexName, maxIndex)
	if err != nil {
		return nil, err
	}
	var text struct {
		Version int     `json:"version"`
		Shards  []shard `json:"shards"`
	}
	if err := json.Unmarshal(b, &text); err != nil {
		return nil, shardify.Corrupt(-1, "%s: %v", indexName, err)
	}
	if text.Version != 2 {
		return nil, shardify.Unsupported("%s of version %d, want 2", indexName, text.Version)
	}
	s := &dataSet{File: f, shards: text.Shards}
	for i := range s.shards {
		sh := &s.shards[i]
		if err := sh.check(&s.shards[0].config); err != nil {
			return nil, shardify.Annotate(err, "", "", "shard "+sh.Raw.Name)
		}
		sh.lo = s.samples
		s.samples += sh.Samples
	}
	if len(s.shards) > 0 {
		s.columns, err = columnsOf(&s.shards[0].config)
	}
	return s, err
}

// check refuses what is not read, and counts that the bytes cannot hold.
func (sh *shard) check(first *config) error {
	if sh.Format != "mds" {
		return shardify.Unsupported("shards of format %q, want mds", sh.Format)
	}
	if n := len(sh.Names); n != len(sh.Encodings) || n != len(sh.Sizes) || n == 0 {
		return shardify.Corrupt(-1, "%d columns with %d encodings and %d sizes", n, len(sh.Encodings), len(sh.Sizes))
	}
	same := func(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	if !slices.Equal(sh.Names, first.Names) || !slices.Equal(sh.Encodings, first.Encodings) || !slices.EqualFunc(sh.Sizes, first.Sizes, same) {
		return shardify.Mismatch("columns %v of %v, but %v of %v in the first shard", sh.Names, sh.Encodings, first.Names, first.Encodings)
	}
	if err := index.SafeName(sh.Raw.Name); err != nil {
		return err
	}
	if sh.Count == nil {
		return shardify.Corrupt(-1, "it says no number of samples")
	}
	if sh.Samples = *sh.Count; sh.Samples < 0 || sh.Raw.Bytes < 0 || sh.Raw.Bytes > math.MaxUint32 || sh.Samples > (sh.Raw.Bytes-8)/4 {
		return shardify.Corrupt(-1, "%d samples in %d bytes", sh.Samples, sh.Raw.Bytes)
	}
	if sh.Zip == nil {
		return nil
	}
	if c := sh.Compression; c == nil || *c != "zstd" && !(len(*c) > 5 && (*c)[:5] == "zstd:") {
		name := "none"
		if c != nil {
			name = *c
		}
		return shardify.Hint(shardify.Unsupported("shards compressed by %s, want zstd", name), "Streaming unpacks them beside each other (keep_zip=True) when it goes through the set once")
	}
	if sh.Zip.Bytes < 0 {
		return shardify.Corrupt(-1, "a compressed file of %d bytes", sh.Zip.Bytes)
	}
	return index.SafeName(sh.Zip.Name)
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
	o := &openShard{size: sh.Raw.Bytes, lo: sh.lo, n: sh.Samples}
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

// count holds the number of samples that a shard begins with against the one of the index.
func (o *openShard) count() error {
	head := make([]byte, 4)
	if err := index.ReadFull(o, head, 0); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(head)); n != o.n {
		return shardify.Corrupt(0, "%d samples, %s says %d", n, indexName, o.n)
	}
	return nil
}

// places are where samples [lo, hi) of the shard begin, and where the last one ends. They are
// checked against the file.
func (o *openShard) places(dst []uint32, lo, hi int64) ([]uint32, error) {
	if err := o.count(); err != nil {
		return nil, err
	}
	b := make([]byte, 4*(hi-lo+1))
	if err := index.ReadFull(o, b, 4+4*lo); err != nil {
		return nil, err
	}
	dst = dst[:0]
	least := uint32(4 + 4*(o.n+1))
	for i := range hi - lo + 1 {
		v := binary.LittleEndian.Uint32(b[4*i:])
		if v < least || int64(v) > o.size || lo+i == o.n && int64(v) != o.size {
			return nil, shardify.Corrupt(4+4*(lo+i), "place %d of %d is %d, after %d in a file of %d bytes", lo+i, o.n, v, least, o.size)
		}
		dst, least = append(dst, v), v
	}
	return dst, nil
}
