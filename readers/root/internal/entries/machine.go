package entries

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/rfile"
	"github.com/shardify/shardify/readers/root/internal/wire"
)

// op is what a step does. Every step is done for reps elements that are next
// to each other: the members of a collection are written column by column, and
// then each is one call.
type op uint8

const (
	opValues     op = iota + 1 // n values for each element
	opSkip                     // n bytes for each element
	opText                     // a counted string for each element
	opObject                   // for each element: a frame around the kids
	opColumn                   // one frame around the kids of all elements
	opTogether                 // the kids of each element, without a frame
	opRepeat                   // n times the kids of each element, as a list of n
	opList                     // for each element: a 4-byte count and as many kids
	opCollection               // the same in a frame that may say: member by member
	opCount                    // a 4-byte value that opCounted uses
	opCounted                  // a flag byte, then as many values as the slot says
	opTObject                  // 10 or 12 bytes, without a frame
	opBits                     // 4 or 6 bytes
	opFrame                    // a frame to be passed over, with all in it
	opLongText                 // a 4-byte count and as many bytes
	opSlot                     // a pointer to an object, to be passed over
	opSized                    // as many values as the slot says
	opClass                    // the name of the class, as a counted string with a NUL
)

// step is one part of the recipe by which entries become columns.
type step struct {
	op    op
	wire  wire.Wire
	n     int
	level int   // of the lists that the step makes
	slot  int   // of counts
	cols  []int // outputs: of values or texts one, of lists all below
	kids  []step
	// members are the kids of a collection that is written member by member.
	members []step
	splits  bool // members is what such a collection has
	// class of the object in the frame, or of a collection's items, if the file
	// describes it.
	class *rfile.StreamerInfo
}

// frame bits.
const (
	hasByteCount = 0x40000000
	memberwise   = 0x4000
)

// machine runs steps over the bytes of one entry.
type machine struct {
	buf  []byte
	pos  int
	outs []output
	want []bool // by output: it is delivered
	// counts are the values that opCount saw last, by slot.
	counts [][]int32
	bad    error
}

func (m *machine) fail(format string, args ...any) {
	if m.bad == nil {
		m.bad = shardify.Corrupt(-1, format, args...)
	}
}

// refuse is fail for what is not damage.
func (m *machine) refuse(format string, args ...any) {
	if m.bad == nil {
		m.bad = shardify.Unsupported(format, args...)
	}
}

// next returns the next n bytes.
func (m *machine) next(n int) []byte {
	if m.bad != nil || n < 0 || n > len(m.buf)-m.pos {
		m.fail("%d bytes wanted, %d are left in the entry", n, len(m.buf)-m.pos)
		return nil
	}
	b := m.buf[m.pos : m.pos+n]
	m.pos += n
	return b
}

// takeAll is take for reps items of size bytes.
func (m *machine) takeAll(reps, size int) []byte {
	if size > 0 && reps > (len(m.buf)-m.pos)/size {
		m.fail("%d values of %d bytes wanted, %d bytes are left in the entry", reps, size, len(m.buf)-m.pos)
		return nil
	}
	return m.next(reps * size)
}

