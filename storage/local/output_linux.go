//go:build linux && !portable

package local

import (
	"io/fs"
	"os"

	"github.com/shardify/shardify/storage/local/dirfd"
)

// output writes to f and names it in errors.
func output(f *os.File) writer { return named{f.Name(), dirfd.NewOutput(f.Fd())} }

type named struct {
	name string
	*dirfd.Output
}

func (n named) Write(b []byte) (int, error) {
	k, err := n.Output.Write(b)
	return k, n.named("write", err)
}

func (n named) WriteAt(b []byte, off int64) (int, error) {
	k, err := n.Output.WriteAt(b, off)
	return k, n.named("write", err)
}

func (n named) Trim() error { return n.named("truncate", n.Output.Trim()) }

func (n named) named(op string, err error) error {
	if err != nil {
		err = &fs.PathError{Op: op, Path: n.name, Err: err}
	}
	return err
}
