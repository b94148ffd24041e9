//go:build !unix

package local

import (
	"io/fs"

	"github.com/shardify/shardify/storage"
)

func stampOf(st fs.FileInfo) storage.Stamp {
	return storage.Stamp{Size: st.Size(), ModTime: st.ModTime().UnixNano()}
}

// Numbered reports whether a file keeps its number.
func (files) Numbered(string) bool { return false }
