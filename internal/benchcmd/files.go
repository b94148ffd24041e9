package benchcmd

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shardify/shardify/internal/trainer"
)

// output is a file that gets its name when it is complete.
type output struct {
	name string
	temp string // "" if name is written to as it is: a pipe, a terminal
	*os.File
}

func create(name string) (*output, error) {
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		if st.IsDir() {
			return nil, &fs.PathError{Op: "create", Path: name, Err: errors.New("is a folder")}
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &output{name: name, File: f}, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, err
	}
	return &output{name, f.Name(), f}, nil
}

func (o *output) commit() error {
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

func (o *output) abort() {
	if o == nil || o.File == nil {
		return
	}
	o.Close()
	if o.temp != "" {
		os.Remove(o.temp)
	}
	o.File = nil
}

// files are those that a run was asked for.
type files struct{ trace, html *output }

// create makes them before the run, so that a name that cannot be written to costs
// no time.
func (f *flags) create(o *trainer.Options) (out *files, err error) {
	out = &files{}
	if f.trace != "" {
		if out.trace, err = create(f.trace); err != nil {
			return nil, err
		}
		o.Trace = out.trace
	}
	if f.html != "" {
		if out.html, err = create(f.html); err != nil {
			out.abort()
			return nil, err
		}
	}
	return out, nil
}

func (x *files) abort() {
	x.trace.abort()
	x.html.abort()
}

func (x *files) finish(r *trainer.Report, set string) error {
	if x.html != nil {
		w := bufio.NewWriter(x.html)
		if err := errors.Join(r.Page(set).Write(w), w.Flush()); err != nil {
			return err
		}
	}
	return errors.Join(x.trace.commit(), x.html.commit())
}
