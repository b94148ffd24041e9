// Package megatron reads the .bin and .idx pairs of Megatron-LM, and of programs that write the
// same: NeMo, BlendCorpus, GPT-NeoX, shardify itself. An input is an .idx; its tokens are in the
// .bin beside it. A sample is a document, or a sequence.
//
// What of an index is read is checked: a sequence begins where the one before it ends, the last
// one where the data do, and documents begin at sequences, in order. In a folder with a manifest
// of shardify all shards must be there, with the samples and the index that it says, and the sums
// of the pieces of the tokens are passed on as Proofs; the field has its name and shape from there.
package megatron

import (
	"strings"

	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/megatron"
	"github.com/shardify/shardify/readers/internal/rows/sampleaxis"
	"github.com/shardify/shardify/readers/internal/rows/survey"
)

// Format is the line of the readers' table.
var Format = format.Input{
	Name:      index.FormatMegatron,
	Help:      "Megatron's token sequences: .idx with .bin beside, also of NeMo and BlendCorpus",
	Sniff:     sniff,
	Companion: true,
	StandIn: func(base string) string {
		if stem, ok := strings.CutSuffix(base, megatron.DataExt); ok && stem != "" {
			return megatron.Index(base)
		}
		return ""
	},
	Options: options,
	Open:    open,
}

const (
	byDocument = "document"
	bySequence = "sequence"
)

var options = []format.Option{
	{Name: sampleaxis.SampleOption, Idle: format.Always, Kind: format.KindEnum, Default: byDocument, Values: []string{byDocument, bySequence},
		Help: "what one sample is: a document, with all of its sequences joined, or a sequence"},
	survey.Option,
}

var ours = dataset.Sniffer(index.FormatMegatron)

func sniff(head []byte, name string) bool {
	if head == nil {
		return dataset.IsPairIndex(name)
	}
	return megatron.IsIndex(head) || strings.HasPrefix(string(head), "TNTIDX\x00\x00") || ours(head, name)
}
