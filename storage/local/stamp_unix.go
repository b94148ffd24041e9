//go:build unix && !linux

package local

import (
	"io/fs"
	"syscall"

	"github.com/shardify/shardify/storage"
)

func stampOf(st fs.FileInfo) storage.Stamp {
	s := storage.Stamp{Size: st.Size(), ModTime: st.ModTime().UnixNano()}
	if x, ok := st.Sys().(*syscall.Stat_t); ok {
		s.Node = storage.Node{Dev: uint64(x.Dev), Ino: x.Ino}
	}
	return s
}

// Numbered reports whether a file keeps its number: that is not known here.
func (files) Numbered(string) bool { return false }
