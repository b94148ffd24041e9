package tfrecord

import (
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

// samples are how many a record is.
func (d *decoder) samples(b []byte) (int, error) {
	if d.steps == nil {
		return 1, nil
	}
	if err := d.x.Parse(b); err != nil {
		return 0, shardify.Amend(err, func(e *shardify.Error) { e.Offset = -1 })
	}
	return schema.CountSteps(d.steps, &d.x, &d.value)
}

// putSteps reads the values of steps of one column.
func (d *decoder) putSteps(s *sink, lo, hi int) error {
	if !d.of[flag(s.List)].Has(s.slot) {
		return changed("the value is missing")
	}
	b, v, i := d.of[flag(s.List)].Slots[s.slot].Value, &d.value, 0
	if s.List {
		return tfrecord.Steps(b, func(b []byte) error {
			if i++; i <= lo || i > hi {
				return nil
			}
			err := v.Parse(b)
			if err == nil {
				err = s.put(v)
			}
			s.rows++
			return err
		})
	}
	err := v.Parse(b)
	switch {
	case err != nil:
		return err
	case v.Kind != s.Kind:
		return changed("the values are %s, not %s", v.Kind, s.Kind)
	case v.Kind == tfrecord.Bytes:
		v.Each(func(b []byte) {
			if i++; i <= lo || i > hi || err != nil {
				return
			}
			one := tfrecord.Only(b)
			err = s.put(&one)
			s.rows++
		})
		return err
	}
	wide := s.elem * s.wide.Size()
	s.tmp = slices.Grow(s.tmp[:0], v.Count*s.wide.Size())[:v.Count*s.wide.Size()]
	s.fill(s.tmp, v)
	if hi*wide > len(s.tmp) {
		return changed("%d values", v.Count)
	}
	size := s.Field.ElemBytes()
	err = s.narrow(s.fixed[s.rows*size:][:(hi-lo)*size], s.tmp[lo*wide:hi*wide])
	s.rows += hi - lo
	return err
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
