package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
)

// ScratchFolder is where the fragments of this conversion are: below --scratch in a
// folder of their own, since several conversions may share that.
func (p *Prepared) ScratchFolder() string {
	if p.Plan.ScratchPath == "" {
		return filepath.Join(p.Output, filepath.FromSlash(plan.ScratchDir))
	}
	return filepath.Join(p.Plan.ScratchPath, "shardify-"+strings.TrimPrefix(p.Plan.Digest(), index.DigestPrefix)[:16])
}

// Tidy removes the scratch folder of a complete data set.
func (p *Prepared) Tidy() error {
	if p.Plan.Shuffle == "" {
		return nil
	}
	if err := p.Job.Tidy(); err != nil {
		return err
	}
	return removeScratch(p.ScratchFolder())
}

// removeScratch removes the folder, unless another process at the same conversion puts a
// file there at this moment: it will find the data set complete, and remove what it made.
func removeScratch(folder string) error {
	err := os.RemoveAll(folder)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return nil
	}
	return err
}
