package shardify

import (
	"io/fs"
	"syscall"
)

func stampOf(st fs.FileInfo) stamp {
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{uint64(s.Dev), s.Ino, s.Ctim.Nano(), uint64(s.Nlink), [2]uint32{s.Uid, s.Gid}, st.Mode()}
}

// numbersLast tells whether a file keeps its number for as long as it is there. File
// systems of user programs may number a file anew each time they are asked.
func numbersLast(path string) bool {
	const fuse = 0x65735546
	var st syscall.Statfs_t
	return syscall.Statfs(path, &st) == nil && uint32(st.Type) != fuse
}
