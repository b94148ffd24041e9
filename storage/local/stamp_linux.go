package local

import (
	"io/fs"
	"syscall"

	"github.com/shardify/shardify/storage"
)

func stampOf(st fs.FileInfo) storage.Stamp {
	s := storage.Stamp{Size: st.Size(), ModTime: st.ModTime().UnixNano()}
	if x, ok := st.Sys().(*syscall.Stat_t); ok {
		s.Node = storage.Node{Dev: uint64(x.Dev), Ino: x.Ino, Changed: x.Ctim.Nano(), Links: uint64(x.Nlink), Owner: [2]uint32{x.Uid, x.Gid}, Mode: x.Mode}
	}
	return s
}

// Numbered reports whether a file keeps its number.
func (files) Numbered(path string) bool {
	const fuse = 0x65735546
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && uint32(st.Type) != fuse
}
