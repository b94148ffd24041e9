package stats

import (
	"strings"

	"github.com/shardify/shardify"
)

// maxChannels is the most places of a first dimension that have figures of their own.
const maxChannels = 4096

// Channels are the names of the channels of a field, which are the places of its first dimension; nil
// without channels.
func Channels(f *shardify.Field) []string {
	text := f.Attrs["channels"]
	if text == "" || f.Levels > 0 || len(f.Shape) == 0 || f.Shape[0] > maxChannels {
		return nil
	}
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' })
	if len(names) != f.Shape[0] {
		return nil
	}
	return names
}

// ofChannels adds values to those of their channels.
func (c *column) ofChannels(col *shardify.Column, samples int) {
	if len(c.channels) == 0 {
		return
	}
	size := col.ElemBytes()
	each := size / len(c.channels)
	for i := range samples {
		if col.Valid != nil && col.Valid[i] == 0 {
			continue
		}
		for k, n := range c.channels {
			lo := i*size + k*each
			n.column(col.Data[lo : lo+each])
		}
	}
}
