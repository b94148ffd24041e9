package h5

import (
	"github.com/shardify/shardify"
)

// Message types of object headers.
const (
	msgSpace        = 0x01
	msgLinkInfo     = 0x02
	msgType         = 0x03
	msgFillOld      = 0x04
	msgFill         = 0x05
	msgLink         = 0x06
	msgExternal     = 0x07
	msgLayout       = 0x08
	msgBogus        = 0x09 // test files hold it as an unknown one
	msgGroupInfo    = 0x0a
	msgFilters      = 0x0b
	msgAttribute    = 0x0c
	msgComment      = 0x0d
	msgSharedTable  = 0x0f
	msgContinuation = 0x10
	msgSymbolTable  = 0x11
	msgKValues      = 0x13
	msgDriver       = 0x14
	msgAttrInfo     = 0x15
	msgRefCount     = 0x16
	msgLast         = 0x16
	msgSpaceInfo    = 0x17
	msgCacheImage   = 0x18
)

// Message flags.
const (
	flagShared        = 1 << 1
	flagRefuseUnknown = 1 << 7
)

// Bounds of one header. Real ones have at most a few thousand messages in a few
// MiB: attributes move to a heap long before.
const (
	maxHeaderBytes = 64 << 20
	maxMessages    = 1 << 20
)

type message struct {
	typ   uint16
	flags uint8
	at    int64 // file offset of data
	data  []byte
}

// headerChunk is a piece of a header that holds messages.
type headerChunk struct{ addr, size int64 }

type headerReader struct {
	f     *File
	v2    bool
	order bool // v2: messages carry a creation order
	msgs  []message
	queue []headerChunk
	seen  map[int64]bool
	total int64
}

// readHeader reads all messages of an object header, continuations included.
//
// Version 1: u8 1, reserved, u16 messages, u32 references, u32 size of the
// messages that follow after 4 bytes of filler; each u16 type, u16 size, u8
// flags, 3 reserved, data. The count is not to be trusted, the size is.
//
// Version 2: "OHDR", u8 2, u8 flags, [4 u32 times], [2 u16 phase changes], size
// of the messages in 1 to 8 bytes, messages, gap, u32 lookup3; each u8 type, u16
// size, u8 flags, [u16 creation order], data.
func (f *File) readHeader(addr int64) ([]message, error) {
	b, err := f.ViewUpTo(addr, 48, "object header")
	if err != nil {
		return nil, err
	}
	r := &headerReader{f: f, msgs: make([]message, 0, 8)}
	if len(b) > 0 && b[0] == 1 {
		err = r.first1(addr, b)
	} else {
		err = r.first2(addr, b)
	}
	if err != nil {
		return nil, err
	}
	for len(r.queue) > 0 {
		c := r.queue[0]
		r.queue = r.queue[1:]
		if err := r.continuation(c); err != nil {
			return nil, err
		}
	}
	return r.msgs, nil
}

func (r *headerReader) first1(addr int64, b []byte) error {
	d := r.f.Decode(b, addr, "object header")
	d.Skip(8)
	n := int64(d.U32())
	d.Skip(4)
	if err := d.Err(); err != nil {
		return err
	}
	if err := r.take(n); err != nil {
		return err
	}
	b, err := r.f.View(addr+16, n, "object header")
	if err != nil {
		return err
	}
	return r.messages(b, addr+16)
}

func (r *headerReader) first2(addr int64, b []byte) error {
	r.v2 = true
	d := r.f.Decode(b, addr, "object header")
	if err := d.Magic("OHDR"); err != nil {
		return err
	}
	if err := d.Version(2); err != nil {
		return err
	}
	flags := d.U8()
	r.order = flags&(1<<2) != 0
	if flags&(1<<5) != 0 {
		d.Skip(16)
	}
	if flags&(1<<4) != 0 {
		d.Skip(4)
	}
	n := d.Uint(1 << (flags & 3))
	if err := d.Err(); err != nil {
		return err
	}
	if n > maxHeaderBytes {
		return d.Corrupt("%d bytes of messages", n)
	}
	if err := r.take(int64(n)); err != nil {
		return err
	}
	start := d.Pos
	b, err := r.f.View(addr, int64(start)+int64(n)+4, "object header")
	if err != nil {
		return err
	}
	return r.checked(b, start, addr)
}

