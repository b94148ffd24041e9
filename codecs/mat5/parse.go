package mat5

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/codecs/readat"
)

// The types of elements that are not numbers.
const (
	typeMatrix     = 14
	typeCompressed = 15
)

const headerBytes = 128

// Variable is an array of a file: a variable, or a field of a structure.
type Variable struct {
	Name  string
	NumPy string // type of the values that Values makes
	Class string // in MATLAB's word
	Shape []int64
	Err   error // why it is not read
	// Digest of what the file says of it.
	Digest uint64

	element element
	dims    []int64 // as the file has them
	version int
}

// element is where a matrix is.
type element struct {
	at     int64 // of the bytes of the file's element, behind its tag
	n      int64
	packed bool
	inner  int64 // where the matrix is in the element, unpacked; of a nested one not 0
	size   int64 // of the matrix
	number int   // of a matrix of version 4: its header is at
}

// File is the variables of a file.
type File struct {
	Variables []Variable
	Notes     []string

	in    io.ReaderAt
	size  int64
	order binary.ByteOrder
}

// maxVariables bounds those of a file, fields of structures too.
const maxVariables = 1 << 16

// Is reports whether a file begins as one of MATLAB 5 to 7 does.
func Is(head []byte) bool {
	return len(head) >= headerBytes && (string(head[126:128]) == "IM" && head[125] == 1 || string(head[126:128]) == "MI" && head[124] == 1) && bytes.HasPrefix(head, []byte("MATLAB"))
}

// Parse finds the variables of a file.
func Parse(r io.ReaderAt, size int64) (*File, error) {
	f := &File{in: r, size: size, order: binary.LittleEndian}
	head := make([]byte, min(headerBytes, size))
	if err := readat.Full(r, head, 0); err != nil {
		return nil, err
	}
	if len(head) > 4 && !bytes.HasPrefix(head, []byte("MATLAB")) && Is4(head, size) {
		return f, f.parse4()
	}
	if len(head) < headerBytes {
		return nil, shardify.Corrupt(0, "the header of %d bytes is cut: the file has %d", headerBytes, size)
	}
	switch string(head[126:128]) {
	case "IM":
	case "MI":
		f.order = binary.BigEndian
	default:
		return nil, shardify.Corrupt(126, "no MAT-file of MATLAB 5 to 7: the mark of the byte order is %q", head[126:128])
	}
	if v := f.order.Uint16(head[124:]); v != 0x0100 {
		return nil, shardify.Unsupported("a MAT-file of version %d.%d; those of MATLAB 7.3 are HDF5, and this file is not", v>>8, v&0xff)
	}
	return f, f.elements()
}

// elements reads the elements of the file.
func (f *File) elements() error {
	in := readat.New(f.in, 0, f.size)
	if err := in.Skip(headerBytes); err != nil {
		return err
	}
	for in.Pos < in.Size {
		at := in.Pos
		tag, err := in.Take(8)
		if err != nil {
			return err
		}
		typ, n := f.order.Uint32(tag), int64(f.order.Uint32(tag[4:]))
		if typ != typeMatrix && typ != typeCompressed {
			return shardify.Corrupt(at, "an element of type %d, where variables are", typ)
		}
		if n > in.Size-in.Pos {
			return shardify.Corrupt(at, "an element of %d bytes, and the file has %d more", n, in.Size-in.Pos)
		}
		e := element{at: in.Pos, n: n, packed: typ == typeCompressed, size: n}
		sub := readat.New(f.in, in.Pos, n)
		if e.packed {
			if sub, err = f.unpack(&e); err != nil {
				return err
			}
		}
		if err := f.variable(sub, &e); err != nil {
			return err
		}
		if err := in.Skip(n); err != nil {
			return err
		}
	}
	return f.twice()
}

// twice leaves the last of several variables of one name, as MATLAB does.
func (f *File) twice() error {
	last := map[string]int{}
	for i := range f.Variables {
		last[f.Variables[i].Name] = i
	}
	kept := f.Variables[:0]
	for i, v := range f.Variables {
		if last[v.Name] == i {
			kept = append(kept, v)
		} else {
			f.Notes = append(f.Notes, "variable "+v.Name+" is there twice: the last one counts")
		}
	}
	f.Variables = kept
	return nil
}

// unpack begins with the bytes of a compressed element, behind the tag of the matrix in it.
func (f *File) unpack(e *element) (*readat.InOrder, error) {
	if e.n < 2 {
		return nil, shardify.Corrupt(e.at, "a compressed element of %d bytes", e.n)
	}
	in := readat.New(f.in, e.at+2, e.n-2).Unpack() // behind the header of zlib
	in.Size = 8
	tag, err := in.Take(8)
	if err != nil {
		return nil, err
	}
	if typ := f.order.Uint32(tag); typ != typeMatrix {
		return nil, shardify.Corrupt(e.at, "a compressed element of type %d, where variables are", typ)
	}
	e.size = int64(f.order.Uint32(tag[4:]))
	if e.size > e.n*inflate.Most {
		return nil, shardify.Corrupt(e.at, "a compressed element of %d bytes, which cannot be %d unpacked", e.n, e.size)
	}
	in.Pos, in.Size = 0, e.size
	return in, nil
}

// load is the bytes of a matrix. They are in the file, or in a compressed element.
func (f *File) load(e *element) ([]byte, error) {
	if !e.packed {
		b := make([]byte, e.size)
		return b, readat.Full(f.in, b, e.at+e.inner)
	}
	whole := *e
	if _, err := f.unpack(&whole); err != nil { // the size of all of it
		return nil, err
	}
	src := make([]byte, e.n)
	if err := readat.Full(f.in, src, e.at); err != nil {
		return nil, err
	}
	b := make([]byte, whole.size+8)
	n, used, err := inflate.Zlib(b, src)
	if err != nil {
		return nil, shardify.Corrupt(e.at, "compressed element: %v", err)
	}
	if n != len(b) || used != len(src) {
		return nil, shardify.Corrupt(e.at, "a compressed element has %d bytes in %d, its tags say %d in %d", n, used, len(b), len(src))
	}
	return b[8+e.inner : 8+e.inner+e.size], nil
}

// add adds a variable.
func (f *File) add(name string, e element, m *matrix) error {
	if len(f.Variables) == maxVariables {
		return shardify.Unsupported("more than %d variables", maxVariables)
	}
	v := Variable{Name: name, element: e, dims: m.dims, Class: m.word(), version: 5}
	v.Shape, v.NumPy, v.Err = m.becomes(e.size)
	v.digest()
	f.Variables = append(f.Variables, v)
	return nil
}

func (v *Variable) digest() {
	h := fnv.New64a()
	h.Write([]byte(v.Name + "\x00" + v.NumPy + "\x00" + v.Class))
	binary.Write(h, binary.LittleEndian, v.dims)
	binary.Write(h, binary.LittleEndian, []int64{v.element.at, v.element.n, v.element.inner, v.element.size})
	v.Digest = h.Sum64()
}
