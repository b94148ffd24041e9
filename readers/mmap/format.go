// Package mmap reads data sets of mmap shards back (docs/reference/format.md section 3).
// An input is a data set: its folder, or the shardify.json in it. Sample numbers
// count through all shards of the data set.
//
// What it relies on is checked: the manifest, every shard's header against the manifest's
// digest, and offsets. The CRC-32Cs of what is read of a tensor are passed on as Proofs,
// which join if all of it is read; of a part (--range, --limit) only verify can check them.
package mmap

import (
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
)

// Format is the line of the readers' table.
var Format = format.Input{
	Name:  index.FormatMmap,
	Help:  "a data set of mmap shards: its folder or its shardify.json",
	Sniff: dataset.Sniffer(index.FormatMmap),
	Sets:  true,
	Open:  Open,

	Options: []format.Option{viewOption, format.GroupedItems},
}

var viewOption = format.Option{Name: "view", Idle: format.Always, Kind: format.KindString, Quiet: true, Help: "`NAME[,out=N]`: samples are the windows of a view of the set, whose rows are copied into each"}
