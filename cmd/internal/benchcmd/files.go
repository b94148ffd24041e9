package benchcmd

import (
	"bufio"
	"errors"

	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/cmd/internal/trainer"
)

// files are those that a run was asked for.
type files struct{ trace, html *cli.OutFile }

// create makes them before the run, so that a name that cannot be written to costs
// no time.
func (f *flags) create(o *trainer.Options) (out *files, err error) {
	out = &files{}
	if f.trace != "" {
		if out.trace, err = cli.CreateFile(f.trace); err != nil {
			return nil, err
		}
		o.Trace = out.trace
	}
	if f.html != "" {
		if out.html, err = cli.CreateFile(f.html); err != nil {
			out.abort()
			return nil, err
		}
	}
	return out, nil
}

func (x *files) abort() {
	x.trace.Abort()
	x.html.Abort()
}

func (x *files) finish(r *trainer.Report, set string) error {
	if x.html != nil {
		w := bufio.NewWriter(x.html)
		if err := errors.Join(r.Page(set).Write(w), w.Flush()); err != nil {
			return err
		}
	}
	return errors.Join(x.trace.Commit(), x.html.Commit())
}
