// Package exts is the extensions of file names, in one form for all spellings of a type.
package exts

import (
	"bytes"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Max bounds the different extensions of a data set; more of them are parts
// of names.
const Max = 1 << 12

// None is the extension of files without one.
const None = "bin"

// Normalise appends the extension that begins rest (with its dot) in the form
// that all spellings of a type share.
func Normalise(dst, rest []byte) []byte {
	if len(rest) <= 1 {
		return append(dst, None...)
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

// Numbers numbers the normalised extensions in order of appearance.
type Numbers struct {
	ids    map[string]uint16
	List   []string
	buf    []byte
	last   []byte // as it was given
	lastID uint16
}

// ID is the number of an extension, with its dot.
func (e *Numbers) ID(ext []byte) (uint16, error) {
	if len(e.List) > 0 && string(ext) == string(e.last) {
		return e.lastID, nil
	}
	id, err := e.find(ext)
	e.last, e.lastID = append(e.last[:0], ext...), id
	return id, err
}

func (e *Numbers) find(ext []byte) (uint16, error) {
	e.buf = Normalise(e.buf[:0], ext)
	if id, ok := e.ids[string(e.buf)]; ok {
		return id, nil
	}
	if len(e.List) == Max {
		return 0, TooMany(e.List)
	}
	name := format.PlainName(string(e.buf))
	if err := shardify.ValidName(name); err != nil {
		return 0, err
	}
	if id, ok := e.ids[name]; ok {
		return id, nil // a sample with both has a field twice
	}
	id := uint16(len(e.List))
	if e.ids == nil {
		e.ids = map[string]uint16{}
	}
	e.ids[name] = id
	e.List = append(e.List, name)
	return id, nil
}

// TooMany is the error about more than Max of them.
func TooMany(list []string) error {
	return shardify.Unsupported("more than %d different extensions (%s, ...): if names have dots, use --stem last",
		Max, strings.Join(list[:3], ", "))
}
