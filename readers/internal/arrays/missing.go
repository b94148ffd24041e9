package arrays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

// errNoChunks is an array of which nothing was written.
var errNoChunks = errors.New("nothing was written")

// filled takes fill_value where chunks are missing.
var filled = format.With("missing-chunks", "fill", "fill_value where chunks are missing")

// farFolders is how many folders of another machine are listed for the chunks of an array.
const farFolders = 64

// chunks counts the chunks that an array has, one listing for each folder, and reports whether
// all are there. What is missing is fill_value, unless it looks as if the store was copied in
// part.
func (t *tree) chunks(ctx context.Context, o *object, opts *settings, x *blobObject) (all bool, err error) {
	if t.Whole {
		return true, nil
	}
	c := &counter{tree: t, grid: o.Array.Grid(), prefix: o.Path, axis: 0}
	total := int64(1)
	for _, n := range c.grid {
		if total = rows.SatMul(total, n); n == 0 {
			return true, nil
		}
	}
	if len(o.order) > 0 {
		c.axis = o.order[0]
	}
	key := o.Key(make([]int64, len(c.grid)))
	parts := strings.Split(key, "/")
	folders := int64(1)
	if len(parts) > len(c.grid) || len(parts) == len(c.grid) && len(parts) > 1 { // a folder for each index
		for _, n := range c.grid[:max(len(c.grid)-1, 0)] {
			folders = rows.SatMul(folders, n)
		}
	}
	if t.Files.Far() && (folders > farFolders || !t.Listed) {
		t.uncounted = append(t.uncounted, cmp.Or(o.Path, "the array"))
		return false, nil
	}
	if err := c.folder(ctx, c.prefix, parts, nil); err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			t.uncounted = append(t.uncounted, cmp.Or(o.Path, "the array"))
			return false, nil
		}
		return false, err
	}
	missing := total - c.found
	if x.Chunks = total; missing <= 0 {
		return true, nil
	}
	inner := int64(1) // chunks of one row of them
	if len(c.grid) > 0 {
		inner = total / c.grid[c.axis]
	}
	if err := t.Files.CheckNames(); err != nil {
		return false, err
	}
	end := c.found == rows.SatMul(c.last, inner)
	switch fill := opts.chunks == "fill"; {
	case opts.chunks == "fail":
		return false, shardify.Corrupt(-1, "%d of %d chunks are missing", missing, total)
	case c.found == 0 && total > 1 && !fill:
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
			out = append(out, format.Leftover{Name: "chunks of " + cmp.Or(o.Path, "the array"), Count: o.Missing, Unreadable: true,
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

// counter counts the chunks of an array.
type counter struct {
	*tree
	grid   []int64
	prefix string
	axis   int
	found  int64
	last   int64 // one more than the largest index along the axis
}

// folder counts those of a folder, and below it, that the parts of a key lead to. at are the
// indexes so far.
func (c *counter) folder(ctx context.Context, p string, parts []string, at []int64) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if parts[0] == "c" && len(parts) > 1 {
		return c.folder(ctx, join(p, "c"), parts[1:], at)
	}
	entries, err := c.Files.List(ctx, p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		index, ok := c.parse(e.Name, len(parts) == 1, at)
		switch {
		case !ok:
		case len(parts) > 1 && (e.Type == storage.Folder || e.Type == storage.Link || e.Type == storage.Unknown):
			if err := c.folder(ctx, join(p, e.Name), parts[1:], index); err != nil {
				return err
			}
		case len(parts) == 1:
			c.found++
			if len(index) > 0 {
				c.last = max(c.last, index[c.axis]+1)
			} else {
				c.last = 1
			}
		}
	}
	return nil
}

// parse reads the indexes that a name adds to those so far; last: no others follow.
func (c *counter) parse(name string, last bool, at []int64) ([]int64, bool) {
	if len(c.grid) == 0 {
		return nil, name == "0" || name == "c"
	}
	index := at[:len(at):len(at)]
	for s := range strings.SplitSeq(strings.TrimPrefix(name, "c."), ".") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || len(index) == len(c.grid) || n < 0 || n >= c.grid[len(index)] || strconv.FormatInt(n, 10) != s {
			return nil, false
		}
		index = append(index, n)
	}
	return index, last && len(index) == len(c.grid) || !last && len(index) == len(at)+1
}
