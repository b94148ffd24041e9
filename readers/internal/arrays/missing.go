package arrays

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/rows"
)

// errNoChunks is an array of which nothing was written.
var errNoChunks = errors.New("nothing was written")

// filled takes fill_value where chunks are missing.
var filled = format.With("missing-chunks", "fill", "fill_value where chunks are missing")

// chunks counts the chunks that an array has, one listing for each folder, and reports whether
// all are there. What is missing is fill_value, unless it looks as if the store was copied in
// part.
func (t *tree) chunks(ctx context.Context, o *object, opts *settings, x *blobObject) (all bool, err error) {
	if t.Whole {
		return true, nil
	}
	axis := 0
	if len(o.order) > 0 {
		axis = o.order[0]
	}
	total, found, last, err := t.Count(ctx, o.Array, axis)
	if errors.Is(err, errors.ErrUnsupported) {
		t.uncounted = append(t.uncounted, cmp.Or(o.Path, "the array"))
		return false, nil
	}
	if err != nil || total == 0 {
		return err == nil, err
	}
	missing := total - found
	if x.Chunks = total; missing <= 0 {
		return true, nil
	}
	inner := int64(1) // chunks of one row of them
	if n := o.Array.Grid(); len(n) > 0 {
		inner = total / n[axis]
	}
	if err := t.Files.CheckNames(); err != nil {
		return false, err
	}
	end := found == rows.SatMul(last, inner)
	switch fill := opts.chunks == "fill"; {
	case opts.chunks == "fail":
		return false, shardify.Corrupt(-1, "%d of %d chunks are missing", missing, total)
	case found == 0 && total > 1 && !fill:
		return false, &format.Cured{Err: fmt.Errorf("%w: none of its %d chunks is there; --missing-chunks fill takes fill_value", errNoChunks, total), Ways: []format.Way{filled}}
	case end && total > 1 && !fill:
		return false, format.Cure(shardify.Corrupt(-1, "%d of %d chunks are missing, all at the end: was the store copied in part? --missing-chunks fill takes fill_value", missing, total), filled)
	}
	x.Missing, x.Fill = missing, "its fill_value"
	if o.NoFill {
		if x.Fill += ", which is null: 0"; o.Type.Kind == node.Time || o.Type.Kind == node.Duration {
			x.Fill = "its fill_value, which is null: NaT"
		}
	}
	return false, nil
}

// Leftovers implements format.Reporter: with the chunks that are missing in all stores together.
func (s *source) Leftovers() []format.Leftover {
	out := s.Set.Leftovers()
	at := map[string]int{}
	var all []blobObject
	for in := range s.Inputs() {
		b, err := readBlob(in.Blob)
		if err != nil {
			continue
		}
		for _, o := range b.Objects {
			if o.Chunks == 0 {
				continue
			}
			k, ok := at[o.Path]
			if !ok {
				at[o.Path], all = len(all), append(all, o)
				continue
			}
			all[k].Missing, all[k].Chunks, all[k].Fill = all[k].Missing+o.Missing, all[k].Chunks+o.Chunks, cmp.Or(all[k].Fill, o.Fill)
		}
	}
	for _, o := range all {
		if o.Missing > 0 {
			out = append(out, format.Leftover{Name: "chunks of " + cmp.Or(o.Path, "the array"), Count: o.Missing, Unit: "chunk", Unreadable: true,
				Reason: fmt.Sprintf("%d of %d chunks are missing and are %s", o.Missing, o.Chunks, o.Fill)})
		}
	}
	return out
}

// noteUncounted names the arrays whose missing chunks are known only when they are read.
func (t *tree) noteUncounted(opts *settings, b *blob) {
	n := len(t.uncounted)
	if n == 0 || opts.chunks == "fail" {
		return
	}
	text := t.uncounted[0]
	if n > 1 {
		text += fmt.Sprintf(" and %d other arrays", n-1)
	}
	b.Notes = append(b.Notes, "chunks of "+text+" are not counted: those that are missing are fill_value; --missing-chunks fail refuses them")
}

// missing is the error about a part that is not there, nil where it is the fill value.
func (g *grid) missing() error {
	if g.must {
		return shardify.Corrupt(-1, "it is missing")
	}
	return nil
}