func (m *machine) u32() uint32 {
	if b := m.next(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// count reads the number of items of a list, which take at least a byte each.
func (m *machine) count() int {
	n := int(int32(m.u32()))
	if n < 0 || n > len(m.buf)-m.pos {
		m.fail("list of %d items with %d bytes left in the entry", n, len(m.buf)-m.pos)
		return 0
	}
	return n
}

// text reads a counted string.
func (m *machine) text() []byte {
	b := m.next(1)
	if b == nil {
		return nil
	}
	n := int(b[0])
	if n == 255 {
		n = int(int32(m.u32()))
	}
	return m.next(n)
}

// enter reads byte count and version of a frame; end is -1 if there is no count.
func (m *machine) enter() (version uint16, end int) {
	end = -1
	if m.pos+4 <= len(m.buf) {
		if n := binary.BigEndian.Uint32(m.buf[m.pos:]); n&hasByteCount != 0 {
			m.pos += 4
			n &^= hasByteCount
			if int64(n) > int64(len(m.buf)-m.pos) || n < 2 {
				m.fail("object of %d bytes with %d left in the entry", n, len(m.buf)-m.pos)
				return 0, end
			}
			end = m.pos + int(n)
		}
	}
	if b := m.next(2); b != nil {
		version = binary.BigEndian.Uint16(b)
	}
	return version, end
}

// leave ends a frame, all of which must have been read.
func (m *machine) leave(end int) {
	switch {
	case end < 0 || m.bad != nil:
	case m.pos > end:
		m.fail("object ends %d bytes after its byte count says", m.pos-end)
	case m.pos < end:
		m.fail("object of which %d bytes are left by what its type says", end-m.pos)
	}
}

// pass goes to the end of a frame, whatever is in it.
func (m *machine) pass() {
	_, end := m.enter()
	if end < 0 {
		m.fail("object without a byte count")
	}
	if m.bad == nil {
		m.pos = end
	}
}

// run does the steps for reps elements each.
func (m *machine) run(steps []step, reps int) {
	for i := range steps {
		if m.bad != nil {
			return
		}
		m.do(&steps[i], reps)
	}
}

// each does the steps element by element.
func (m *machine) each(steps []step, reps int) {
	if len(steps) == 1 && steps[0].op <= opText {
		m.do(&steps[0], reps)
		return
	}
	for ; reps > 0 && m.bad == nil; reps-- {
		m.run(steps, 1)
	}
}

func (m *machine) do(s *step, reps int) {
	switch s.op {
	case opValues:
		m.values(s, reps*s.n)
	case opSkip:
		m.takeAll(reps, s.n)
	case opText, opLongText:
		m.texts(s, reps)
	case opColumn:
		_, end := m.enter()
		m.run(s.kids, reps)
		m.leave(end)
	case opCollection:
		m.collection(s, reps)
	case opCount:
		m.remember(s, reps)
	default:
		for i := 0; i < reps && m.bad == nil; i++ {
			m.one(s, i)
		}
	}
}

// one does a step for element i.
func (m *machine) one(s *step, i int) {
	switch s.op {
	case opObject:
		m.object(s)
	case opSlot:
		m.pointer()
	case opFrame:
		m.pass()
	case opClass:
		m.className(s.class.Name)
	case opTogether:
		m.run(s.kids, 1)
	case opRepeat:
		m.list(s, s.level, s.n)
		m.each(s.kids, s.n)
	case opList:
		n := m.count()
		m.list(s, s.level, n)
		m.each(s.kids, n)
	case opCounted, opSized:
		m.counted(s, i)
	case opTObject:
		m.next(6)
		if m.u32()&0x10 != 0 {
			m.next(2)
		}
	case opBits:
		at := m.pos
		m.values(s, 1)
		if m.bad == nil && m.buf[at+3]&0x10 != 0 {
			m.next(2)
		}
	}
}

func (m *machine) list(s *step, level, n int) {
	for _, c := range s.cols {
		if m.want[c] {
			m.outs[c].list(level, n)
		}
	}
}

// values moves n values to their column.
func (m *machine) values(s *step, n int) {
	src := m.takeAll(n, s.wire.Size)
	if src == nil || len(s.cols) == 0 || !m.want[s.cols[0]] {
		return
	}
	o := &m.outs[s.cols[0]]
	s.wire.Decode(o.room(n*s.wire.Bytes()/o.elem), src)
}

func (m *machine) texts(s *step, reps int) {
	wanted := len(s.cols) > 0 && m.want[s.cols[0]]
	for ; reps > 0 && m.bad == nil; reps-- {
		var b []byte
		if s.op == opText {
			b = m.text()
		} else {
			b = m.next(int(int32(m.u32())))
		}
		if wanted && m.bad == nil {
			m.outs[s.cols[0]].text(s.level, b)
		}
	}
}

// object reads an object in its frame.
func (m *machine) object(s *step) {
	version, end := m.enter()
	m.sameClass(int16(version&^memberwise), s.class)
	m.run(s.kids, 1)
	m.leave(end)
}

// sameClass compares the version of a frame, and the checksum that follows it if the class
// has no versions, with the description that the steps were made from. Without a
// description there is nothing to compare, but the checksum is there.
func (m *machine) sameClass(version int16, c *rfile.StreamerInfo) {
	unversioned := c != nil && c.Version == 0
	sum := uint32(0)
	if version <= 0 && !unversioned {
		sum = m.u32()
	}
	switch {
	case c == nil || m.bad != nil:
	case version > 0 && int(version) != c.Version:
		m.refuse("object of class %s in version %d, the file describes version %d", c.Name, version, c.Version)
	case version <= 0 && !unversioned && sum != c.CheckSum:
		m.refuse("object of class %s with checksum %08x, the file describes %08x", c.Name, sum, c.CheckSum)
	}
}

// className reads the name of the class whose object follows.
func (m *machine) className(want string) {
	name := m.text()
	if end := m.next(1); m.bad == nil && (end[0] != 0 || string(name) != want) {
		m.refuse("object of class %.40q in a branch of %s", name, want)
	}
}

// pointer passes an object slot.
func (m *machine) pointer() {
	switch tag := m.u32(); {
	case tag == 0xFFFFFFFF:
		m.fail("object without a byte count")
	case tag&hasByteCount != 0:
		m.next(int(tag &^ hasByteCount))
	}
}

// collection reads STL collections, one for each element, in one frame.
func (m *machine) collection(s *step, reps int) {
	version, end := m.enter()
	apart := version&memberwise != 0
	steps := s.kids
	if apart {
		if !s.splits {
			m.refuse("collection written member by member, in a way that its type does not explain")
			return
		}
		steps = s.members
		if version&^memberwise >= 8 {
			m.itemClass(s.class)
		}
	}
	for ; reps > 0 && m.bad == nil; reps-- {
		if s.n == 0 {
			m.items(s, s.level, steps, apart)
			continue
		}
		m.list(s, s.level, s.n)
		for i := 0; i < s.n && m.bad == nil; i++ {
			m.items(s, s.level+1, steps, apart)
		}
	}
	m.leave(end)
}

// itemClass reads the version of the class whose members follow.
func (m *machine) itemClass(c *rfile.StreamerInfo) {
	if b := m.next(2); b != nil {
		m.sameClass(int16(binary.BigEndian.Uint16(b)), c)
	}
}

// items reads a collection's count and items.
func (m *machine) items(s *step, level int, steps []step, apart bool) {
	n := m.count()
	m.list(s, level, n)
	switch {
	case n == 0:
	case apart:
		m.run(steps, n)
	default:
		m.each(steps, n)
	}
}

// remember keeps the values that are counts of members to come.
func (m *machine) remember(s *step, reps int) {
	at := m.pos
	m.values(s, reps)
	kept := m.counts[s.slot][:0]
	for i := 0; i < reps && m.bad == nil; i++ {
		b := m.buf[at+i*s.wire.Size:]
		switch s.wire.Size {
		case 1:
			kept = append(kept, int32(b[0]))
		case 2:
			kept = append(kept, int32(binary.BigEndian.Uint16(b)))
		case 4:
			kept = append(kept, int32(binary.BigEndian.Uint32(b)))
		default:
			kept = append(kept, int32(min(binary.BigEndian.Uint64(b), 1<<31-1)))
		}
	}
	m.counts[s.slot] = kept
}

// counted reads a member whose length is another member.
func (m *machine) counted(s *step, i int) {
	if s.op == opCounted {
		b := m.next(1)
		if b == nil {
			return
		}
		if b[0] == 0 {
			m.list(s, s.level, 0)
			return
		}
	}
	if i >= len(m.counts[s.slot]) || m.counts[s.slot][i] < 0 {
		m.fail("array without a count")
		return
	}
	n := int(m.counts[s.slot][i])
	if s.wire.Size > 0 && n > (len(m.buf)-m.pos)/(s.wire.Size*s.n) {
		m.fail("array of %d with %d bytes left in the entry", n, len(m.buf)-m.pos)
		return
	}
	m.list(s, s.level, n)
	m.values(s, n*s.n)
}
