package stage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// MarkName is the file that a staged copy has and no other data set.
const MarkName = storage.Private + "/staged.json"

const markVersion = 1

// mark names the data set that a folder is a copy of.
type mark struct {
	Version int    `json:"shardify_stage"`
	Source  string `json:"source"`
	Digest  string `json:"xxh3"` // of the manifest
	Samples int64  `json:"samples"`
	Bytes   int64  `json:"bytes"`
}

const maxMark = 1 << 20

// readMark reads the mark of a folder; ErrNotOurs without one.
func readMark(dir string) (*mark, error) {
	name := filepath.Join(dir, filepath.FromSlash(MarkName))
	st, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (!st.Mode().IsRegular() || st.Size() > maxMark) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotOurs)
	}
	if err != nil {
		return nil, err
	}
	b, err := local.ReadOwn(name, maxMark)
	if err != nil {
		return nil, err
	}
	m := &mark{}
	if err := json.Unmarshal(b, m); err != nil {
		return nil, shardify.Annotate(shardify.Corrupt(-1, "%v", err), "read", name, "")
	}
	if m.Version != markVersion {
		return nil, shardify.Annotate(shardify.Unsupported("version %d of a staged copy", m.Version), "read", name, "")
	}
	return m, nil
}

// empty reports whether a folder holds nothing, or does not exist.
func empty(dir string) (bool, error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return len(list) == 0, err
}
