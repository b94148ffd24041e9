package rfile

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
)

// Refs is what the object slots of one record may point back to. The zero value
// is ready; one Refs serves one record.
type Refs struct {
	classes []refClass // by ascending position
	objects []refObject
	intern  map[string]string
}

type refClass struct {
	pos  uint32
	name string
}

type refObject struct {
	pos uint32
	obj any
}

// Slot is an object slot: nothing (both empty), a new object of Class, whose body
// follows, or a reference to Object.
type Slot struct {
	Class  string
	Object any // what Register was given; nil if it is unknown
	Ref    bool
	// End is the position behind the slot, -1 if it is not known.
	End   int
	pos   uint32
	outer int
}

const (
	maxClassName = 4096
	newClassTag  = 0xFFFFFFFF
	classMask    = 0x80000000
)

// Enter reads the start of an object slot. A new object's limit holds until
// Leave.
func (r *Refs) Enter(c *Cursor) Slot {
	s := Slot{End: -1, outer: c.limit, pos: uint32(c.Pos() + 2)}
	tag := c.U32()
	tagPos := s.pos
	if tag&byteCountBit != 0 && tag != newClassTag {
		n := int(tag &^ byteCountBit)
		if n > c.limit-c.pos || n < 4 {
			c.Fail("object of %d bytes with %d left", n, c.limit-c.pos)
			return s
		}
		c.limit = c.pos + n
		s.End = c.limit + c.origin
		tagPos = uint32(c.Pos() + 2)
		tag = c.U32()
	}
	switch {
	case c.err != nil || tag == 0:
	case tag == newClassTag:
		s.Class = r.Intern(c.zstr())
		if s.Class == "" {
			c.Fail("class without a name")
		}
		r.addClass(refClass{tagPos, s.Class})
	case tag&classMask != 0:
		if s.Class = r.class(c, tag&^classMask); s.Class == "" {
			c.Fail("class reference to byte %d, where no class is", tag&^classMask)
		}
	default:
		s.Ref = true
		s.Object = r.object(tag)
	}
	return s
}

// Register makes the new object of a slot known to references. Call it before
// the body is read: objects may point to themselves.
func (r *Refs) Register(s *Slot, obj any) {
	r.objects = insertRef(r.objects, refObject{s.pos, obj}, func(o refObject) uint32 { return o.pos })
}

// Leave goes behind the slot.
func (r *Refs) Leave(c *Cursor, s *Slot) {
	c.limit = s.outer
	if s.End >= 0 && c.err == nil {
		c.pos = s.End - c.origin
	}
}

// LeaveBroken goes behind a slot whose body is damaged and returns the error; ok
// is false when the slot's end is unknown, so that nothing behind it can be read.
func (r *Refs) LeaveBroken(c *Cursor, s *Slot) (err error, ok bool) {
	if s.End < 0 {
		return c.err, c.err == nil
	}
	err = c.ClearErr()
	r.Leave(c, s)
	return err, true
}

// Skip passes an object slot. One that holds a new object without a byte count
// cannot be passed.
func (r *Refs) Skip(c *Cursor) {
	s := r.Enter(c)
	if s.Class != "" {
		r.Register(&s, nil)
		if s.End < 0 {
			c.Fail("%s without a byte count", s.Class)
		}
	}
	r.Leave(c, &s)
}

// insertRef puts an entry in its place by position, instead of one at the same position.
func insertRef[T any](list []T, e T, pos func(T) uint32) []T {
	n := len(list)
	if n == 0 || pos(list[n-1]) < pos(e) {
		return append(list, e)
	}
	// Only after damage, or when a record is read twice, do positions go back.
	i := sort.Search(n, func(i int) bool { return pos(list[i]) >= pos(e) })
	if pos(list[i]) == pos(e) {
		list[i] = e
		return list
	}
	return slices.Insert(list, i, e)
}

func (r *Refs) addClass(c refClass) {
	r.classes = insertRef(r.classes, c, func(c refClass) uint32 { return c.pos })
}

// class returns the class named at a position. One inside an object that was
// passed, or is damaged, is not known yet, but its name is there to be read.
func (r *Refs) class(c *Cursor, pos uint32) string {
	i := sort.Search(len(r.classes), func(i int) bool { return r.classes[i].pos >= pos })
	if i < len(r.classes) && r.classes[i].pos == pos {
		return r.classes[i].name
	}
	at := int64(pos) - 2 - int64(c.origin)
	if at < 0 || at+4 >= int64(c.pos) || binary.BigEndian.Uint32(c.buf[at:]) != newClassTag {
		return ""
	}
	name := c.buf[at+4 : min(at+4+maxClassName, int64(c.pos))]
	n := bytes.IndexByte(name, 0)
	if n <= 0 {
		return ""
	}
	r.addClass(refClass{pos, r.Intern(name[:n])})
	return r.Intern(name[:n])
}

func (r *Refs) object(pos uint32) any {
	i := sort.Search(len(r.objects), func(i int) bool { return r.objects[i].pos >= pos })
	if i < len(r.objects) && r.objects[i].pos == pos {
		return r.objects[i].obj
	}
	return nil
}

// Intern returns b as a string, the same one for the same bytes.
func (r *Refs) Intern(b []byte) string {
	if s, ok := r.intern[string(b)]; ok {
		return s
	}
	if r.intern == nil {
		r.intern = map[string]string{}
	}
	s := string(b)
	r.intern[s] = s
	return s
}

// Array reads the head of a TObjArray and returns its number of slots, each to be
// read by Enter; then Leave the frame.
func Array(c *Cursor) (f Frame, n int) {
	f = c.Frame()
	if f.Version > 2 {
		c.TObject()
	}
	if f.Version > 1 {
		c.CStr()
	}
	n = c.Count(4)
	c.Skip(4) // fLowerBound
	if c.err != nil {
		n = 0
	}
	return f, n
}

// List reads the head of a TList and returns its number of slots, each followed
// by ListOption.
func List(c *Cursor) (f Frame, n int) {
	f = c.Frame()
	if f.Version > 2 {
		c.TObject()
	}
	if f.Version > 1 {
		c.CStr()
	}
	n = c.Count(4)
	if c.err != nil {
		n = 0
	}
	return f, n
}

// ListOption passes the option string behind each slot of a TList.
func ListOption(c *Cursor, f Frame) {
	switch {
	case f.Version > 4:
		c.CStr()
	case f.Version > 3:
		c.Skip(int(c.U8()))
	}
}
