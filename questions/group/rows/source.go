package rows

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/varint"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
)

// Env is what it takes to look at the keys when the plan is made.
type Env struct {
	// Keys is the rows with the key fields alone, opened as the rows were; nil if rows can
	// only be read with all their fields.
	Keys shardify.Source
	Pool *shardify.Pool
	Jobs int
	// Listing is the table whose rows are the samples; nil without Grouping.From.
	Listing *Listing
}

// Source is samples of the rows of another source.
type Source struct {
	format.Around
	table   *format.Table
	opts    plan.Grouping
	keys    keys
	in, out []shardify.Field
	role    []role
	fill    bool // missing values in lists are 0, NaN or empty
	units   []unit
	parts   *parts // of rows that are collected first; nil if they are contiguous
	spool   spool
}

// role says how a field is stored in samples.
type role uint8

const (
	list role = iota
	ofKey
	once // the same in all rows of a sample
)

// unit is a span of the rows as the plan sees it.
type unit struct {
	span   shardify.Span // of rows
	head   int64         // rows in front of the first sample that begins here; all if none does, 0 if all are left out
	groups int64         // samples that begin here
	first  int64         // number of the first of them among those that begin in this input
	base   int64         // the same among all
	mark   uint32        // of the keys of the first and the last of them
}

// New makes samples of the rows of a source. It takes over the source, and the table whose rows
// are the samples, unless there is an error. state is what State gave when the plan was made; nil looks at the keys.
func New(ctx context.Context, rows shardify.Source, table *format.Table, o plan.Grouping, fill bool, state []byte, env Env) (*Source, error) {
	s := &Source{Around: format.Around{Rows: rows}, table: table, opts: o, keys: keys{names: o.Keys, perFile: o.PerFile, drop: o.DropNulls, hint: true}, in: rows.Schema(), fill: fill}
	if format.HasFiles(rows) {
		return nil, shardify.Misuse("--group-rows: the samples are files, not rows of a table")
	}
	if o.From != nil {
		if env.Listing == nil {
			return nil, fmt.Errorf("grouped rows: %s is not open", o.From.Table)
		}
		if err := s.newListed(env.Listing); err != nil {
			return nil, err
		}
	}
	if err := s.schema(); err != nil {
		return nil, err
	}
	table.ByKey = !o.PerFile
	for sp, err := range rows.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return nil, err
		}
		s.units = append(s.units, unit{span: sp})
	}
	if len(o.Keys) == 0 {
		if err := s.keys.listed.setRanges(s.units); err != nil {
			return nil, err
		}
	}
	if state != nil {
		return s, s.restore(state)
	}
	return s, s.scan(ctx, env)
}

// schema determines the role of each field.
func (s *Source) schema() error {
	if err := s.named(); err != nil {
		return err
	}
	for i := range s.in {
		f := s.in[i]
		r := list
		var err error
		switch {
		case slices.Contains(s.opts.Keys, f.Name):
			if r = ofKey; s.keys.listed != nil {
				f = s.keys.listed.table.Keys[slices.Index(s.opts.Keys, f.Name)].Field
				f.Name = s.in[i].Name
			}
			f, err = s.keys.field(f)
		case slices.Contains(s.opts.Once, f.Name):
			r = once
		case f.Ragged || shardify.Companion(s.in, i):
			err = shardify.Misuse("--group-rows: field %s has a shape of its own in each row, which a list has no place for; leave it out: --columns '!%s'", f.Name, f.Name)
		case f.Levels == 2:
			err = shardify.Misuse("--group-rows: field %s has lists of lists in its rows, which would become three levels; leave it out: --columns '!%s'", f.Name, f.Name)
		default:
			f.Levels++
			f.Counter, f.Nullable = s.opts.Name, false
		}
		if err != nil {
			return err
		}
		s.role, s.out = append(s.role, r), append(s.out, f)
	}
	if l := s.keys.listed; l != nil {
		for i := range l.table.Cols {
			f := l.table.Cols[i].Field
			if shardify.FieldIndex(s.out, f.Name) >= 0 {
				return shardify.Misuse("--samples-from %s: there is a field %s already; name the columns that are wanted: take=COLUMN,...", l.from.Table, f.Name)
			}
			f.Counter = ""
			s.out = append(s.out, f)
		}
	}
	return shardify.ValidateSchema(s.out)
}

// named returns an error for the first field that does not exist.
func (s *Source) named() error {
	for _, names := range [][]string{s.opts.Keys, s.opts.Once} {
		for _, n := range names {
			if shardify.FieldIndex(s.in, n) < 0 {
				return shardify.Misuse("--group-rows: there is no field %s", n)
			}
		}
	}
	return nil
}

// Schema implements shardify.Source.
func (s *Source) Schema() []shardify.Field { return s.out }

