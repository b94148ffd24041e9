package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/transform/expr"
)

// openFields opens the inputs with the fields that were asked for and those that
// operations look at.
func (s *Settings) openFields(ctx context.Context, p *Prepared, src shardify.SourceFormat, r readers.Request) (*readers.Opened, error) {
	var err error
	if r.Columns, p.helpers, err = s.Shape.Columns(s.Columns, s.splitFields()...); err != nil {
		return nil, s.shapeError(Usage("%v", err))
	}
	if r.Columns == nil {
		r.Columns = s.Columns
	}
	o, err := readers.Open(ctx, src, r)
	if err == nil {
		p.helpers, err = s.Shape.Helpers(p.helpers, s.Columns, o.Source.Schema())
		return o, err
	}
	if len(r.Columns) == len(s.Columns) || r.FilesFrom != nil {
		return o, err
	}
	// Perhaps it is an operation that names a field which nobody has: with all fields
	// open it is known which one was meant.
	r.Columns = nil
	if all, e := readers.Open(ctx, src, r); e == nil {
		defer all.Source.Close()
		if e := s.Shape.Check(all.Source.Schema()); e != nil {
			return nil, s.shapeError(e)
		}
	}
	return nil, err
}

// leftError is the error about an operation on a field that the source has left out: why it
// did, rather than that there is none.
func (s *Settings) leftError(err error, src shardify.Source) error {
	u, unknown := errors.AsType[*expr.UnknownField](err)
	l, reports := src.(shardify.Reporter)
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
	if fixed := s.Shape.Correct(err); fixed != "" {
		return Hint(err, "did you mean: "+fixed)
	}
	return err
}

// operations is the plan's operations for people, in the order in which they run.
func (p *Prepared) operations() (out [][2]string) {
	for _, op := range p.Plan.Ops {
		for _, text := range transform.Shown(op) {
			out = append(out, [2]string{op.Name, text})
		}
	}
	h := slices.DeleteFunc(slices.Clone(p.Plan.Helpers), expr.IsGlob) // the fields that they match follow
	if len(h) > 0 {
		out = append(out, [2]string{"not kept", join(h) + ": read for the operations alone"})
	}
	return out
}

// join lists names, the first few of many.
func join(names []string) string {
	const most = 4
	out := ""
	for i, n := range names[:min(len(names), most)] {
		if i > 0 {
			out += ", "
		}
		out += n
	}
	if n := len(names) - most; n > 0 {
		out += " and " + Count(int64(n)) + " more"
	}
	return out
}

// halves names the columns of f64, and what halves them.
func (p *Prepared) halves() string {
	var wide []string
	for i := range p.Plan.Schema {
		if p.Plan.Schema[i].DType == shardify.F64 {
			wide = append(wide, p.Plan.Schema[i].Name)
		}
	}
	switch len(wide) {
	case 0:
		return ""
	case 1:
		return wide[0] + " is f64: --cast f64=f32 halves it"
	}
	return join(wide) + " are f64: --cast f64=f32 halves them"
}
