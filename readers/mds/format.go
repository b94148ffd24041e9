// Package mds reads MDS sets, the format of MosaicML Streaming: folders with an index.json. Such a
// folder is one input; its samples count through all shards.
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
// In a set of shardify the manifest says the rest: booleans, lists of texts, attributes. Its index
// is held against its digest, and the sums of the pieces of each shard are passed on as Proofs.
// Names of samples, __key__, become the field key. Shards may be compressed by zstd, and are then decoded
// whole; one that was unpacked beside is read as it is. The configuration of all shards must be the
// same, and every size and place that is read is held against the bytes that are there.
package mds

import (
	"bytes"
	"strings"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// indexName is the file that makes a folder an MDS set.
const indexName = "index.json"

// Format is the line of the readers' table.
var Format = format.Input{
	Name:      index.FormatMDS,
	Help:      "sets of MosaicML Streaming (MDS): a folder with its index.json",
	Sniff:     sniff,
	Companion: true,
	Roots:     []string{indexName},
	StandIn: func(base string) string {
		if strings.HasSuffix(base, ext) || strings.HasSuffix(base, ext+zipExt) || strings.HasSuffix(base, ext+".zst") {
			return indexName
		}
		return ""
	},
	Options: options,
	Open:    open,
}

const (
	ext     = ".mds"
	zipExt  = ".zstd"
	optText = "text"
)

var options = []format.Option{
	format.OptText,
	survey.Option,
}

var ours = dataset.Sniffer(index.FormatMDS)

func sniff(head []byte, name string) bool {
	if name != indexName {
		return ours(head, name)
	}
	flat := bytes.Join(bytes.Fields(head), nil)
	for _, begin := range []string{`{"shards":[{"column_encodings":`, `{"version":2,"shards":[{"column_encodings":`} { // merge_index does not sort the keys
		if bytes.HasPrefix(flat, []byte(begin)) {
			return true
		}
	}
	return string(flat) == `{"shards":[],"version":2}` || string(flat) == `{"version":2,"shards":[]}`
}
