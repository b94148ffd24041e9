package rows

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// The state is the set as a plan keeps it:
//
//	u8      version
//	uvarint n, n bytes of JSON: the part that is there once (stateHead)
//	uvarint mappings; each as in appendMapping
//	3 lists of byte strings, borders, blobs and dims: uvarint count; each uvarint n, n bytes
//	uvarint files; each uvarint input (less the one before), samples, size, jagged;
//	        5 references: mapping, borders, blob, dims
//
// A reference is a uvarint: 0 the same as that of the file before, 1 the next one
// that no file has had, k+2 number k. A file of 100,000 equal ones takes about 15
// bytes. Version 2 is of files in parts: an entry has its first sample behind the input.
const (
	stateVersion = 1
	partsVersion = 2
)

type stateHead struct {
	Format string            `json:"format"`
	Key    string            `json:"key,omitempty"`
	Schema []shardify.Field  `json:"schema"`
	Left   []format.Leftover `json:"left,omitempty"`
	Notes  []string          `json:"notes,omitempty"`
}

// State implements format.Stater.
func (s *Set) State() ([]byte, error) {
	text, err := json.Marshal(stateHead{s.name, s.key, s.schema, s.left, s.notes})
	if err != nil {
		return nil, err
	}
	b := []byte{s.version()}
	b = binary.AppendUvarint(b, uint64(len(text)))
	b = append(b, text...)
	b = binary.AppendUvarint(b, uint64(len(s.layouts)))
	for i := range s.layouts {
		b = appendMapping(b, s.layouts[i].mapping)
	}
	for _, list := range [][][]byte{s.borders, s.blobs, s.dims} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, x := range list {
			b = binary.AppendUvarint(b, uint64(len(x)))
			b = append(b, x...)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(s.entries)))
	var prev uint32
	var refs [4]reference
	for i := range s.entries {
		e := &s.entries[i]
		b = binary.AppendUvarint(b, uint64(e.input-prev))
		if b[0] == partsVersion {
			b = binary.AppendUvarint(b, uint64(s.parts.first(e)))
		}
		for _, v := range []int64{e.samples, e.size, e.jagged} {
			b = binary.AppendUvarint(b, uint64(v))
		}
		prev = e.input
		for k, id := range [4]uint32{e.layout, e.borders, e.blob, e.dims} {
			b = refs[k].append(b, id)
		}
	}
	return b, nil
}

// version is that of the state.
func (s *Set) version() byte {
	if slices.ContainsFunc(s.entries, func(e entry) bool { return s.parts.first(&e) > 0 }) {
		return partsVersion
	}
	return stateVersion
}

// reference is the numbers that files refer to, in the order in which they do.
type reference struct{ last, next uint32 }

func (r *reference) append(b []byte, id uint32) []byte {
	switch {
	case id == r.next:
		b = append(b, 1)
		r.next++
	case id == r.last:
		b = append(b, 0)
	default:
		b = binary.AppendUvarint(b, uint64(id)+2)
	}
	r.last = id
	return b
}

func (r *reference) read(s *stateReader, count int) uint32 {
	v := s.int()
	id := uint64(r.last)
	switch {
	case v == 1:
		id = uint64(r.next)
		r.next++
	case v > 1:
		id = uint64(v) - 2
	}
	if id >= uint64(count) {
		s.fail()
		return 0
	}
	r.last = uint32(id)
	return r.last
}

// stateReader reads a state; after the first fault it gives zeros.
type stateReader struct {
	b   []byte
	bad bool
}

func (r *stateReader) fail() { r.bad, r.b = true, nil }

// int reads a number of at most 62 bits, so that a few of them can be added.
func (r *stateReader) int() int64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > 1<<62 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return int64(v)
}

// count reads the number of things that take at least size bytes each.
func (r *stateReader) count(size int) int {
	n := r.int()
	if n > int64(len(r.b)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func (r *stateReader) byte() byte {
	if len(r.b) == 0 {
		r.fail()
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

// bytes reads a length and as many bytes, which stay part of the state.
func (r *stateReader) bytes() []byte {
	n := r.count(1)
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (s *Set) badState(what string) error {
	return shardify.Corrupt(-1, "state of %s inputs: %s", s.name, what)
}
