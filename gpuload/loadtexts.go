package gpuload

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

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
