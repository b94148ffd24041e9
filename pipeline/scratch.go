package pipeline

import (
	"path/filepath"
	"strings"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// ScratchFolder is where the fragments of this conversion are: below --scratch in a
// folder of their own, since several conversions may share that. It is "" where they are in
// a storage that is none of this machine.
func (p *Prepared) ScratchFolder() string {
	if p.Plan.ScratchPath == "" {
		if !storages.Local(p.Output) {
			return ""
		}
		return filepath.Join(p.Output, filepath.FromSlash(plan.ScratchDir))
	}
	return filepath.Join(p.Plan.ScratchPath, "shardify-"+strings.TrimPrefix(p.Plan.Digest(), index.DigestPrefix)[:16])
}

// Tidy removes the scratch folder of a complete data set.
func (p *Prepared) Tidy() error {
	if !p.Plan.Scatters() {
		return nil
	}
	if err := p.Job.Tidy(); err != nil {
		return err
	}
	if folder := p.ScratchFolder(); folder != "" {
		return local.RemoveAll(folder) // another process at it will find the set complete, and remove what it made
	}
	return nil
}

func (p *Prepared) dropScratch() {
	if x, ok := storage.As[storage.Maker](p.Store); ok {
		x.DropScratch()
	}
}
