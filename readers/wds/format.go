// Package wds reads data sets of wds shards back (docs/reference/format.md section 4): the
// tars that shardify wrote, by their manifest and offset indexes. An input is a
// data set: its folder, or the shardify.json in it. Sample numbers count through
// all shards of the data set.
//
// Every byte of a tar that is read and is not data is checked: headers, fillers, names, the
// headers of NumPy files. The digest of a shard covers all of its bytes: the sums of its
// pieces are passed on as Proofs, which join where all samples are read. Fields that are
// not wanted are read for it, too. Of a part of the samples (--range, --limit) only verify
// can check it.
package wds

import (
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// Format is the line of the readers' table.
var Format = format.Input{
	Name:    index.FormatWDS,
	Help:    "a data set of wds shards: its folder or its shardify.json",
	Sniff:   dataset.Sniffer(index.FormatWDS),
	Sets:    true,
	Options: []format.Option{format.GroupedItems},
	Open:    Open,
}
