package column

import (
	"context"
	"errors"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/lists"
)

// ListsBy are lists that a rule of --lists says, of data sets with some rows; -1 are not known, and no
// list is read.
func (f *File) ListsBy(ctx context.Context, rule *lists.Rule, stored int64) (*Lists, error) {
	l := &Lists{Path: rule.Text(), Counter: rule.Name(), Stored: stored, start: -1, file: f}
	var chunk int64
	for _, p := range rule.By() {
		a, _, err := f.numbersAt(p)
		switch {
		case err != nil:
			return nil, err
		case l.From == nil:
			l.From = a
		case a.Rows != l.From.Rows:
			return nil, shardify.Annotate(shardify.Corrupt(-1, "%d rows, but %s has %d: both say where lists are (%s)", a.Rows, l.From.Path, l.From.Rows, l.Path), "", "", a.Path)
		}
		chunk = max(chunk, a.Unit())
	}
	var err error
	if l.By, err = lists.New(*rule, l.From.Rows, stored, chunk); err != nil {
		return nil, err
	}
	if l.Rows = l.By.Rows; stored >= 0 {
		err = l.By.Check(ctx, f.numbers(&Work{}))
	}
	return l, err
}

// numbers reads arrays that a rule names.
func (f *File) numbers(w *Work) lists.Read {
	return func(ctx context.Context, p string, dst []int64, row int64) error {
		a, k, err := f.numbersAt(p)
		if err != nil {
			return err
		}
		if row < 0 || row > a.Rows-int64(len(dst)) {
			return shardify.Annotate(shardify.Corrupt(-1, "%d rows", a.Rows), "", "", a.Path)
		}
		return shardify.Annotate(a.integersOf(ctx, w, k, dst, row), "", "", a.Path)
	}
}

// numbersAt finds a data set of whole numbers, or the column of a table of such a path.
func (f *File) numbersAt(p string) (*Dataset, int, error) {
	p = "/" + strings.TrimPrefix(p, "/")
	for at := len(p); at > 1; at-- {
		if at < len(p) && p[at] != '/' {
			continue
		}
		a, err := f.Dataset(p[:at])
		if errors.Is(err, shardify.ErrCorrupt) {
			return nil, 0, err
		} else if err != nil {
			continue
		}
		k := a.integerNamed(strings.TrimPrefix(p[at:], "/"))
		if k < 0 || len(a.Dims) != 1 {
			return nil, 0, shardify.Annotate(shardify.Mismatch("--lists says that it has a whole number for each list, and it has not"), "", "", p)
		}
		return a, k, a.Usable()
	}
	return nil, 0, shardify.Annotate(shardify.Mismatch("--lists names it: there is no such data set"), "", "", p)
}
