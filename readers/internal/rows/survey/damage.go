package survey

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/rows"
)

// skipped is an input that is left out because it is damaged.
type skipped struct {
	input   uint32
	samples int64 // 0 if unknown
	err     error
}

// lost is records of an input that are left out.
type lost struct {
	input   uint32
	records []format.Skip
}

// damaged is the inputs that are damaged, and left out for it where that is asked for.
type damaged struct {
	skips   bool
	skipped []skipped
	lost    []lost
}

// damage is the error about all that is damaged, including damaged parts that were to be left out.
// Where damage is skipped, damage that only costs samples is not an error here: it comes up when
// they are read.
func (f *Facts) damage(skip bool) error {
	list := slices.Clone(f.Damaged)
	for _, l := range f.Left {
		if errors.Is(l.Err, shardify.ErrCorrupt) {
			list = append(list, Damage{Object: l.Name, Err: l.Err})
		}
	}
	if skip {
		list = slices.DeleteFunc(list, func(d Damage) bool { return d.Hi > d.Lo })
	}
	if len(list) == 0 {
		return nil
	}
	d := &list[0]
	err := d.Err
	if !errors.Is(err, shardify.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", err, shardify.ErrCorrupt)
	}
	return shardify.Amend(err, func(e *shardify.Error) {
		e.Object = cmp.Or(e.Object, d.Object)
		if more := len(list) - 1; more > 0 {
			e.Err = fmt.Errorf("%w; as are %s", e.Err, others(list[1:]))
		}
	})
}

func others(list []Damage) string {
	var names []string
	for i := range list[:min(len(list), shown)] {
		names = append(names, list[i].Object)
	}
	return examples(names, len(list))
}

// skip notes an input that is left out.
func (d *damaged) skip(input uint32, facts *Facts, err error) {
	s := skipped{input: input, err: err}
	if facts != nil {
		s.samples = facts.Samples
		for _, f := range facts.More {
			s.samples += f.Samples
		}
		s.samples = min(max(s.samples, 0), rows.MaxSamples)
	}
	d.skipped = append(d.skipped, s)
}

// list is the inputs and records that are left out, for the manifest.
func (d *damaged) list(table *format.Table) []format.Skip {
	var out []format.Skip
	for _, s := range d.skipped {
		x := format.Skip{Input: table.Unique(int(s.input)), Hi: s.samples, Reason: s.err.Error()}
		var e *shardify.Error
		if errors.As(s.err, &e) {
			if x.Object, x.Reason = e.Object, e.Err.Error(); e.Offset >= 0 {
				x.Reason += fmt.Sprintf(" (at byte %d)", e.Offset)
			}
		}
		out = append(out, x)
	}
	slices.SortFunc(d.lost, func(a, b lost) int { return cmp.Compare(a.input, b.input) })
	for _, l := range d.lost {
		for _, x := range l.records {
			x.Input = table.Unique(int(l.input))
			out = append(out, x)
		}
	}
	return out
}
