package convert

import (
	"context"
	"io/fs"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/store"
)

var errNotExist = fs.ErrNotExist

// Convert publishes the plan, does every unit that is not done yet, and merges.
func (j *Job) Convert(ctx context.Context) (*index.Manifest, error) {
	if err := j.Plan.Publish(ctx, j.Store); err != nil {
		return nil, why(ctx, err)
	}
	if err := j.Work(ctx, j.Plan.Task(0, 1)); err != nil {
		return nil, err
	}
	m, err := j.Merge(ctx)
	return m, why(ctx, err)
}

// Clear removes what a conversion with this plan may have published, manifest
// first and plan last, and nothing else.
func (p *Plan) Clear(s shardify.Store) error {
	if err := s.Remove(index.ManifestName); err != nil {
		return err
	}
	var ours []string
	for f, err := range s.List("") {
		if err != nil {
			return err
		}
		if p.owns(f.Name) {
			ours = append(ours, f.Name)
		}
	}
	for _, n := range ours {
		if err := s.Remove(n); err != nil {
			return err
		}
	}
	return s.Remove(PlanName)
}

// owns tells whether a published file is this conversion's.
func (p *Plan) owns(name string) bool {
	if name == PlanName {
		return false // removed last
	}
	if strings.HasPrefix(name, store.Private+"/") || strings.HasPrefix(name, ".nv-meta/") || name == "index.json" {
		return true
	}
	base := name[strings.LastIndexByte(name, '/')+1:]
	return strings.HasPrefix(base, "shard-") && (strings.HasSuffix(base, p.Ext) || strings.HasSuffix(base, ".idx"))
}
