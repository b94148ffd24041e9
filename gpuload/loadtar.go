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

// walk finds the members of sample i: all of the format's, in order, under one
// key.
func (s *span) walk(i int64) error {
	f, raw := s.sh.tar, s.tar.raw
	at, end := s.h.index[s.lo+i]-s.tar.at, s.h.index[s.lo+i+1]-s.tar.at
	var key []byte
	next, seen := 0, 0
	last := -1 // member
	for at < end {
		h, err := index.ParseTarHeader(raw[at : at+index.TarBlock])
		if err != nil {
			return shift(err, s.tar.at+at)
		}
		data := at + index.TarBlock
		if h.Size > end-data {
			return shardify.Corrupt(s.tar.at+at, "tar member %s has %d bytes, %d are left", h.Name, h.Size, end-data)
		}
		if key == nil {
			if key, err = s.key(h.Name, s.tar.at+at); err != nil {
				return err
			}
			*s.entry(i, f.wanted) = tarEntry{at: at, n: int64(len(key))}
		}
		tail, ok := bytes.CutPrefix(h.Name, key)
		for next < len(f.names) && f.names[next].tail != string(tail) {
			next++
		}
		if !ok || next == len(f.names) {
			return shardify.Corrupt(s.tar.at+at, "tar member %q does not belong to sample %s", h.Name, key)
		}
		n := &f.names[next]
		next++
		if n.member == last {
			return shardify.Corrupt(s.tar.at+at, "two members of one field in sample %s", key)
		}
		last = n.member
		seen++
		if w := f.members[n.member].wanted; w >= 0 {
			e := s.entry(i, w)
			if e.at != 0 {
				return shardify.Corrupt(s.tar.at+at, "two members of one field in sample %s", key)
			}
			*e = tarEntry{at: data, n: h.Size, code: int32(n.code)}
		}
		at = data + h.Size
		pad := index.TarPad(h.Size)
		for _, c := range raw[at : at+pad] {
			if c != 0 {
				return shardify.Corrupt(s.tar.at+at, "tar filler is not zeros")
			}
		}
		at += pad
	}
	if seen != len(f.members) {
		return shardify.Corrupt(-1, "sample %s has %d members, want %d", key, seen, len(f.members))
	}
	return nil
}

// key is the name of a sample, from that of its first member.
func (s *span) key(name []byte, at int64) ([]byte, error) {
	key, _, ok := index.SplitKey(name)
	if !ok || index.CheckKey(key) != nil {
		return nil, shardify.Corrupt(at, "tar member %q: no key of this format", name)
	}
	if !s.sh.tar.keyed {
		if _, ok := index.ParseRowKey(key); !ok {
			return nil, shardify.Corrupt(at, "%s is not the name of a row", key)
		}
	}
	return key, nil
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

// decodeTexts decodes a list of texts into scratch memory.
func (s *span) decodeTexts(c *tarMember, e *tarEntry) (texts []byte, ends []int64, err error) {
	b := s.content(e)
	if c.field.Nullable && string(b) == index.NoTexts {
		return nil, nil, nil
	}
	_, size, err := index.TextsSize(b)
	if err != nil {
		return nil, nil, shift(err, s.tar.at+e.at)
	}
	if cap(s.tar.texts) < size {
		s.tar.texts = make([]byte, 0, size)
	}
	s.tar.texts, s.tar.ends = index.DecodeTexts(s.tar.texts[:0], s.tar.ends[:0], b)
	return s.tar.texts, s.tar.ends, nil
}

// measureTexts writes the lengths of texts in lists.
func (s *span) measureTexts(l *loader, t *table) error {
	defer s.drop(l)
	if err := s.again(l); err != nil {
		return err
	}
	for m := range s.sh.tar.members {
		c := &s.sh.tar.members[m]
		if c.wanted < 0 || c.at.Offsets1 < 0 {
			continue
		}
		lists, lengths := t.int64s(c.at.Offsets), t.int64s(c.at.Offsets1)
		for i := range s.hi - s.lo {
			_, ends, err := s.decodeTexts(c, s.entry(i, c.wanted))
			if err == nil && int64(len(ends)) != lists[s.row+i+1]-lists[s.row+i] {
				err = shardify.Corrupt(-1, "the file changed while it was read")
			}
			if err != nil {
				return withSample(withField(err, c.field.Name), s.sh.lo+s.lo+i)
			}
			before := int64(0)
			for k, end := range ends {
				lengths[lists[s.row+i]+1+int64(k)] = end - before
				before = end
			}
		}
	}
	return nil
}

func (s *span) fillTexts(t *table, lo, hi int64, c *tarMember, e *tarEntry) error {
	texts, _, err := s.decodeTexts(c, e)
	if err != nil {
		return err
	}
	o := t.int64s(c.at.Offsets1)
	if int64(len(texts)) != o[hi]-o[lo] {
		return shardify.Corrupt(s.tar.at+e.at, "the file changed while it was read")
	}
	copy(t.part(c.at.Values, o[lo], o[hi]), texts)
	return nil
}

func amend(err error, f func(*shardify.Error)) error {
	e, ok := err.(*shardify.Error)
	if !ok {
		e = &shardify.Error{Sample: -1, Offset: -1, Err: err}
	}
	c := *e
	f(&c)
	return &c
}

func withSample(err error, sample int64) error {
	return amend(err, func(e *shardify.Error) { e.Sample = sample })
}

func withField(err error, field string) error {
	return amend(err, func(e *shardify.Error) { e.Field = field })
}

func shift(err error, base int64) error {
	return amend(err, func(e *shardify.Error) {
		if e.Offset >= 0 {
			e.Offset += base
		}
	})
}
