//go:build linux && !portable

package store

import (
	"io"
	"io/fs"
	"os"

	"github.com/shardify/shardify/internal/walk/dirfd"
)

// output writes to f and names it in errors.
func output(f *os.File) io.Writer { return named{f.Name(), dirfd.NewOutput(f.Fd())} }

type named struct {
	name string
	*dirfd.Output
}

func (n named) Write(b []byte) (int, error) {
	k, err := n.Output.Write(b)
	if err != nil {
		err = &fs.PathError{Op: "write", Path: n.name, Err: err}
	}
	return k, err
}
