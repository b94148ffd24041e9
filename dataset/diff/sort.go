package diff

import (
	"bytes"
	"io"
	"os"
	"sort"

	"github.com/shardify/shardify"
)

// sorter takes records and gives them back in order. More than fit into memory go to a scratch
// file, in sorted runs.
type sorter struct {
	size    int // of a record
	most    int // bytes of records in memory
	scratch func() (*os.File, error)

	buf  []byte
	file *os.File
	at   int64
	runs []run
}

// run is sorted records in the scratch file.
type run struct{ at, end int64 }

// records sorts records in place.
type records struct {
	b    []byte
	size int
	tmp  []byte
}

func (r *records) Len() int           { return len(r.b) / r.size }
func (r *records) at(i int) []byte    { return r.b[i*r.size : (i+1)*r.size] }
func (r *records) Less(i, j int) bool { return bytes.Compare(r.at(i), r.at(j)) < 0 }
func (r *records) Swap(i, j int) {
	copy(r.tmp, r.at(i))
	copy(r.at(i), r.at(j))
	copy(r.at(j), r.tmp)
}

// add takes records, which are copied.
func (s *sorter) add(b []byte) error {
	for len(b) > 0 {
		n := min(len(b), max(s.most-len(s.buf), 0)/s.size*s.size)
		if n == 0 {
			if err := s.flush(); err != nil {
				return err
			}
			continue
		}
		s.buf = append(s.buf, b[:n]...)
		b = b[n:]
	}
	return nil
}

func (s *sorter) sort() { sort.Sort(&records{s.buf, s.size, make([]byte, s.size)}) }

// flush writes what is in memory as a run.
func (s *sorter) flush() (err error) {
	if s.file == nil {
		if s.file, err = s.scratch(); err != nil {
			return err
		}
	}
	s.sort()
	if _, err := s.file.WriteAt(s.buf, s.at); err != nil {
		return err
	}
	s.runs = append(s.runs, run{s.at, s.at + int64(len(s.buf))})
	s.at += int64(len(s.buf))
	s.buf = s.buf[:0]
	return nil
}

// close lets the scratch file go.
func (s *sorter) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// sorted gives the records in their order, once.
func (s *sorter) sorted() (*merge, error) {
	m := &merge{s: s}
	if len(s.runs) == 0 {
		s.sort()
		m.heads = append(m.heads, head{b: s.buf})
	} else {
		if err := s.flush(); err != nil {
			return nil, err
		}
		s.buf = nil
		each := max(s.most/len(s.runs)/s.size, 1) * s.size
		for _, r := range s.runs {
			m.heads = append(m.heads, head{left: r, room: make([]byte, min(int64(each), r.end-r.at))})
		}
	}
	for i := len(m.heads) - 1; i >= 0; i-- {
		if err := m.fill(&m.heads[i]); err != nil {
			return nil, err
		}
	}
	m.drop()
	for i := len(m.heads)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

// merge is runs that are read side by side: a heap by their next records.
type merge struct {
	s     *sorter
	heads []head
}

// head is what is next of a run.
type head struct {
	b    []byte // records that are in memory
	left run    // those that are not
	room []byte
}

// fill reads more of a run.
func (m *merge) fill(h *head) error {
	n := min(int64(len(h.room)), h.left.end-h.left.at)
	if len(h.b) > 0 || n == 0 {
		return nil
	}
	h.b = h.room[:n]
	if _, err := io.ReadFull(io.NewSectionReader(m.s.file, h.left.at, n), h.b); err != nil {
		return shardify.Corrupt(h.left.at, "scratch file: %v", err)
	}
	h.left.at += n
	return nil
}

// drop removes runs that have ended, before the heap is made.
func (m *merge) drop() {
	kept := m.heads[:0]
	for _, h := range m.heads {
		if len(h.b) > 0 {
			kept = append(kept, h)
		}
	}
	m.heads = kept
}

// first is the next record, nil at the end. It is valid until next.
func (m *merge) first() []byte {
	if len(m.heads) == 0 {
		return nil
	}
	return m.heads[0].b[:m.s.size]
}

// next goes on.
func (m *merge) next() error {
	h := &m.heads[0]
	h.b = h.b[m.s.size:]
	if err := m.fill(h); err != nil {
		return err
	}
	if len(h.b) == 0 {
		last := len(m.heads) - 1
		m.heads[0] = m.heads[last]
		m.heads = m.heads[:last]
	}
	m.down(0)
	return nil
}

func (m *merge) down(i int) {
	for {
		least := i
		for k := 2*i + 1; k <= 2*i+2 && k < len(m.heads); k++ {
			if bytes.Compare(m.heads[k].b[:m.s.size], m.heads[least].b[:m.s.size]) < 0 {
				least = k
			}
		}
		if least == i {
			return
		}
		m.heads[i], m.heads[least] = m.heads[least], m.heads[i]
		i = least
	}
}
