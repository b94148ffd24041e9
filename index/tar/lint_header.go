package tar

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/shardify/shardify"
)

// foreignHeader is a header of any form of tar. Its slices are copies.
type foreignHeader struct {
	name, prefix []byte
	size         int64
	typ          byte
	binary       bool // the size is in base 256
	extended     bool // GNU sparse: more of the map follows
}

// negative counts the bytes that are below 0 as signed ones.
func negative(b []byte) (n int64) {
	for _, c := range b {
		n += int64(c >> 7)
	}
	return n
}

// parseForeign reads a header of any form; a problem with a rule means that the block, at
// an offset, is not a header.
func parseForeign(b []byte) (h foreignHeader, p Problem) {
	h.typ = b[156]
	h.name = bytes.Clone(cString(b[:MaxName]))
	sum, ok := parseOctal(b[sumAt : sumAt+8])
	if !ok {
		return h, Problem{Rule: ruleBadSum, Offset: sumAt, Detail: fmt.Sprintf("the field is %q", cString(b[sumAt:sumAt+8]))}
	}
	before, after := b[:sumAt], b[sumAt+8:Block]
	unsigned := int64(8*' ' + Sum(before) + Sum(after))
	if sum != unsigned && sum != unsigned-256*(negative(before)+negative(after)) { // old tars summed signed bytes
		return h, Problem{Rule: ruleBadSum, Offset: sumAt, Detail: fmt.Sprintf("the bytes add up to %o, stored %o", unsigned, sum)}
	}
	field := b[sizeAt : sizeAt+12]
	h.binary = field[0]&0x80 != 0
	if h.binary {
		h.size, ok = parseBase256(field)
	} else {
		h.size, ok = parseOctal(field)
	}
	if !ok {
		return h, Problem{Rule: ruleBadHeader, Offset: sizeAt, Detail: fmt.Sprintf("the size is %q", field)}
	}
	switch string(b[257:265]) {
	case "ustar\x0000":
		h.prefix = bytes.Clone(cString(b[345:500]))
	case "ustar  \x00":
		h.extended = b[482] != 0
	}
	return h, p
}

func cString(b []byte) []byte {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}

// parseOctal reads a number among spaces and NULs; an empty field is 0.
func parseOctal(b []byte) (int64, bool) {
	b = bytes.Trim(b, " \x00")
	if len(b) == 0 {
		return 0, true
	}
	v, err := strconv.ParseInt(string(b), 8, 64)
	return v, err == nil && b[0] != '+' && v >= 0
}

// parseBase256 reads GNU's binary form, big-endian after the mark.
func parseBase256(b []byte) (int64, bool) {
	if b[0] != 0x80 {
		return 0, false // negative, or more than 88 bits
	}
	var v int64
	for _, c := range b[1:] {
		if v > 1<<54 {
			return 0, false
		}
		v = v<<8 | int64(c)
	}
	return v, true
}

// extensions is what extension headers say about the next member.
type extensions struct {
	at     int64 // of the first, -1 without
	path   []byte
	size   int64 // -1 without
	sparse bool
	global bool // reported once
}

func (e *extensions) reset() { *e = extensions{at: -1, size: -1, global: e.global} }

// extension reads a PAX or GNU extension header.
func (l *linter) extension(h *foreignHeader, data int64) error {
	if l.ext.at < 0 && h.typ != 'g' {
		l.ext.at = l.at
	}
	if h.size > l.w.Size()-data {
		return nil // the caller reports it
	}
	if h.size > maxMeta {
		l.stop(ruleBadHeader, l.at, h.name, "%d bytes of extension", h.size)
		return nil
	}
	b, err := l.w.Bytes(data, int(h.size))
	if err != nil {
		return err
	}
	switch h.typ {
	case 'L':
		l.ext.path = bytes.Clone(cString(b))
		l.found(ruleGNUName, l.at, l.ext.path, "")
	case 'K':
		l.found(ruleGNUName, l.at, nil, "of a link")
	case 'g':
		if !l.ext.global {
			l.ext.global = true
			l.found(rulePAX, l.at, nil, "for all members")
		}
	case 'x':
		if at, ok := l.ext.pax(b); !ok {
			l.stop(ruleBadHeader, data+int64(at), nil, "PAX record")
			return nil
		}
		l.found(rulePAX, l.at, l.ext.path, "")
	}
	return nil
}

// pax reads records "LENGTH KEY=VALUE\n"; at is where a bad one begins.
func (e *extensions) pax(b []byte) (at int, ok bool) {
	for at < len(b) {
		space := bytes.IndexByte(b[at:], ' ')
		if space < 1 || space > 9 {
			return at, false
		}
		n, err := strconv.Atoi(string(b[at : at+space]))
		if err != nil || n < space+3 || n > len(b)-at || b[at+n-1] != '\n' {
			return at, false
		}
		key, value, found := bytes.Cut(b[at+space+1:at+n-1], []byte("="))
		if !found {
			return at, false
		}
		switch k := string(key); {
		case k == "path" || k == "GNU.sparse.name":
			e.path = nil // an empty value takes the record back
			if len(value) > 0 {
				e.path = bytes.Clone(value)
			}
			e.sparse = e.sparse || k != "path"
		case k == "size":
			if e.size, err = strconv.ParseInt(string(value), 10, 64); err != nil || e.size < 0 {
				return at, false
			}
		case bytes.HasPrefix(key, []byte("GNU.sparse.")):
			e.sparse = true
		}
		at += n
	}
	return at, true
}

// sparseMap steps over further blocks of an old GNU sparse map.
func (l *linter) sparseMap(data int64) (int64, error) {
	for n := 0; ; n++ {
		if n > 1<<16 {
			l.stop(ruleBadHeader, l.at, nil, "a sparse map without end")
			return data, nil
		}
		b, err := l.w.Bytes(data, Block)
		if e, ok := err.(*shardify.Error); ok && e.Op == "" {
			l.stop(ruleTruncated, data, nil, "in a sparse map")
			return data, nil
		}
		if err != nil {
			return data, err
		}
		data += Block
		if b[504] == 0 {
			return data, nil
		}
	}
}
