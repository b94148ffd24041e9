// Package mds reads MDS sets, the format of MosaicML Streaming: folders with an index.json. Such a
// folder is one input; its samples count through all shards. Which encodings become which fields is in
// index/mds.
//
// In a set of shardify the manifest says the rest: booleans, lists of texts, attributes. Its index
// is held against its digest, and the sums of the pieces of each shard are passed on as Proofs.
// Names of samples, __key__, become the field key. Shards may be compressed by zstd, and are then decoded
// whole; one that was unpacked beside is read as it is.
package mds

import (
	"strings"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/mds"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

const indexName = mds.IndexName

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
	return mds.Is(head)
}
