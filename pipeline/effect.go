package pipeline

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/transform"
)

// effects says of each setting when it has no effect on a plan, so that to give it is a
// mistake; nil: it always has one, is a bound or a permission, or the code that uses it
// refuses what it cannot use. A test wants a line for each setting.
var effects = map[string]func(s *Settings, p *plan.Plan) (why string){
	"seed": func(s *Settings, p *plan.Plan) string {
		random := p.Shuffle != "" || p.Split != nil && !p.Split.Named() || transform.Random(p.Ops)
		if s.Seed == 0 || random {
			return ""
		}
		return "nothing is random: the seed is for --shuffle, --split, --fraction, --pick and operations of --augment that are random"
	},
	// Parse and plan time refuse these without the setting that they belong to.
	"group-rows-per-file": nil, "group-order": nil, "samples-from": nil, "group-index": nil, "null-keys": nil, "unused-rows": nil, "once": nil, "identity": nil, "stratify": nil, "group-by": nil,
	// A name or glob that matches nothing is an error of the operation.
	"columns": nil, "static": nil, "join": nil, "set": nil, "fraction": nil, "where": nil, "drop-duplicates": nil, "augment": nil, "check-images": nil, "patch": nil, "define": nil, "nan": nil, "encode": nil,
	"tokenize": nil, "pick": nil, "sort": nil, "stack": nil, "pad": nil, "rename": nil, "cast": nil, "pack": nil, "sequences": nil, "window": nil, "split-from": nil, "group-rows": nil,
	// Always.
	"inputs": nil, "from": nil, "files-from": nil, "output": nil, "format": nil, "copies": nil, "shuffle": nil, "split": nil, "provenance": nil, "shard-size": nil, "shard-samples": nil,
	// Bounds, permissions, and how the work is done.
	"follow-symlinks": nil, "max-output": nil, "fresh": nil, "limit": nil, "range": nil, "max-sample": nil, "on-error": nil, "scratch": nil, "jobs": nil, "memory": nil, "sync": nil, "ignore-times": nil,
}

// useless refuses a setting that has no effect.
func (s *Settings) useless(p *plan.Plan) error {
	if s.recorded {
		return nil
	}
	for i := range Keys {
		if f := effects[Keys[i].Name]; f != nil {
			if why := f(s, p); why != "" {
				return shardify.Hint(shardify.Usage("--%s %s has no effect: %s", Keys[i].Name, Keys[i].Of(s), why), "leave --"+Keys[i].Name+" out")
			}
		}
	}
	return nil
}
