package index

import (
	"bytes"
	"io"
	"slices"

	"github.com/shardify/shardify"
)

// TarInput is the bytes of a tar, in a file or as they come out of a decompressor.
type TarInput interface {
	// Bytes returns bytes [at, at+n) until the next call, with n at most
	// MaxTarRead. At the end of the input they are fewer, or none, and size is
	// then where that end is; else it may be -1.
	Bytes(at int64, n int) (b []byte, size int64, err error)
}

// MaxTarRead is the most that a ForeignTar asks of its input at once.
const MaxTarRead = maxTarMeta

// ForeignTar walks the members of a tar of any making: v7, USTAR, PAX, GNU. What
// it does not understand it refuses; it never guesses.
type ForeignTar struct {
	in   TarInput
	at   int64 // of the next header
	ext  tarExt
	last string // name of the member before
	link []byte
}

// NewForeignTar walks in from its beginning.
func NewForeignTar(in TarInput) *ForeignTar {
	t := &ForeignTar{in: in}
	t.ext.reset()
	return t
}

// ForeignMember is a member of a tar of any making.
type ForeignMember struct {
	Name   []byte // not reused
	Link   []byte // what a link points to
	Type   byte   // '0' for regular files in all their forms
	Offset int64  // of its first header block
	Data   int64  // where the data begin
	Size   int64  // of the data
	// Forms are the rules of LintTar that its headers break: tarPAX, tarGNUName,
	// tarPrefix, tarBigSize.
	Forms []TarRule
}

// Next returns the next member, and io.EOF behind the last one, when all that
// follows is zeros. Links and folders have no data; sparse members are refused.
func (t *ForeignTar) Next() (m ForeignMember, err error) {
	t.ext.reset()
	t.link = nil
	for {
		at := t.at
		b, err := t.block(at)
		if err != nil {
			return m, err
		}
		if bytes.Equal(b, zeros[:TarBlock]) {
			if t.ext.at >= 0 {
				return m, shardify.Corrupt(at, "the tar ends behind an extension header")
			}
			if err := t.trailing(at + TarBlock); err != nil {
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
			m.Forms = add(m.Forms, map[bool]TarRule{true: tarPAX, false: tarGNUName}[h.typ == 'x' || h.typ == 'g'])
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
func (t *ForeignTar) member(m *ForeignMember, h *foreignHeader, link []byte, at int64) error {
	m.Name, m.Link, m.Type, m.Offset, m.Data, m.Size = h.name, link, h.typ, at, at+TarBlock, h.size
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
		m.Forms = add(m.Forms, tarPrefix)
	}
	if h.binary {
		m.Forms = add(m.Forms, tarBigSize)
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
func (t *ForeignTar) step(data, size int64) error {
	const most = 1 << 62
	if size > most-data {
		return shardify.Corrupt(data, "tar member %.200q has %d bytes", t.last, size)
	}
	t.at = data + size + TarPad(size)
	return nil
}

// block is the header block at a place, which may not be there.
func (t *ForeignTar) block(at int64) ([]byte, error) {
	b, size, err := t.in.Bytes(at, TarBlock)
	if err != nil {
		return nil, err
	}
	if len(b) == TarBlock {
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
func (t *ForeignTar) after() string {
	if t.last == "" {
		return ""
	}
	return "member " + t.last
}

// trailing refuses data behind the end: a second archive that nobody would read.
func (t *ForeignTar) trailing(at int64) error {
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
func (t *ForeignTar) extension(h *foreignHeader, at int64) error {
	data := at + TarBlock
	if t.ext.at < 0 {
		t.ext.at = at
	}
	if h.size > maxTarMeta {
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
		var g tarExt
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

func add(list []TarRule, r TarRule) []TarRule {
	if slices.Contains(list, r) {
		return list
	}
	return append(list, r)
}
