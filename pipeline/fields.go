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
// operations look at.
func (s *Settings) openFields(ctx context.Context, p *Prepared, src format.Input, r readers.Request) (*readers.Opened, error) {
	var err error
	if r.Columns, p.helpers, err = s.shape.Columns(s.Columns, append(s.splitFields(), s.keyFields()...)...); err != nil {
		return nil, s.shapeError(shardify.Usage("%v", err))
	}
	if r.Columns == nil {
		r.Columns = s.Columns
	}
	o, err := readers.Open(ctx, src, r)
	if err == nil {
		if p.helpers, err = s.shape.Helpers(p.helpers, s.Columns, o.Source.Schema()); err == nil {
			err = s.group(ctx, p, src, o)
		}
		if err != nil {
			o.Source.Close()
		}
		return o, err
	}
	if len(r.Columns) == len(s.Columns) || r.FilesFrom != nil {
		return o, err
	}
	// Perhaps an operation names a field that does not exist: with all fields open it is known
	// which one was meant.
	r.Columns = nil
	if all, e := readers.Open(ctx, src, r); e == nil {
		defer all.Source.Close()
		if e := s.shape.Check(all.Source.Schema()); e != nil {
			return nil, s.shapeError(e)
		}
	}
	return nil, err
}

// leftError is the error about an operation on a field that the source has left out: it gives the
// reason, rather than saying that there is no such field.
func (s *Settings) leftError(err error, src shardify.Source) error {
	u, unknown := errors.AsType[*format.UnknownField](err)
	l, reports := src.(format.Reporter)
	if !unknown || !reports {
		return s.shapeError(err)
	}
	for _, x := range l.Leftovers() {
		if x.Name == u.Name && x.Count == 0 {
			why := fmt.Sprintf("field %s is left out: %s", x.Name, x.Reason)
			return shardify.Misuse("%s", strings.Replace(err.Error(), u.Error(), why, 1))
		}
	}
	return s.shapeError(err)
}

// shapeError adds the corrected flag.
func (s *Settings) shapeError(err error) error {
	if fixed := s.shape.Correct(err); fixed != "" {
		return shardify.Hint(err, "try "+fixed)
	}
	return err
}
