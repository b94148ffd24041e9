package pipeline

import (
	"context"

	"github.com/shardify/shardify/internal/cluster"
	"github.com/shardify/shardify/storage/local"
)

// Waste finds what dead processes have left in a data set. Its Remove removes that.
func Waste(ctx context.Context, folder string) (*cluster.Waste, error) {
	scratch := ""
	if p, err := Reopen(folder, Settings{Jobs: 1, Memory: 1 << 30}); err == nil && p.Plan.ScratchPath != "" {
		scratch = p.ScratchFolder()
	}
	return cluster.FindWaste(ctx, folder, scratch, local.TempAge)
}
