package rows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
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

// examine checks what a format says about a file, damage first: numbers that follow from
// it are not reasons.
func (c *collector) examine(facts *Facts) ([]*surveyed, error) {
	if err := facts.damage(c.skips); err != nil {
		return nil, err
	}
	return c.digestAll(facts)
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
func (c *collector) skip(input uint32, facts *Facts, err error) {
	s := skipped{input: input, err: err}
	if facts != nil {
		s.samples = facts.Samples
		for _, f := range facts.More {
			s.samples += f.Samples
		}
		s.samples = min(max(s.samples, 0), maxSamples)
	}
	c.skipped = append(c.skipped, s)
}

// verdict is the error about bad inputs. If others would be left without them, it is
// Skippable.
func (c *collector) verdict() error {
	slices.SortFunc(c.skipped, func(a, b skipped) int { return cmp.Compare(a.input, b.input) })
	n := int64(c.table.Len()) - c.foreign.count
	if err := c.bad.err(c.table); err != nil {
		if c.bad.count < n && !c.skips && c.bad.corrupt {
			return &format.Skippable{Err: err}
		}
		return err
	}
	if len(c.skipped) == 0 || int64(len(c.skipped)) < n {
		return nil
	}
	for _, s := range c.skipped {
		c.bad.add(s.input, shardify.Annotate(s.err, "open", c.table.Shown(int(s.input)), ""))
	}
	return c.bad.err(c.table)
}

// skippedInputs lists the inputs that are left out, for the manifest.
func (c *collector) skippedInputs() []format.Skip {
	var out []format.Skip
	for _, s := range c.skipped {
		x := format.Skip{Input: c.table.Unique(int(s.input)), Hi: s.samples, Reason: s.err.Error()}
		var e *shardify.Error
		if errors.As(s.err, &e) {
			if x.Object, x.Reason = e.Object, e.Err.Error(); e.Offset >= 0 {
				x.Reason += fmt.Sprintf(" (at byte %d)", e.Offset)
			}
		}
		out = append(out, x)
	}
	slices.SortFunc(c.lost, func(a, b lost) int { return cmp.Compare(a.input, b.input) })
	for _, l := range c.lost {
		for _, x := range l.records {
			x.Input = c.table.Unique(int(l.input))
			out = append(out, x)
		}
	}
	return out
}
