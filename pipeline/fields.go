package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers"
)

// openFields opens the inputs with the fields that were asked for and those that
// operations and questions look at.
func (r *run) openFields(ctx context.Context, fields []string) (err error) {
	q, d := &r.Request, &r.Draft
	if q.Columns, d.Steps.Helpers, err = r.Shape.Columns(r.Columns, fields...); err != nil {
		return r.shapeError(shardify.Usage("%v", err))
	}
	if q.Columns == nil {
		q.Columns = r.Columns
	}
	if r.Opened, err = readers.Open(ctx, r.Input, *q); err == nil {
		if d.Steps.Helpers, err = r.Shape.Helpers(d.Steps.Helpers, r.Columns, r.Opened.Source.Schema()); err != nil {
			r.Opened.Source.Close()
		}
		return err
	}
	if len(q.Columns) == len(r.Columns) || q.FilesFrom != nil {
		return err
	}
	// Perhaps an operation names a field that does not exist: with all fields open it is known
	// which one was meant.
	whole := *q
	whole.Columns = nil
	if all, e := readers.Open(ctx, r.Input, whole); e == nil {
		defer all.Source.Close()
		if e := r.Shape.Check(all.Source.Schema()); e != nil {
			return r.shapeError(e)
		}
	}
	return err
}

// leftError is the error about an operation on a field that the source has left out: it gives the
// reason, rather than saying that there is no such field.
func (r *run) leftError(err error) error {
	u, unknown := errors.AsType[*format.UnknownField](err)
	l, reports := r.Opened.Source.(format.Reporter)
	if !unknown || !reports {
		return r.shapeError(err)
	}
	for _, x := range l.Leftovers() {
		if x.Name == u.Name && x.Count == 0 {
			why := fmt.Sprintf("field %s is left out: %s", x.Name, x.Reason)
			return shardify.Misuse("%s", strings.Replace(err.Error(), u.Error(), why, 1))
		}
	}
	return r.shapeError(err)
}

// shapeError adds the corrected flag.
func (r *run) shapeError(err error) error {
	if fixed := r.Shape.Correct(err); fixed != "" {
		return shardify.Hint(err, "try "+fixed)
	}
	return err
}
