package grid

import (
	"strings"

	"github.com/shardify/shardify/format"
)

// Kept is the coordinate as a data set keeps it; nil where it is too long or no plain values.
func (c *Coord) Kept() *format.Coord {
	k := &format.Coord{DType: format.CoordF64, Floats: c.Floats, Ints: c.Ints, Texts: c.Texts}
	switch {
	case c.Texts != nil:
		k.DType = format.CoordText
	case c.Ints != nil:
		k.DType = format.CoordI64
	case c.Single:
		k.DType = format.CoordF32
	}
	attr := func(name, value string) {
		if value == "" {
			return
		}
		if k.Attrs == nil {
			k.Attrs = map[string]string{}
		}
		k.Attrs[name] = strings.ToValidUTF8(value, "\uFFFD")
	}
	if c.Time {
		attr("time", c.Unit.Name())
		attr("calendar", c.Calendar)
	} else {
		attr("unit", c.Units)
	}
	if k.Check() != nil {
		return nil
	}
	return k
}
