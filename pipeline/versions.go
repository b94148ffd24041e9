package pipeline

import (
	"cmp"
	"context"

	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/stall"
	"github.com/shardify/shardify/pipeline/internal/sets"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
)

// Edit makes a new version of a data set.
type Edit = sets.Edit

// Version is one of those that a data set has had.
type Version struct {
	Number  int64  `json:"version"`
	Op      string `json:"op"` // what made it
	Change  int64  `json:"change"`
	Samples int64  `json:"samples"`
	Bytes   int64  `json:"bytes"`
	Note    string `json:"note"`
	Digest  string `json:"xxh3"` // of its manifest
	ID      string `json:"id"`
}

// Change carries an Edit out.
func Change(ctx context.Context, e *Edit, h Hooks) error {
	e.Dir = storages.Plain(e.Dir)
	e.Jobs, _ = host.This().Jobs(e.Jobs)
	e.Memory, _ = host.This().Budget(e.Memory)
	e.Sync = cmp.Or(e.Sync, string(local.SyncShard))
	e.Steps = new(stall.Board)
	defer h.watch(e.Steps.Watch)()
	return e.Run(ctx)
}

// Versions are those that a data set has had and still keeps, the present one first.
func Versions(dir string) (list []Version, err error) {
	all, err := sets.Versions(storages.Plain(dir))
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		m := s.Manifest
		v := Version{Number: m.VersionNumber(), Op: "convert", Change: m.Samples, Samples: m.Samples, Bytes: m.Bytes, Digest: m.Digest, ID: s.ID}
		switch {
		case m.Change != nil:
			v.Op, v.Change, v.Note = m.Change.Op, m.Change.Samples, m.Change.Note
		case len(m.Parts) > 0 && m.Previous != "":
			v.Op, v.Change = "extend", m.Parts[len(m.Parts)-1].Samples
		case len(m.Parts) > 0:
			v.Op = "merge-sets"
		}
		list = append(list, v)
	}
	return list, nil
}
