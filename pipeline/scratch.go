package pipeline

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// ScratchFolder is where the fragments of this conversion are: below --scratch in a folder of their
// own, since several conversions may share that. Fragments of a set in another storage than this
// machine's are beside the set, where all tasks find them, and ScratchFolder is ""; if one process
// does everything, they are in the system's temporary folder.
func (p *Prepared) ScratchFolder() string {
	at := p.fragmentsAt()
	if at == p.Output {
		if !storages.Local(at) {
			return ""
		}
		return filepath.Join(at, filepath.FromSlash(plan.ScratchDir))
	}
	return filepath.Join(at, "shardify-"+strings.TrimPrefix(p.Plan.Digest(), index.DigestPrefix)[:16])
}

// fragmentsAt is the folder that has the space for fragments.
func (p *Prepared) fragmentsAt() string {
	if p.Plan.Local.Scratch == "" && p.alone && !storages.Local(p.Output) {
		return os.TempDir()
	}
	return cmp.Or(p.Plan.Local.Scratch, p.Output)
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
