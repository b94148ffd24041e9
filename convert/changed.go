package convert

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
)

// followed remembers which input a worker reads, to look at it once more when it is
// through with it: a file that is replaced or written to while it is read gives samples
// of two versions.
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
		fs := local.Of(w.j.Plan.Table)
		if st, err := fs.Stat(ctx, path); err == nil && w.j.Plan.Table.Replaced(int(input), st.Stamp, fs) {
			return w.replaced(path) // by the plan of this process, or another worker
		}
	}
	return nil
}

// file is the path of the input that is read, if it is one that can be looked at. A data
// set has one manifest, which is replaced when it grows, and its shards never change.
func (w *worker) file() (path string, ok bool) {
	t := w.j.Plan.Table
	if _, ok := w.j.Source.(shardify.Reopener); !ok || int(w.input) >= t.Len() || strings.HasSuffix(t.Name(int(w.input)), index.ManifestName) {
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
	t := w.j.Plan.Table
	fs := local.Of(t)
	st, err := fs.Stat(ctx, path)
	if err == nil {
		err = Unchanged(st.Stamp, t.Size(int(w.input)), t.ModTime(int(w.input)), w.j.IgnoreTimes)
	}
	if err == nil && t.Replaced(int(w.input), st.Stamp, fs) {
		return w.replaced(path)
	}
	return shardify.Annotate(err, "read", path, "")
}

// Unchanged compares what a file is with what the plan knows of it; SizeUnknown and the
// time 0 are not known.
func Unchanged(now storage.Stamp, planned, plannedTime int64, ignoreTimes bool) error {
	const layout = "2006-01-02 15:04:05.000000000"
	switch {
	case planned != shardify.SizeUnknown && now.Size != planned:
		return fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, now.Size, planned)
	case plannedTime != 0 && now.ModTime != plannedTime && !ignoreTimes:
		return fmt.Errorf("%w: it was modified %s, and %s then", shardify.ErrChanged, time.Unix(0, now.ModTime).UTC().Format(layout), time.Unix(0, plannedTime).UTC().Format(layout))
	}
	return nil
}

// Touched are the inputs that have other times in two plans of equal content. It looks
// into the blocks that have.
func (p *Plan) Touched(now *Plan) (list []int64, err error) {
	if len(p.blocks) != len(now.blocks) {
		return nil, nil
	}
	var first int64
	for k := range p.blocks {
		if p.blocks[k].listed != now.blocks[k].listed {
			a, err := p.Load(k)
			if err != nil {
				return nil, err
			}
			b, err := now.Load(k)
			if err != nil {
				return nil, err
			}
			list = appendTouched(list, first, a.Table, b.Table)
		}
		first += p.blocks[k].files
	}
	return list, nil
}

func appendTouched(list []int64, first int64, before, now *shardify.Table) []int64 {
	if before.Len() != now.Len() {
		return list
	}
	for i := range before.Len() {
		if a, b := before.ModTime(i), now.ModTime(i); a != b && a != 0 && b != 0 {
			list = append(list, first+int64(i))
		}
	}
	return list
}
