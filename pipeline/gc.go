package pipeline

import (
	"context"

	"github.com/shardify/shardify/pipeline/cluster"
	"github.com/shardify/shardify/storage/local"
)

// Leftovers is what dead processes have left in a data set. Its Remove removes that.
type Leftovers = cluster.Waste

// Waste finds what dead processes have left in a data set.
func Waste(ctx context.Context, folder string) (*Leftovers, error) {
	scratch := ""
	if p, err := Reopen(context.Background(), folder, Settings{Jobs: 1, Memory: 1 << 30}); err == nil && p.Plan.Local.Scratch != "" {
		scratch = p.ScratchFolder()
	}
	return cluster.FindWaste(ctx, folder, scratch, local.TempAge)
}
