package convert

import (
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// Folder is the Store of a folder on a local or shared file system, which need not be
// there yet. Each file is durable before it has its name.
func Folder(dir string) storage.Store { return local.NewDir(dir, local.SyncShard) }
