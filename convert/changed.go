package convert

import (
	"context"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
)

// followed remembers which input a worker reads. The worker checks the input again after reading
// it: a file that is replaced or written to meanwhile gives samples of two versions.
type followed struct {
	input uint32
	reads bool
}

// follow goes on to an input. What was read before must be what the plan knows.
func (w *worker) follow(ctx context.Context, input uint32) error {
	if w.reads && w.input == input {
		return nil
	}
	if err := w.unchanged(ctx); err != nil {
		return err
	}
	w.input, w.reads = input, true
	if path, ok := w.file(); ok {
		fs := storages.Of(w.j.Plan.In.Table)
		if _, known := storage.Opened(fs, path); known {
			return nil // the reader opens it again, and unchanged compares that
		}
		if st, err := fs.Stat(ctx, path); err == nil && w.j.Plan.In.Table.Replaced(int(input), st.Stamp, fs) {
			return w.replaced(path) // by the plan of this process, or another worker
		}
	}
	return nil
}

// file is the path of the input that is read, if it is one that can be looked at. A data
// set has one manifest, which is replaced when it grows, and its shards never change.
func (w *worker) file() (path string, ok bool) {
	t := w.j.Plan.In.Table
	if _, ok := w.j.Source.(format.Reopener); !ok || int(w.input) >= t.Len() || strings.HasSuffix(t.Name(int(w.input)), index.ManifestName) {
		return "", false
	}
	return t.Path(int(w.input)), true
}

func (w *worker) replaced(path string) error {
	if w.j.IgnoreTimes {
		return nil
	}
	err := fmt.Errorf("%w: it was replaced, or written to, and has the size and the time that it had", shardify.ErrChanged)
	return shardify.Annotate(err, "read", path, "")
}

// unchanged compares the input that was read last with the plan.
func (w *worker) unchanged(ctx context.Context) error {
	if !w.reads {
		return nil
	}
	w.reads = false
	path, ok := w.file()
	if !ok {
		return nil
	}
	t := w.j.Plan.In.Table
	fs := storages.Of(t)
	st, err := fs.Stat(ctx, path)
	if err == nil {
		err = plan.Unchanged(st.Stamp, t.Size(int(w.input)), t.ModTime(int(w.input)), w.j.IgnoreTimes)
	}
	if err == nil && t.Replaced(int(w.input), st.Stamp, fs) {
		return w.replaced(path)
	}
	return shardify.Annotate(err, "read", path, "")
}
