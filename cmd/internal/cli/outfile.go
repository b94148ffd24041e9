package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
)

// OutFile is a file that gets its name when it is complete.
type OutFile struct {
	name string
	temp string // "" if name is written to as it is: a pipe, a terminal
	*os.File
}

// CreateFile begins a file; nothing has its name until Commit.
func CreateFile(name string) (*OutFile, error) {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return nil, &fs.PathError{Op: "create", Path: name, Err: errors.New("is a folder")}
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &OutFile{name: name, File: f}, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, err
	}
	return &OutFile{name, f.Name(), f}, nil
}

// Commit gives the file its name. That of a nil OutFile does nothing.
func (o *OutFile) Commit() error {
	if o == nil || o.File == nil {
		return nil
	}
	f := o.File
	o.File = nil
	if o.temp == "" {
		return f.Close()
	}
	// CreateTemp makes files that only their owner reads.
	err := errors.Join(f.Chmod(0o666&^umask()), f.Close())
	if err == nil {
		err = os.Rename(o.temp, o.name)
	}
	if err != nil {
		os.Remove(o.temp)
	}
	return err
}

// Abort drops the file; after Commit it does nothing.
func (o *OutFile) Abort() {
	if o == nil || o.File == nil {
		return
	}
	o.Close()
	if o.temp != "" {
		os.Remove(o.temp)
	}
	o.File = nil
}

// umask is that of this process. The system call that returns it also sets it, for all goroutines.
func umask() fs.FileMode {
	b, _ := os.ReadFile("/proc/self/status")
	_, v, _ := strings.Cut(string(b), "\nUmask:")
	v, _, _ = strings.Cut(v, "\n")
	if n, err := strconv.ParseUint(strings.TrimSpace(v), 8, 9); err == nil {
		return fs.FileMode(n)
	}
	return 0o022
}

// WriteNew writes a file that is not there yet.
func WriteNew(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s %w: it is left unchanged", name, shardify.ErrExists)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
