package parquet

import (
	"github.com/shardify/shardify/readers/internal/rows/coltype"
	"github.com/shardify/shardify/readers/parquet/internal/page"
)

// fixed places values of one width in n slots.
func (a *assembler) fixed(s *segment, n int64) error {
	w := a.col.page.Form.Width
	dst, err := a.data.more(n * int64(w))
	if err != nil {
		return err
	}
	values := s.valueEnd - s.value
	vals, index := &s.page.Vals, s.page.Index
	if index != nil {
		vals, index = &s.dict.Vals, index[s.value:s.valueEnd]
	}
	switch {
	case int64(values) != n:
		return a.sparse(s, dst, vals, index)
	case index != nil:
		gather(dst, vals.Fixed, index, w)
	case values > 0:
		copy(dst, vals.Fixed[s.value*w:s.valueEnd*w])
	}
	return nil
}

// sparse places values among slots that have none.
func (a *assembler) sparse(s *segment, dst []byte, vals *page.Values, index []int32) error {
	w, slot, whole := a.col.page.Form.Width, uint8(a.col.slot()), uint8(a.col.page.MaxDef)
	value := s.value
	sample := a.firstSample(s)
	for e := s.from; e < s.to; e++ {
		d := s.page.Def[e]
		if s.page.Rep != nil && s.page.Rep[e] == 0 {
			sample++
		}
		if d < slot {
			continue
		}
		if d == whole {
			i := value
			if index != nil {
				i = int(index[value-s.value])
			}
			copy(dst[:w], vals.Fixed[i*w:])
			value++
		} else {
			clear(dst[:w])
			if slot > 0 {
				if err := a.hole(sample); err != nil {
					return err
				}
				coltype.PutNaN(dst[:w], a.col.field.DType)
			}
		}
		dst = dst[w:]
	}
	return nil
}

// firstSample is the sample before the first one that the segment begins.
func (a *assembler) firstSample(s *segment) int {
	begun := s.to - s.from
	if s.page.Rep != nil {
		begun = page.CountEqual(s.page.Rep[s.from:s.to], 0)
	}
	return a.samples - begun - 1
}

// bytes places values of any length in n slots.
func (a *assembler) bytes(s *segment, n int64) error {
	ends := a.ends.more(n)
	vals, index := &s.page.Vals, s.page.Index
	if index != nil {
		vals, index = &s.dict.Vals, index[s.value:s.valueEnd]
	}
	total := int64(0)
	for i := s.value; i < s.valueEnd; i++ {
		k := i
		if index != nil {
			k = int(index[i-s.value])
		}
		total += int64(uint32(vals.Cuts[k]))
	}
	dst, err := a.data.more(total)
	if err != nil {
		return err
	}
	at := int64(len(a.data.b)) - total
	slot, whole := uint8(a.col.slot()), uint8(a.col.page.MaxDef)
	value, def, sample := s.value, s.page.Def, a.firstSample(s)
	for e := s.from; e < s.to; e++ {
		if s.page.Rep != nil && s.page.Rep[e] == 0 {
			sample++
		}
		if def != nil {
			if d := def[e]; d < slot {
				continue
			} else if d != whole {
				if slot > 0 {
					if err := a.hole(sample); err != nil {
						return err
					}
				}
				ends[0], ends = at, ends[1:]
				continue
			}
		}
		k := value
		if index != nil {
			k = int(index[value-s.value])
		}
		value++
		v := vals.Value(k)
		dst = dst[copy(dst, v):]
		at += int64(len(v))
		ends[0], ends = at, ends[1:]
	}
	return nil
}
