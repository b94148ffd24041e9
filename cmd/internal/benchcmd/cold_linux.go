package benchcmd

import (
	"context"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/storage/local"
	"golang.org/x/sys/unix"
)

// cold asks the system to drop what it has cached of the shards. It may keep pages
// that others use, so the report's figure of bytes from storage is what counts.
func cold(ctx context.Context, o *cli.IO, dirs []string) {
	failed := 0
	for _, dir := range dirs {
		b, err := dataset.ReadManifest(ctx, local.Files, dataset.ManifestPath(dir))
		if err != nil {
			continue // it was opened just now
		}
		m, err := index.DecodeManifest(b)
		if err != nil {
			continue
		}
		for i := range m.Shards {
			if ctx.Err() != nil {
				return
			}
			if err := forget(dataset.FilePath(dir, m.Shards[i].Name)); err != nil {
				failed++
			}
		}
	}
	if failed > 0 {
		o.Note("%s could not be dropped from memory", printable.Of(int64(failed), "shard"))
	}
}

func forget(name string) error {
	f, _, err := local.OpenOwn(name)
	if err != nil {
		return err
	}
	defer f.Close()
	f.Sync() // what is not yet written cannot be dropped
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}
