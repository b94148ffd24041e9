package load

import (
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index/tar"
)

// tarSpan is the members of a span's samples, found by reading all of their bytes
// at once.
type tarSpan struct {
	walk    *dataset.Walk
	format  *tarFormat // of the walk
	raw     []byte     // the span's bytes of the tar
	members []tarEntry // by sample and wanted member
	data    []byte     // of a list of texts
	ends    []int64
	keys    []byte // names of samples
}

// tarEntry is where a member is, without its name, and the code of its extension.
type tarEntry struct {
	tar.Entry
	code  int
	there bool
}

// stride is the entries of one sample: of its wanted members, and of its name.
func (f *tarFormat) stride() int { return f.wanted + 1 }

func (s *span) entry(i int64, member int) *tarEntry {
	return &s.tar.members[int(i)*s.Sh.Tar.stride()+member]
}

// readTar reads the bytes of the span's samples.
func (s *span) readTar() error {
	lo, hi := s.h.Index[s.Lo], s.h.Index[s.Hi]
	if int64(cap(s.tar.raw)) < hi-lo {
		s.tar.raw = make([]byte, hi-lo)
	}
	s.take(s.tar.raw[:hi-lo])
	return dataset.ReadFull(s.h, s.tar.raw, lo)
}

// take makes raw the bytes of the span's samples.
func (s *span) take(raw []byte) {
	s.tar.raw = raw
	if s.tar.format != s.Sh.Tar {
		s.tar.format, s.tar.walk = s.Sh.Tar, dataset.NewWalk(s.Sh.Tar.Tar)
	}
	s.tar.walk.Hold(raw, s.h.Index[s.Lo])
}

// drop forgets bytes that are not to be held.
func (s *span) drop(l *Reader) {
	if !l.hold {
		s.tar.raw = nil
	}
}

func (s *span) measureTar(l *Reader, t *Table) error {
	defer s.drop(l)
	if err := s.readTar(); err != nil {
		return err
	}
	return s.parse(t)
}

// parse finds and checks the members in the bytes that were read.
func (s *span) parse(t *Table) error {
	s.tar.keys = s.tar.keys[:0]
	f := s.Sh.Tar
	if n := int(s.Hi-s.Lo) * f.stride(); cap(s.tar.members) < n {
		s.tar.members = make([]tarEntry, n)
	} else {
		s.tar.members = s.tar.members[:n]
		clear(s.tar.members)
	}
	for i := range s.Hi - s.Lo {
		if err := s.sample(t, i); err != nil {
			return withSample(err, s.Sh.Lo+s.Lo+i)
		}
	}
	return nil
}

// sample finds the members of a sample, and measures those that are wanted in the order of
// the schema: the field that decides a counter's lengths comes before the others.
func (s *span) sample(t *Table, i int64) error {
	f, w := s.Sh.Tar, s.tar.walk
	w.Sample(s.h.Index[s.Lo+i], s.h.Index[s.Lo+i+1])
	for {
		k, e, code, err := w.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if n := f.targets[k].wanted; n >= 0 {
			to := s.entry(i, n)
			to.Offset, to.Size, to.code, to.there = e.Offset, e.Size, code, true
		}
	}
	for k := range f.targets {
		if n := f.targets[k].wanted; n >= 0 {
			if err := s.measureMember(t, s.Row+i, k, s.entry(i, n)); err != nil {
				return withField(err, f.Members[k].Of.Name)
			}
		}
	}
	if k := f.key.Offsets; k >= 0 {
		n := int64(len(w.Key))
		e := s.entry(i, f.wanted)
		e.Offset, e.Size = int64(len(s.tar.keys)), n
		s.tar.keys = append(s.tar.keys, w.Key...)
		t.Int64s(k)[s.Row+1+i] = n
	}
	return nil
}

// measureMember checks a member and writes all that is known before the data:
// length, presence, shape, extension.
func (s *span) measureMember(t *Table, row int64, k int, e *tarEntry) error {
	to, m := &s.Sh.Tar.targets[k], &s.Sh.Tar.Members[k]
	var dims []byte
	if to.shape >= 0 {
		dims = t.Part(to.shape, row, row+1)
	}
	if !e.there { // of tars of others; a Walk of ours finds all members
		return absent(t, to, m, dims, row)
	}
	c, err := s.tar.walk.Measure(m, &e.Entry, dims)
	if err != nil {
		return err
	}
	if to.ext >= 0 {
		t.Part(to.ext, row, row+1)[0] = byte(e.code)
	}
	if v := to.at.Valid; v >= 0 {
		t.Part(v, row, row+1)[0] = 0
		if c.Valid {
			t.Part(v, row, row+1)[0] = 1
		}
	}
	if to.at.Offsets < 0 {
		return nil
	}
	o := t.Int64s(to.at.Offsets)
	if to.leads {
		o[row+1] = c.N
	} else if o[row+1] != c.N {
		return shardify.Corrupt(-1, "%d elements, but another field of counter %s has %d", c.N, m.Of.Counter, o[row+1])
	}
	return nil
}

