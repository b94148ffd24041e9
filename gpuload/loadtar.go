package gpuload

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// tarSpan is the members of a span's samples, found by reading all of their bytes
// at once.
type tarSpan struct {
	raw     []byte // bytes [at, at+len) of the tar
	at      int64
	members []tarEntry // by sample and wanted member, then the key
	dims    []int64
	texts   []byte
	ends    []int64
}

// tarEntry is where the data of a member lie in raw, behind any header.
type tarEntry struct {
	at, n int64
	code  int32
	head  int32 // bytes of a NumPy header before at
}

// stride is the entries of one sample.
func (f *tarFormat) stride() int { return f.wanted + 1 }

func (s *span) entry(i int64, member int) *tarEntry {
	return &s.tar.members[int(i)*s.sh.tar.stride()+member]
}

// readTar reads the bytes of the span's samples.
func (s *span) readTar(l *loader) error {
	lo, hi := s.h.index[s.lo], s.h.index[s.hi]
	if int64(cap(s.tar.raw)) < hi-lo {
		s.tar.raw = make([]byte, hi-lo)
	}
	s.tar.raw, s.tar.at = s.tar.raw[:hi-lo], lo
	return l.read(s.h, s.tar.raw, lo)
}

// drop forgets bytes that are not to be held.
func (s *span) drop(l *loader) {
	if !l.hold {
		s.tar.raw = nil
	}
}

func (s *span) measureTar(l *loader, t *table) error {
	defer s.drop(l)
	if err := s.readTar(l); err != nil {
		return err
	}
	return s.parse(t)
}

// parse finds and checks the members in the bytes that were read.
func (s *span) parse(t *table) error {
	f := s.sh.tar
	if n := int(s.hi-s.lo) * f.stride(); cap(s.tar.members) < n {
		s.tar.members = make([]tarEntry, n)
	} else {
		s.tar.members = s.tar.members[:n]
		clear(s.tar.members)
	}
	for i := range s.hi - s.lo {
		if err := s.walk(i); err != nil {
			return withSample(err, s.sh.lo+s.lo+i)
		}
		for m := range f.members {
			c := &f.members[m]
			if c.wanted < 0 {
				continue
			}
			if err := s.measureMember(t, i, c); err != nil {
				return withSample(withField(err, c.field.Name), s.sh.lo+s.lo+i)
			}
		}
		if k := f.key.Offsets; k >= 0 {
			t.int64s(k)[s.row+1+i] = s.entry(i, f.wanted).n
		}
	}
	return nil
}

// content is what a member holds, without a NumPy header once measured.
func (s *span) content(e *tarEntry) []byte { return s.tar.raw[e.at : e.at+e.n] }

// measureMember checks a member and writes all that is known before the data:
// length, presence, shape, extension.
func (s *span) measureMember(t *table, i int64, c *tarMember) error {
	e := s.entry(i, c.wanted)
	b, place := s.content(e), s.tar.at+e.at
	row := s.row + i
	n, valid := e.n, e.n > 0
	switch c.Kind {
	case index.MemberNPY:
		var err error
		if n, err = s.measureArray(t, row, c, e); err != nil {
			return shift(err, place)
		}
	case index.MemberClass:
		if e.n > 20 {
			return shardify.Corrupt(place, "an integer of %d bytes", e.n)
		}
	case index.MemberTexts:
		n, valid = 0, true
		if c.field.Nullable && string(b) == index.NoTexts {
			valid = false
			break
		}
		texts, _, err := index.TextsSize(b)
		if err != nil {
			return shift(err, place)
		}
		n = int64(texts)
	}
	if c.ext >= 0 {
		t.part(c.ext, row, row+1)[0] = byte(e.code)
	}
	if v := c.at.Valid; v >= 0 {
		t.part(v, row, row+1)[0] = 0
		if valid {
			t.part(v, row, row+1)[0] = 1
		}
	}
	return setLength(t, row, n, c)
}

func setLength(t *table, row, n int64, c *tarMember) error {
	if c.at.Offsets < 0 {
		return nil
	}
	o := t.int64s(c.at.Offsets)
	if c.leads {
		o[row+1] = n
	} else if o[row+1] != n {
		return shardify.Corrupt(-1, "%d elements, but another field of counter %s has %d", n, c.field.Counter, o[row+1])
	}
	return nil
}

