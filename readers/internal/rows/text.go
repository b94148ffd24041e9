package rows

import (
	"encoding/binary"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// CheckText refuses texts and JSON that are not UTF-8. The column is of samples from first
// on.
func CheckText(c *shardify.Column, first int64) error {
	if !format.IsText(c.Media) || ascii(c.Data) {
		return nil
	}
	last := len(c.Offsets) - 1
	ends := c.Offsets[last]
	for i := 0; i+1 < len(ends); i++ {
		text := c.Data[ends[i]:ends[i+1]]
		at, why := printable.NotUTF8(text)
		if at < 0 {
			continue
		}
		e := format.Cure(shardify.Unsupported("text %.40q is not UTF-8; with --text bytes strings are bytes (byte %d: %s)", text, at, why), format.AsBytes)
		e.Field, e.Sample = c.Name, first+int64(i)
		if last == 1 {
			n, _ := slices.BinarySearch(c.Offsets[0], int64(i)+1)
			e.Sample = first + int64(n) - 1
		}
		return e
	}
	return nil
}

func ascii(b []byte) bool {
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Names are the names of fields and counters that are taken.
type Names map[string]bool

// Unique takes name, or name with a number behind it if it is taken, and returns it.
func (n Names) Unique(name string) string {
	own := name
	for i := 2; n[own]; i++ {
		own = name + "_" + strconv.Itoa(i)
	}
	n[own] = true
	return own
}
