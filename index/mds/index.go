// Package mds is the layout of MDS sets, the format of MosaicML Streaming: index.json, the head of a
// shard, the values of a sample, and what their encodings stand for. Like package index it opens no files.
//
//	encoding                              field
//	int, int8...float64                   the same type; int is i64
//	ndarray:DTYPE:3,4                     fixed shape
//	ndarray:DTYPE, ndarray                jagged if the first array has one dimension, else ragged
//	str, str_decimal, json                media txt, txt, json
//	str_int, str_float                    i64, f64
//	bytes, jpeg, png                      media bin, jpg, png
//	jpeg_array, list[jpeg], list[png]     lists of media jpg, jpg, png
//	pil                                   u8, ragged: height, width, channels
//	pkl, list[pil], others                left out, with the reason
//
// The configuration of all shards must be the same, and every size and place is held against the bytes
// that are there.
package mds

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// IndexName is the file that makes a folder an MDS set.
const IndexName = "index.json"

// config is what all shards of a set have alike.
type config struct {
	Format      string   `json:"format"`
	Names       []string `json:"column_names"`
	Encodings   []string `json:"column_encodings"`
	Sizes       []*int64 `json:"column_sizes"`
	Compression *string  `json:"compression"`
	Version     int      `json:"version"`
}

// File is a file of a shard.
type File struct {
	Name  string `json:"basename"`
	Bytes int64  `json:"bytes"`
}

// Shard is the record of one.
type Shard struct {
	config
	Samples int64  `json:"-"`
	Count   *int64 `json:"samples"` // as in the file
	Raw     File   `json:"raw_data"`
	Zip     *File  `json:"zip_data"`
	Lo      int64  `json:"-"` // its first sample
}

// Stored is the record of the file that the shard was published as.
func (sh *Shard) Stored() *File {
	if sh.Zip != nil {
		return sh.Zip
	}
	return &sh.Raw
}

// Index is a parsed index.json.
type Index struct {
	Shards  []Shard
	Samples int64
	Columns []Column // of all shards
}

// Parse reads index.json.
func Parse(b []byte) (*Index, error) {
	var text struct {
		Version int     `json:"version"`
		Shards  []Shard `json:"shards"`
	}
	if err := json.Unmarshal(b, &text); err != nil {
		return nil, shardify.Corrupt(-1, "%s: %v", IndexName, err)
	}
	if text.Version != 2 {
		return nil, shardify.Unsupported("%s of version %d, want 2", IndexName, text.Version)
	}
	x := &Index{Shards: text.Shards}
	for i := range x.Shards {
		sh := &x.Shards[i]
		if err := sh.check(&x.Shards[0].config); err != nil {
			return nil, shardify.Annotate(err, "", "", "shard "+sh.Raw.Name)
		}
		if sh.Lo = x.Samples; sh.Samples > math.MaxInt64-x.Samples {
			return nil, shardify.Corrupt(-1, "more samples than there can be")
		}
		x.Samples += sh.Samples
	}
	var err error
	if len(x.Shards) > 0 {
		x.Columns, err = columnsOf(&x.Shards[0].config)
	}
	return x, err
}

// Is reports whether the text of an index.json begins as those of MDS do: WebDataset has others of the name.
func Is(head []byte) bool {
	flat := bytes.Join(bytes.Fields(head[:min(len(head), 4<<10)]), nil)
	for _, begin := range []string{`{"shards":[{"column_encodings":`, `{"version":2,"shards":[{"column_encodings":`} { // merge_index does not sort the keys
		if bytes.HasPrefix(flat, []byte(begin)) {
			return true
		}
	}
	return string(flat) == `{"shards":[],"version":2}` || string(flat) == `{"version":2,"shards":[]}`
}

// check refuses what is not read, and counts that the bytes cannot hold.
func (sh *Shard) check(first *config) error {
	if sh.Format != index.FormatMDS {
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
	if c := sh.Compression; c == nil || *c != "zstd" && !strings.HasPrefix(*c, "zstd:") {
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

// CheckCount holds the number of samples that a shard begins with against the one of the index.
func CheckCount(r io.ReaderAt, samples int64) error {
	head := make([]byte, 4)
	if err := index.ReadFull(r, head, 0); err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(head)); n != samples {
		return shardify.Corrupt(0, "%d samples, %s says %d", n, IndexName, samples)
	}
	return nil
}

// Places are where samples [lo, hi) of a shard of size bytes begin, and where the last one ends. They are
// checked against the file.
func Places[T uint32 | int64](dst []T, r io.ReaderAt, size, samples, lo, hi int64) ([]T, error) {
	if err := CheckCount(r, samples); err != nil {
		return nil, err
	}
	b := make([]byte, 4*(hi-lo+1))
	if err := index.ReadFull(r, b, 4+4*lo); err != nil {
		return nil, err
	}
	dst = dst[:0]
	least := uint32(4 + 4*(samples+1))
	for i := range hi - lo + 1 {
		v := binary.LittleEndian.Uint32(b[4*i:])
		if v < least || int64(v) > size || lo+i == samples && int64(v) != size {
			return nil, shardify.Corrupt(4+4*(lo+i), "place %d of %d is %d, after %d in a file of %d bytes", lo+i, samples, v, least, size)
		}
		dst, least = append(dst, T(v)), v
	}
	return dst, nil
}

// Values finds the values of a sample, which is all of b: the end of each is appended to ends, the first
// one begins at the returned place. Offsets in errors count from the beginning of b.
func Values(ends []int64, columns []Column, b []byte) (first int64, _ []int64, err error) {
	n := int64(len(b))
	for k := range columns {
		if columns[k].Fixed < 0 {
			first += 4
		}
	}
	if n < first {
		return 0, ends, shardify.Corrupt(0, "sample of %d bytes", n)
	}
	head, at := 0, first
	for k := range columns {
		size := columns[k].Fixed
		if size < 0 {
			size = int64(binary.LittleEndian.Uint32(b[head:]))
			head += 4
		}
		if size > n-at {
			return 0, ends, shardify.Corrupt(0, "column %s of %d bytes in a sample of %d", columns[k].Field.Name, size, n)
		}
		at += size
		ends = append(ends, at)
	}
	if at != n {
		return 0, ends, shardify.Corrupt(0, "values take %d bytes of a sample of %d", at, n)
	}
	return first, ends, nil
}