// measureArray checks the header of a NumPy file, moves the entry behind it and
// returns the number of elements.
func (s *span) measureArray(t *table, row int64, c *tarMember, e *tarEntry) (int64, error) {
	b := s.content(e)
	if c.field.Levels == 0 {
		head := int64(len(c.fixedHeader))
		if !bytes.HasPrefix(b, c.fixedHeader) || e.n != head+c.elem {
			return 0, shardify.Corrupt(0, "NumPy file of %d bytes begins with %q, want %d and %q", e.n, b[:min(e.n, head)], head+c.elem, c.fixedHeader)
		}
		e.at, e.n, e.head = e.at+head, c.elem, int32(head)
		return 1, nil
	}
	dims, head, err := index.ParseNPY(s.tar.dims[:0], b, e.n, c.field.DType, c.rank)
	s.tar.dims = dims
	if err != nil {
		return 0, err
	}
	lead := len(dims) - len(c.field.Shape)
	for k, d := range c.field.Shape {
		if dims[lead+k] != int64(d) {
			return 0, shardify.Corrupt(0, "array of shape %v, want [..., %v]", dims, c.field.Shape)
		}
	}
	n := int64(1)
	for k, d := range dims[:lead] {
		if c.shape >= 0 {
			binary.LittleEndian.PutUint64(t.part(c.shape, row, row+1)[k*8:], uint64(d))
		}
		if d > 0 && n > (1<<62)/d {
			return 0, shardify.Corrupt(0, "array of shape %v", dims)
		}
		n *= d
	}
	e.at, e.n, e.head = e.at+int64(head), e.n-int64(head), int32(head)
	return n, nil
}

// again reads the bytes once more where they were not held.
func (s *span) again(l *loader) error {
	if l.hold {
		return nil
	}
	return s.readTar(l)
}

func (s *span) fillTar(l *loader, t *table) error {
	defer s.drop(l)
	if err := s.again(l); err != nil {
		return err
	}
	f := s.sh.tar
	for i := range s.hi - s.lo {
		for m := range f.members {
			c := &f.members[m]
			if c.wanted < 0 || c.at.Values < 0 {
				continue
			}
			if err := s.fillMember(t, s.row+i, c, s.entry(i, c.wanted)); err != nil {
				return withSample(withField(err, c.field.Name), s.sh.lo+s.lo+i)
			}
		}
		if f.key.Values >= 0 {
			e := s.entry(i, f.wanted)
			o := t.int64s(f.key.Offsets)
			copy(t.part(f.key.Values, o[s.row+i], o[s.row+i+1]), s.content(e))
		}
	}
	return nil
}

func (s *span) fillMember(t *table, row int64, c *tarMember, e *tarEntry) error {
	lo, hi := row, row+1
	if c.at.Offsets >= 0 {
		o := t.int64s(c.at.Offsets)
		lo, hi = o[row], o[row+1]
	}
	if c.Kind == index.MemberTexts {
		return s.fillTexts(t, lo, hi, c, e)
	}
	to := t.part(c.at.Values, lo, hi)
	if c.Kind == index.MemberClass {
		return fillClass(to, c.field.DType, s.content(e), s.tar.at+e.at)
	}
	if copied := copy(to, s.content(e)); copied < len(to) || int64(copied) < e.n {
		return shardify.Corrupt(s.tar.at+e.at, "the file changed while it was read")
	}
	if c.field.DType == shardify.Bool {
		return checkBools(to, s.tar.at+e.at)
	}
	return nil
}

// fillClass reads an integer, written as the sink writes it.
func fillClass(to []byte, d shardify.DType, b []byte, at int64) error {
	bits := d.Size() * 8
	var v uint64
	var text [20]byte
	var again []byte
	var err error
	if d >= shardify.U8 {
		v, err = strconv.ParseUint(string(b), 10, bits)
		again = strconv.AppendUint(text[:0], v, 10)
	} else {
		var n int64
		n, err = strconv.ParseInt(string(b), 10, bits)
		v, again = uint64(n), strconv.AppendInt(text[:0], n, 10)
	}
	if err != nil || !bytes.Equal(again, b) {
		return shardify.Corrupt(at, "%q is no %s in decimal", b, d)
	}
	var le [8]byte
	binary.LittleEndian.PutUint64(le[:], v)
	copy(to, le[:])
	return nil
}
