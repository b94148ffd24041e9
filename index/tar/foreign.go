package tar

import (
	"bytes"
	"io"
	"slices"

	"github.com/shardify/shardify"
)

// Input is the bytes of a tar, in a file or as they come out of a decompressor.
type Input interface {
	// Bytes returns bytes [at, at+n) until the next call, with n at most
	// MaxRead. At the end of the input they are fewer, or none, and size is
	// then where that end is; else it may be -1.
	Bytes(at int64, n int) (b []byte, size int64, err error)
}

// MaxRead is the most that a Foreign asks of its input at once.
const MaxRead = maxMeta

// Foreign walks the members of a tar from any tool: v7, USTAR, PAX, GNU. It refuses what it
// does not understand, and never guesses.
type Foreign struct {
	in   Input
	at   int64 // of the next header
	ext  extensions
	last string // name of the member before
	link []byte
}

// NewForeign walks in from its beginning.
func NewForeign(in Input) *Foreign {
	t := &Foreign{in: in}
	t.ext.reset()
	return t
}

// From goes to a header that is known to be at a place.
func (t *Foreign) From(at int64) { t.at = at }

// At is where the next header is, or the end.
func (t *Foreign) At() int64 { return t.at }

// ForeignMember is a member of a tar from any tool.
type ForeignMember struct {
	Name   []byte // not reused
	Link   []byte // what a link points to
	Type   byte   // '0' for regular files in all their forms
	Offset int64  // of its first header block
	Data   int64  // where the data begin
	Size   int64  // of the data
	// Forms are the rules of Lint that its headers break: rulePAX, ruleGNUName,
	// rulePrefix, ruleBigSize.
	Forms []Rule
}

// Next returns the next member, and io.EOF behind the last one, when all that
// follows is zeros. Links and folders have no data; sparse members are refused.
func (t *Foreign) Next() (m ForeignMember, err error) {
	t.ext.reset()
	t.link = nil
	for {
		at := t.at
		b, err := t.block(at)
		if err != nil {
			return m, err
		}
		if bytes.Equal(b, zeros[:Block]) {
			if t.ext.at >= 0 {
				return m, shardify.Corrupt(at, "the tar ends behind an extension header")
			}
			if err := t.trailing(at + Block); err != nil {
				return m, err
			}
			return m, io.EOF
		}
		h, problem := parseForeign(b)
		if problem.Rule != "" {
			e := shardify.Corrupt(at+problem.Offset, "tar header: %s: %s", problem.Rule, problem.Detail)
			e.Object = t.after()
			return m, e
		}
		link := bytes.Clone(cString(b[157:257]))
		switch h.typ {
		case 'x', 'g', 'L', 'K':
			m.Forms = add(m.Forms, map[bool]Rule{true: rulePAX, false: ruleGNUName}[h.typ == 'x' || h.typ == 'g'])
			if err := t.extension(&h, at); err != nil {
				return m, err
			}
			continue
		}
		err = t.member(&m, &h, link, at)
		return m, err
	}
}

// member fills m from the header that its data follow.
func (t *Foreign) member(m *ForeignMember, h *foreignHeader, link []byte, at int64) error {
	m.Name, m.Link, m.Type, m.Offset, m.Data, m.Size = h.name, link, h.typ, at, at+Block, h.size
	if t.ext.at >= 0 {
		m.Offset = t.ext.at
	}
	if t.link != nil {
		m.Link = t.link
	}
	switch {
	case t.ext.path != nil:
		m.Name = t.ext.path
	case len(h.prefix) > 0:
		m.Name = append(append(append([]byte(nil), h.prefix...), '/'), h.name...)
		m.Forms = add(m.Forms, rulePrefix)
	}
	if h.binary {
		m.Forms = add(m.Forms, ruleBigSize)
	}
	if t.ext.size >= 0 {
		m.Size = t.ext.size
	}
	if h.typ == 'S' || t.ext.sparse {
		e := shardify.Unsupported("a sparse member: pack it again without --sparse")
		e.Object, e.Offset = string(m.Name), m.Offset
		return e
	}
	switch m.Type {
	case 0, '7':
		m.Type = '0'
	case '1', '2', '3', '4', '5', '6':
		m.Size = 0
	}
	if m.Type == '0' && len(m.Name) > 0 && m.Name[len(m.Name)-1] == '/' { // v7 has no type for folders
		m.Type = '5'
	}
	t.last = string(m.Name)
	return t.step(m.Data, m.Size)
}

// step moves behind data, which the next read finds to be there or not.
func (t *Foreign) step(data, size int64) error {
	const most = 1 << 62
	if size > most-data {
		return shardify.Corrupt(data, "tar member %.200q has %d bytes", t.last, size)
	}
	t.at = data + size + Pad(size)
	return nil
}

// block is the header block at a place, which may not be there.
func (t *Foreign) block(at int64) ([]byte, error) {
	b, size, err := t.in.Bytes(at, Block)
	if err != nil {
		return nil, err
	}
	if len(b) == Block {
		return b, nil
	}
	text := "the tar has no end blocks"
	if size != at {
		text = "the tar ends inside a member"
	}
	e := shardify.Corrupt(size, "%s: is the file cut short?", text)
	e.Object = t.after()
	return nil, e
}

// after says where in the tar something is wrong.
func (t *Foreign) after() string {
	if t.last == "" {
		return ""
	}
	return "member " + t.last
}

// trailing refuses data behind the end: a second archive that no reader would see.
func (t *Foreign) trailing(at int64) error {
	for {
		b, _, err := t.in.Bytes(at, 16<<10)
		if err != nil || len(b) == 0 {
			return err
		}
		for i, c := range b {
			if c != 0 {
				return shardify.Corrupt(at+int64(i), "data behind the end of the tar: are these several archives in one file?")
			}
		}
		at += int64(len(b))
	}
}

// extension reads a PAX or GNU extension header.
func (t *Foreign) extension(h *foreignHeader, at int64) error {
	data := at + Block
	if t.ext.at < 0 {
		t.ext.at = at
	}
	if h.size > maxMeta {
		return shardify.Corrupt(at, "tar extension header of %d bytes", h.size)
	}
	b, size, err := t.in.Bytes(data, int(h.size))
	if err != nil {
		return err
	}
	if int64(len(b)) < h.size {
		return shardify.Corrupt(size, "the tar ends inside an extension header")
	}
	switch h.typ {
	case 'L':
		t.ext.path = bytes.Clone(cString(b))
	case 'K':
		t.link = bytes.Clone(cString(b))
	case 'x':
		if bad, ok := t.ext.pax(b); !ok {
			return shardify.Corrupt(data+int64(bad), "PAX record")
		}
	case 'g':
		var g extensions
		g.reset()
		if bad, ok := g.pax(b); !ok {
			return shardify.Corrupt(data+int64(bad), "PAX record")
		}
		if g.path != nil || g.size >= 0 || g.sparse {
			e := shardify.Unsupported("a PAX header that names or measures all members")
			e.Offset = at
			return e
		}
	}
	return t.step(data, h.size)
}

func add(list []Rule, r Rule) []Rule {
	if slices.Contains(list, r) {
		return list
	}
	return append(list, r)
}
