package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
)

// farFolders is how many folders of another machine are listed for the chunks of an array.
const farFolders = 64

// Count counts the chunks that an array should have and those that are there, one listing for each
// folder; last is one more than the largest index along an axis. errors.ErrUnsupported: they cannot
// be counted, or that would take too many requests.
func (t *Tree) Count(ctx context.Context, a *Array, axis int) (total, found, last int64, err error) {
	c := &counter{Files: t.Files, grid: a.Grid(), axis: axis}
	total = 1
	for _, n := range c.grid {
		if total = rows.SatMul(total, n); n == 0 {
			return 0, 0, 0, nil
		}
	}
	parts := strings.Split(a.Key(make([]int64, len(c.grid))), "/")
	folders := int64(1)
	if len(parts) > len(c.grid) || len(parts) == len(c.grid) && len(parts) > 1 { // a folder for each index
		for _, n := range c.grid[:max(len(c.grid)-1, 0)] {
			folders = rows.SatMul(folders, n)
		}
	}
	if t.Files.Far() && (folders > farFolders || !t.Listed) {
		return total, 0, 0, fmt.Errorf("%w: chunks in %d folders of another machine", errors.ErrUnsupported, folders)
	}
	err = c.folder(ctx, a.Path, parts, nil)
	return total, c.found, c.last, err
}

// counter counts the chunks of an array.
type counter struct {
	Files
	grid        []int64
	axis        int
	found, last int64
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
	entries, err := c.List(ctx, p)
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
