package shardify

import "slices"

// Empty is a column of a field without samples.
func (f *Field) Empty() Column {
	c := Column{Field: *f}
	for range f.Levels {
		c.Offsets = append(c.Offsets, []int64{0})
	}
	return c
}

// Append adds the n samples of another column to the have samples of c. Its memory grows as
// that of slices does.
func (c *Column) Append(src *Column, have, n int) {
	if src.Valid != nil && c.Valid == nil {
		c.Valid = slices.Repeat([]byte{1}, have)
	}
	switch {
	case src.Valid != nil:
		c.Valid = append(c.Valid, src.Valid...)
	case c.Valid != nil:
		c.Valid = append(c.Valid, slices.Repeat([]byte{1}, n)...)
	}
	for l, o := range c.Offsets {
		base := o[len(o)-1]
		for _, end := range src.Offsets[l][1:] {
			o = append(o, base+end)
		}
		c.Offsets[l] = o
	}
	c.Data = append(c.Data, src.Data...)
}
