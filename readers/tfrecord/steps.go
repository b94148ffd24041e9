package tfrecord

import (
	"errors"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/readers/tfrecord/schema"
)

// valuesOf are the values of a step by key; nil if records are the samples. It is empty if steps are in lists.
func valuesOf(leaves []schema.Leaf) (values map[string]int) {
	for i := range leaves {
		l := &leaves[i]
		if !l.Step {
			continue
		}
		if values == nil {
			values = map[string]int{}
		}
		if !l.List {
			values[l.Key] = 1
			if l.Kind != tfrecord.Bytes {
				values[l.Key] = max(l.Field.Elem(), 1)
			}
		}
	}
	return values
}

// episode is where a column is among the steps of a record. A record may be read in many spans: it is parsed once.
type episode struct {
	begun, missing bool
	next           int // the step that walk is before
	walk           tfrecord.Walk
}

// samples are how many the next record is. Where damaged records are left out, it has none if its steps are not even.
func (d *decoder) samples(b []byte) (n int, err error) {
	if d.steps == nil {
		return 1, nil
	}
	if n, err = schema.CountSteps(d.steps, &d.x, &d.value, b); err != nil && d.skips && errors.Is(err, shardify.ErrCorrupt) {
		return 0, nil
	}
	for _, s := range d.sinks {
		s.episode = episode{}
	}
	if err == nil {
		err = d.take()
	}
	return n, err
}

// putSteps reads the values of steps of one column.
func (d *decoder) putSteps(s *sink, lo, hi int) error {
	if !s.begun || lo < s.next {
		if err := d.beginSteps(s); err != nil {
			return err
		}
	}
	if s.missing {
		for ; lo < hi; lo++ {
			if err := s.lacks(d.capacity); err != nil {
				return err
			}
			s.rows++
		}
		return nil
	}
	if s.Kind != tfrecord.Bytes && !s.List {
		if wide, size := s.elem*s.wide.Size(), s.Field.ElemBytes(); hi*wide > len(s.tmp) {
			return changed("%d values", len(s.tmp)/s.wide.Size())
		} else if err := s.narrow(s.fixed[s.rows*size:][:(hi-lo)*size], s.tmp[lo*wide:hi*wide]); err != nil {
			return err
		}
		s.rows += hi - lo
		return nil
	}
	for ; s.next < hi && s.walk.Next(); s.next++ {
		if s.next < lo {
			continue
		}
		v := tfrecord.Only(s.walk.Val)
		if s.List {
			if err := v.Parse(s.walk.Val); err != nil {
				return err
			}
		}
		if err := s.put(&v); err != nil {
			return err
		}
		s.rows++
	}
	if s.walk.Err == nil && s.next < hi {
		return changed("%d steps", s.next)
	}
	return s.walk.Err
}

// beginSteps begins with the first step of a record.
func (d *decoder) beginSteps(s *sink) error {
	table := &d.of[flag(s.List)]
	if s.episode = (episode{begun: true, missing: !table.Has(s.slot)}); s.missing {
		return nil
	}
	b, v := table.Slots[s.slot].Value, &d.value
	if s.List {
		s.walk = tfrecord.WalkList(b)
		return nil
	}
	err := v.Parse(b)
	switch s.missing = err == nil && v.Kind == tfrecord.None; {
	case err != nil || s.missing:
		return err
	case v.Kind != s.Kind:
		return changed("the values are %s, not %s", v.Kind, s.Kind)
	case v.Kind == tfrecord.Bytes:
		s.walk = v.Walk()
		return nil
	}
	s.tmp = slices.Grow(s.tmp[:0], v.Count*s.wide.Size())[:v.Count*s.wide.Size()]
	s.fill(s.tmp, v)
	return nil
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