// checked verifies the lookup3 at the end of b and reads the messages between.
func (r *headerReader) checked(b []byte, start int, addr int64) error {
	d := r.f.Decode(b, addr, "object header")
	d.Skip(len(b) - 4)
	if err := d.Checksum(); err != nil {
		return err
	}
	return r.messages(b[start:len(b)-4], addr+int64(start))
}

// take counts header bytes; overlapping continuations could add up to any size.
func (r *headerReader) take(n int64) error {
	if r.total += n; r.total > maxHeaderBytes {
		return shardify.Corrupt(-1, "object header of more than %d bytes", maxHeaderBytes)
	}
	return nil
}

func (r *headerReader) continuation(c headerChunk) error {
	if err := r.take(c.size); err != nil {
		return err
	}
	b, err := r.f.View(c.addr, c.size, "object header continuation")
	if err != nil {
		return err
	}
	if !r.v2 {
		return r.messages(b, c.addr)
	}
	d := r.f.Decode(b, c.addr, "object header continuation")
	if err := d.Magic("OCHK"); err != nil {
		return err
	}
	if d.Rest() < 4 {
		return d.Corrupt("%d bytes are too few", len(b))
	}
	return r.checked(b, 4, c.addr)
}

// messages reads the messages of one chunk. What is shorter than a message header
// at its end is a gap, which version 1 does not have.
func (r *headerReader) messages(b []byte, at int64) error {
	head := 8
	if r.v2 {
		head = 4
		if r.order {
			head = 6
		}
	}
	d := r.f.Decode(b, at, "object header")
	for d.Rest() >= head {
		var m message
		var n int
		if r.v2 {
			m.typ, n, m.flags = uint16(d.U8()), int(d.U16()), d.U8()
			d.Skip(head - 4)
		} else {
			m.typ, n, m.flags = d.U16(), int(d.U16()), d.U8()
			d.Skip(3)
		}
		if n > d.Rest() {
			return d.Corrupt("message of type %#x and %d bytes ends outside of its header", m.typ, n)
		}
		if !r.v2 && n%8 != 0 {
			return d.Corrupt("message of type %#x and %d bytes, no multiple of 8", m.typ, n)
		}
		m.at = at + int64(d.Pos)
		m.data = d.Bytes(n)
		if err := r.add(m); err != nil {
			return err
		}
	}
	if !r.v2 && d.Rest() > 0 {
		return d.Corrupt("%d bytes behind the last message", d.Rest())
	}
	return nil
}

func (r *headerReader) add(m message) error {
	switch {
	case m.typ == 0:
		return nil
	case m.typ == msgContinuation:
		d := r.f.Decode(m.data, m.at, "continuation message")
		c := headerChunk{d.Addr(), d.Size()}
		if err := d.Err(); err != nil {
			return err
		}
		if r.seen[c.addr] {
			return d.Corrupt("continuation at %d is used twice", c.addr)
		}
		if r.seen == nil {
			r.seen = map[int64]bool{}
		}
		r.seen[c.addr] = true
		r.queue = append(r.queue, c)
		return nil
	case (m.typ > msgCacheImage || m.typ == msgBogus) && m.flags&flagRefuseUnknown != 0:
		return shardify.Unsupported("unknown message of type %#x, which a reader must know", m.typ)
	}
	if m.typ == msgRefCount && !r.v2 {
		return shardify.Corrupt(m.at, "object header of version 1 with a reference count message")
	}
	if len(r.msgs) == maxMessages {
		return shardify.Corrupt(m.at, "object header of more than %d messages", maxMessages)
	}
	r.msgs = append(r.msgs, m)
	return nil
}

// Object reads the header at an address found in a Link, a Found or a reference.
func (f *File) Object(addr int64, path string) (*Object, error) {
	msgs, err := f.readHeader(addr)
	if err != nil {
		return nil, f.Fail(err, path)
	}
	o := &Object{f: f, Addr: addr, Path: path, msgs: msgs}
	var has [msgLast + 1]bool
	for i := range msgs {
		if t := msgs[i].typ; t <= msgLast {
			has[t] = true
		}
	}
	data := has[msgLayout] || has[msgSpace] && has[msgType]
	group := has[msgSymbolTable] || has[msgLinkInfo] || has[msgLink] || has[msgGroupInfo]
	switch {
	case data && group:
		return nil, f.Fail(shardify.Corrupt(addr, "object header: messages of a group and of a data set"), path)
	case group:
		o.Kind = KindGroup
	case data:
		o.Kind = KindDataset
	case has[msgType]:
		o.Kind = kindType
	}
	return o, nil
}
