package plan

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/storage"
)

// FragmentSuffix ends the names of fragments.
const FragmentSuffix = ".fragment"

// Ranges writes numbers as an --array list: "3,17-19".
func Ranges(n []int) string {
	var b strings.Builder
	for i := 0; i < len(n); {
		k := i
		for k+1 < len(n) && n[k+1] == n[k]+1 {
			k++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		if k > i {
			fmt.Fprintf(&b, "%d-%d", n[i], n[k])
		} else {
			fmt.Fprintf(&b, "%d", n[i])
		}
		i = k + 1
	}
	return b.String()
}

// OriginField is the field of Request.Provenance: per sample the number of its input
// in index.InputsName and its number in that input; with copies also the number of the copy.
const OriginField = "origin"

// OriginOf is the field, with the number of the copy or without.
func OriginOf(copies bool) shardify.Field {
	n := 2
	if copies {
		n = 3
	}
	return shardify.Field{Name: OriginField, DType: shardify.I64, Shape: []int{n}}
}

// FileName is where a plan is below the data set's folder.
const FileName = storage.Private + "/plan"

// ScratchDir is where fragments are if no other place is named.
const ScratchDir = storage.Private + "/scratch"

// ScatterName is the path of the receipt of a portion of a global shuffle.
func ScatterName(i int) string {
	return fmt.Sprintf("%s/scatter/portion-%06d.json", receiptsDir, i)
}

const receiptsDir = storage.Private + "/receipts"

// Names are the paths of what a conversion makes, below the data set's folder.
type Names struct {
	shards int // of each split
	ext    string
	split  *splits.Rule
}

// Names is how the files are named.
func (p *Plan) Names() Names { return Names{p.Outputs(), p.Out.Ext, p.Splits.Rule} }

// Shard is the path of shard i.
func (n Names) Shard(i int) string { return ShardStem(i, n.shards) + n.ext }

// InSplit is the path of shard i of a split.
func (n Names) InSplit(split, i int) string {
	if n.split == nil {
		return n.Shard(i)
	}
	return n.split.Parts[split].Name + "/" + n.Shard(i)
}

// Receipt is the path of the receipt of a shard.
func (n Names) Receipt(i int) string { return receiptsDir + "/" + ShardStem(i, n.shards) + ".json" }

// ShardStem is the path of shard i of n, without its extension.
func ShardStem(i, n int) string {
	const perFolder = 4000
	if n > perFolder {
		return fmt.Sprintf("%04d/shard-%06d", i/perFolder, i)
	}
	return fmt.Sprintf("shard-%06d", i)
}
