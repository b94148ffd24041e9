package set

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
//	uvarint mappings; each as in appendColumns
//	3 lists of byte strings, borders, blobs and shapes: uvarint count; each uvarint n, n bytes
//	uvarint files; each uvarint input (less the one before), samples, size, jagged;
//	        5 references: mapping, borders, blob, shapes
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
	text, err := json.Marshal(stateHead{s.of.Format, s.of.Key, s.found.Schema, s.found.Left, s.found.Notes})
	if err != nil {
		return nil, err
	}
	return s.found.Files.encode(text), nil
}

// encode makes a state of the files, with text as its JSON.
func (fs *Files) encode(text []byte) []byte {
	version := fs.version()
	b := binary.AppendUvarint([]byte{version}, uint64(len(text)))
	b = append(b, text...)
	b = binary.AppendUvarint(b, uint64(len(fs.mappings)))
	for _, m := range fs.mappings {
		b = append(b, m.key...)
	}
	for _, n := range []*interner{&fs.borders, &fs.blobs, &fs.shapes} {
		b = binary.AppendUvarint(b, uint64(len(n.list)))
		for _, x := range n.list {
			b = binary.AppendUvarint(b, uint64(len(x)))
			b = append(b, x...)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(fs.List)))
	var prev uint32
	var refs [4]reference
	for i := range fs.List {
		f := &fs.List[i]
		b = binary.AppendUvarint(b, uint64(f.Input-prev))
		if version == partsVersion {
			b = binary.AppendUvarint(b, uint64(fs.first(f)))
		}
		for _, v := range []int64{f.Samples, f.Size, f.Jagged} {
			b = binary.AppendUvarint(b, uint64(v))
		}
		prev = f.Input
		for k, id := range [4]uint32{f.Layout, f.borders, f.blob, f.shape} {
			b = refs[k].append(b, id)
		}
	}
	return b
}

// version is that of the state.
func (fs *Files) version() byte {
	if slices.ContainsFunc(fs.List, func(f File) bool { return fs.first(&f) > 0 }) {
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