// absent writes that a sample has no value.
func absent(t *Table, to *target, m *dataset.Member, dims []byte, row int64) error {
	if !m.Of.Nullable {
		return shardify.Corrupt(-1, "no member of the field, there was one when the tar was indexed")
	}
	if clear(dims); to.at.Valid >= 0 {
		t.Part(to.at.Valid, row, row+1)[0] = 0
	}
	return nil
}

// again reads the bytes a second time where they were not kept.
func (s *span) again(l *Reader) error {
	if l.hold {
		return nil
	}
	return s.readTar()
}

// fillTar brings the data of all members to where they belong.
func (s *span) fillTar(l *Reader, t *Table) error {
	defer s.drop(l)
	if err := s.again(l); err != nil {
		return err
	}
	f := s.Sh.Tar
	for i := range s.Hi - s.Lo {
		for k := range f.targets {
			if n := f.targets[k].wanted; n >= 0 && f.targets[k].at.Values >= 0 {
				if err := s.fillMember(t, s.Row+i, k, s.entry(i, n)); err != nil {
					return withSample(withField(err, f.Members[k].Of.Name), s.Sh.Lo+s.Lo+i)
				}
			}
		}
		if f.key.Values >= 0 {
			e, o := s.entry(i, f.wanted), t.Int64s(f.key.Offsets)
			copy(t.Part(f.key.Values, o[s.Row+i], o[s.Row+i+1]), s.tar.keys[e.Offset:e.Offset+e.Size])
		}
	}
	return nil
}

func (s *span) fillMember(t *Table, row int64, k int, to *tarEntry) error {
	m, at := &s.Sh.Tar.Members[k], &s.Sh.Tar.targets[k].at
	lo, hi := row, row+1
	if at.Offsets >= 0 {
		o := t.Int64s(at.Offsets)
		lo, hi = o[row], o[row+1]
	}
	e := &to.Entry
	if !to.there {
		clear(t.Part(at.Values, lo, hi))
		return nil
	}
	if m.Kind != tar.MemberTexts {
		return s.tar.walk.Fill(t.Part(at.Values, lo, hi), m, e)
	}
	if err := s.texts(m, e, hi-lo); err != nil {
		return err
	}
	o := t.Int64s(at.Offsets1)
	if int64(len(s.tar.data)) != o[hi]-o[lo] {
		return shardify.Corrupt(e.Offset, "the file changed while it was read")
	}
	copy(t.Part(at.Values, o[lo], o[hi]), s.tar.data)
	return nil
}

// measureTexts writes the lengths of texts in lists.
func (s *span) measureTexts(l *Reader, t *Table) error {
	defer s.drop(l)
	if err := s.again(l); err != nil {
		return err
	}
	f := s.Sh.Tar
	for k := range f.targets {
		to, m := &f.targets[k], &f.Members[k]
		if to.wanted < 0 || to.at.Offsets1 < 0 {
			continue
		}
		lists, lengths := t.Int64s(to.at.Offsets), t.Int64s(to.at.Offsets1)
		for i := range s.Hi - s.Lo {
			first := lists[s.Row+i]
			if err := s.texts(m, &s.entry(i, to.wanted).Entry, lists[s.Row+i+1]-first); err != nil {
				return withSample(withField(err, m.Of.Name), s.Sh.Lo+s.Lo+i)
			}
			before := int64(0)
			for n, end := range s.tar.ends {
				lengths[first+1+int64(n)] = end - before
				before = end
			}
		}
	}
	return nil
}

// texts decodes a list of n texts into scratch memory.
func (s *span) texts(m *dataset.Member, e *tar.Entry, n int64) (err error) {
	if int64(cap(s.tar.data)) < e.Size { // texts are no longer than their list
		s.tar.data = make([]byte, 0, e.Size)
	}
	s.tar.data, s.tar.ends, err = s.tar.walk.Texts(s.tar.data[:0], s.tar.ends[:0], m, e, n)
	return err
}

func withSample(err error, sample int64) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample = sample })
}

func withField(err error, field string) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Field = field })
}
