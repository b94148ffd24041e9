package convert

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/store"
)

// Folder is the Store of a folder on a local or shared file system, which need not be
// there yet. Each file is durable before it has its name.
func Folder(dir string) shardify.Store { return store.NewDir(dir, store.SyncShard) }
