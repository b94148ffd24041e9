package files

import (
	"bytes"

	"github.com/shardify/shardify/readers/internal/labels"
)

// names splits file names into parts.
type names = labels.Paths

// nameMax is more than any extension takes.
const nameMax = 256

// noExt is the extension of files without one.
const noExt = "bin"

// normalise appends the extension that begins rest (with its dot) in the form
// that all spellings of a type share.
func normalise(dst, rest []byte) []byte {
	if len(rest) <= 1 {
		return append(dst, noExt...)
	}
	from := len(dst)
	for _, c := range rest[1:] {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	last := from + bytes.LastIndexByte(dst[from:], '.') + 1
	switch string(dst[last:]) {
	case "jpeg", "jpe":
		dst = append(dst[:last], "jpg"...)
	case "tiff":
		dst = append(dst[:last], "tif"...)
	}
	return dst
}