// Spans implements shardify.Source: the samples that begin in each unit, whatever the target.
func (s *Source) Spans(ctx context.Context, _ int64) iter.Seq2[shardify.Span, error] {
	return func(yield func(shardify.Span, error) bool) {
		if s.parts != nil {
			s.parts.spans(yield)
			return
		}
		for k := range s.units {
			if u := &s.units[k]; u.groups > 0 {
				sp := shardify.Span{Input: u.span.Input, Run: u.span.Run, Lo: u.first, Hi: u.first + u.groups, Bytes: 8 * u.groups}
				for p := range s.pieces(k) {
					sp.Bytes += p.Bytes
				}
				if !yield(sp, nil) {
					return
				}
			}
		}
	}
}

// pieces is the rows of the samples that begin in unit k: its own, and those in the units that
// follow. What can be read at once is one piece.
func (s *Source) pieces(k int) iter.Seq[shardify.Span] {
	_, any := s.Rows.(format.Ranger)
	return func(yield func(shardify.Span) bool) {
		u := &s.units[k]
		at := plan.Sub(u.span, u.span.Lo+u.head, u.span.Hi)
		for k++; k < len(s.units); k++ {
			u = &s.units[k]
			part := plan.Sub(u.span, u.span.Lo, u.span.Lo+u.head)
			switch {
			case part.Samples() == 0:
			case any && part.Run == 0 && at.Run == 0 && part.Input == at.Input && part.Lo == at.Hi:
				at.Hi, at.Bytes = part.Hi, at.Bytes+part.Bytes
			default:
				if !yield(at) {
					return
				}
				at = part
			}
			if u.groups > 0 {
				break
			}
		}
		yield(at)
	}
}

// number gives the samples of the units their numbers.
func (s *Source) number() (samples int64) {
	n := int64(0)
	for k := range s.units {
		u := &s.units[k]
		u.base = samples
		if k > 0 && s.units[k-1].span.Input != u.span.Input {
			n = 0
		}
		u.first = n
		n += u.groups
		samples += u.groups
	}
	return samples
}

const stateVersion = 1

// State implements format.Stater.
func (s *Source) State() ([]byte, error) {
	inner, err := s.InnerState()
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint([]byte{stateVersion}, uint64(len(inner)))
	b = append(b, inner...)
	b = binary.AppendUvarint(b, uint64(len(s.units)))
	for k := range s.units {
		u := &s.units[k]
		for _, n := range []int64{u.span.Samples(), u.head, u.groups, int64(u.mark)} {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return s.parts.append(b), nil
}

// Inner is the state of the rows in one of samples; nil without one.
func Inner(state []byte) ([]byte, error) {
	if len(state) == 0 || state[0] != stateVersion {
		return nil, shardify.Corrupt(0, "the plan has no state of grouped rows")
	}
	r := varint.Reader{B: state[1:]}
	inner := r.Bytes(r.U())
	if r.Bad {
		return nil, shardify.Corrupt(0, "the state of grouped rows is cut off")
	}
	return inner, nil
}

func (s *Source) restore(state []byte) error {
	if _, err := Inner(state); err != nil {
		return err
	}
	r := varint.Reader{B: state[1:]}
	r.Bytes(r.U())
	bad := r.U() != uint64(len(s.units))
	most := int64(0)
	if s.keys.listed != nil {
		most = int64(s.keys.listed.table.Rows)
	}
	any := false
	for k := range s.units {
		u := &s.units[k]
		n := int64(r.U())
		u.head, u.groups, u.mark = int64(r.U()), int64(r.U()), uint32(r.U())
		bad = bad || n != u.span.Samples() || u.head < 0 || u.head > n || u.groups < 0 || u.groups > max(n-u.head, most) || u.groups == 0 && u.head > 0 && u.head < n || u.groups > 0 && (u.head == n || u.head > 0 && !any)
		any = any || u.groups > 0
	}
	if bad || r.Bad {
		return fmt.Errorf("the rows are not those of the plan: %w", shardify.ErrChanged)
	}
	samples := s.number()
	if err := s.restoreParts(&r); err != nil || s.parts != nil || s.keys.listed == nil || samples == most {
		return err
	}
	return fmt.Errorf("%d samples, the table has %d: %w", samples, most, shardify.ErrChanged)
}

// Items implements format.ItemCounter: rows are the items.
func (s *Source) Items(sp shardify.Span) (counter string, n int64, ok bool) {
	if s.parts != nil || s.opts.DropNulls || s.keys.listed != nil {
		return "", 0, false
	}
	k := s.unitOf(sp)
	if k == len(s.units) || sp.Lo != s.units[k].first || sp.Samples() != s.units[k].groups {
		return "", 0, false
	}
	for p := range s.pieces(k) {
		n += p.Samples()
	}
	return s.opts.Name, n, true
}

// unitOf is the number of the unit in which the first sample of a span begins.
func (s *Source) unitOf(sp shardify.Span) int {
	return sort.Search(len(s.units), func(k int) bool {
		u := &s.units[k]
		return u.span.Input > sp.Input || u.span.Input == sp.Input && u.first+u.groups > sp.Lo
	})
}

// Close implements shardify.Source.
func (s *Source) Close() error {
	s.spool.close()
	err := s.Rows.Close()
	if l := s.keys.listed; l != nil {
		err = errors.Join(err, l.table.Close())
	}
	return err
}
