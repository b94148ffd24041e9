package convert

import (
	"github.com/shardify/shardify"
)

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

// read is the schema of the source.
func (p *Plan) read() []shardify.Field {
	if p.Source != nil {
		return p.Source
	}
	return p.Schema
}
