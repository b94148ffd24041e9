package plan

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
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
// in InputsName and its number in that input; with copies also the number of the copy.
const OriginField = "origin"

// OriginOf is the field, with the number of the copy or without.
func OriginOf(copies bool) shardify.Field {
	n := 2
	if copies {
		n = 3
	}
	return shardify.Field{Name: OriginField, DType: shardify.I64, Shape: []int{n}}
}

// InputsName is the list of inputs that OriginField counts: a line of JSON for each,
// {"file": "..."}, with the object that was read in it if there is a choice.
const InputsName = "inputs.jsonl"

// ShardName is the path of shard i below the data set's folder.
func (p *Plan) ShardName(i int) string { return p.stem(i) + p.Ext }

func (p *Plan) stem(i int) string {
	const perFolder = 4000
	if p.Outputs() > perFolder {
		return fmt.Sprintf("%04d/shard-%06d", i/perFolder, i)
	}
	return fmt.Sprintf("shard-%06d", i)
}

// FileName is where a plan is below the data set's folder.
const FileName = storage.Private + "/plan"

// ReceiptName is the path of the receipt of a shard.
func (p *Plan) ReceiptName(i int) string { return receiptsDir + "/" + p.stem(i) + ".json" }

// ScratchDir is where fragments are if no other place is named.
const ScratchDir = storage.Private + "/scratch"

// ScatterName is the path of the receipt of a portion of a global shuffle.
func (p *Plan) ScatterName(i int) string {
	return fmt.Sprintf("%s/scatter/portion-%06d.json", receiptsDir, i)
}

// SplitNames are the splits in the order of their numbers; nil without.
func (p *Plan) SplitNames() []string {
	if p.Split == nil {
		return nil
	}
	var out []string
	for _, s := range p.Split.Parts {
		out = append(out, s.Name)
	}
	return out
}

// SplitShardName is the path of shard i of a split below the data set's folder.
func (p *Plan) SplitShardName(split, i int) string {
	if p.Split == nil {
		return p.ShardName(i)
	}
	return p.Split.Parts[split].Name + "/" + p.ShardName(i)
}

const receiptsDir = storage.Private + "/receipts"

// InputName is the name of an input, as errors and reports show it.
func (p *Plan) InputName(i uint32) string {
	if int(i) < p.Table.Len() {
		return p.Table.Unique(int(i))
	}
	if i == 0 && p.FirstInput != "" {
		return p.FirstInput
	}
	return fmt.Sprintf("input %d", i)
}
