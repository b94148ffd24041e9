package index

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/shardify/shardify"
)

// Tensor is an entry of a safetensors header.
type Tensor struct {
	Name   string
	Type   string // as in the header: "F32"
	Shape  []int64
	Lo, Hi int64 // bytes of the file
}

// Safetensors is the header of any safetensors file.
type Safetensors struct {
	HeaderBytes int64    // 8 + n: where the data begin
	Tensors     []Tensor // in data order
	Metadata    map[string]string
	header      []byte // [0, HeaderBytes)
	ordered     bool   // the text has the tensors in data order
}

// typeBits are the bits of one element.
var typeBits = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
	"I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
	"I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}

// ParseSafetensors reads the header of a safetensors file of size bytes, made by
// anyone, and holds it to the rules of that format: lengths within the file,
// unique names, known types, and tensors that fill the data without hole,
// overlap or rest.
func ParseSafetensors(r io.ReaderAt, size int64) (*Safetensors, error) {
	head, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	return parseSafetensors(head, size)
}

func parseSafetensors(head []byte, size int64) (*Safetensors, error) {
	s := &Safetensors{HeaderBytes: int64(len(head)), header: head}
	if head[lengthBytes] != '{' {
		return nil, shardify.Corrupt(lengthBytes, "header begins with %q: want {", head[lengthBytes])
	}
	// Room for all tensors at once: a list that grows leaves twice its size behind.
	n := min(bytes.Count(head, []byte("data_offsets")), len(head)/shortestTensor)
	s.Tensors = make([]Tensor, 0, n)
	p := headerParser{scanner: scanner{b: head[lengthBytes:], base: lengthBytes}, out: s, seen: make(map[string]bool, n)}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if err := s.place(size); err != nil {
		return nil, err
	}
	return s, nil
}

// readHeader returns bytes [0, 8+n), n checked against the file's size.
func readHeader(r io.ReaderAt, size int64) ([]byte, error) {
	var length [lengthBytes]byte
	if size < lengthBytes+2 {
		return nil, shardify.Corrupt(0, "%d bytes: too short for safetensors", size)
	}
	if err := ReadFull(r, length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader && n <= uint64(size-lengthBytes) {
		return nil, shardify.Unsupported("header of %d bytes; at most %d are read", n, maxHeader)
	}
	if n < 2 || n > uint64(size-lengthBytes) {
		return nil, shardify.Corrupt(0, "header of %d bytes in a file of %d", n, size)
	}
	head := make([]byte, lengthBytes+int(n))
	return head, ReadFull(r, head, 0)
}

// readFull fills b from byte at; a file that ends early is corrupt.
// ReadFull fills b from a place of a file. A file that ends early is damaged.
func ReadFull(r io.ReaderAt, b []byte, at int64) error {
	if len(b) == 0 {
		return nil
	}
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return shardify.Corrupt(at+int64(n), "file ends inside bytes [%d, %d)", at, at+int64(len(b)))
	}
	return &shardify.Error{Sample: -1, Offset: at, Err: err}
}

type headerParser struct {
	scanner
	out  *Safetensors
	seen map[string]bool
	dims []int64 // room that shapes are cut from
}

// shortestTensor is less than any tensor takes in a header.
const shortestTensor = 40

// manyDims is how much room for shapes is made at once.
const manyDims = 1 << 10

func (p *headerParser) parse() error {
	err := p.object(func(name string) error {
		if p.seen[name] {
			return p.fail("two entries named %q", name)
		}
		p.seen[name] = true
		if name == metaName {
			return p.metadata()
		}
		return p.tensor(name)
	})
	if err != nil {
		return err
	}
	if p.peek(); p.pos != len(p.b) {
		return p.fail("bytes after the header's JSON")
	}
	return nil
}

func (p *headerParser) metadata() error {
	meta := map[string]string{}
	p.out.Metadata = meta
	return p.object(func(name string) error {
		if _, ok := meta[name]; ok {
			return p.fail("two entries named %q in %s", name, metaName)
		}
		if len(meta) == maxMetadata {
			return shardify.Unsupported("more than %d entries in %s", maxMetadata, metaName)
		}
		if p.peek() != '"' {
			return p.fail("%s entry %q is not a string", metaName, name)
		}
		value, err := p.string()
		meta[name] = value
		return err
	})
}

func (p *headerParser) tensor(name string) error {
	t := Tensor{Name: name}
	var has struct{ dtype, shape, offsets bool }
	var ends [2]int64
	at := p.pos
	err := p.object(func(key string) (err error) {
		var again bool
		switch key {
		case "dtype":
			again, has.dtype = has.dtype, true
			t.Type, err = p.string()
			t.Type = intern(t.Type)
		case "shape":
			again, has.shape = has.shape, true
			if cap(p.dims)-len(p.dims) < maxRank {
				p.dims = make([]int64, 0, manyDims)
			}
			from := len(p.dims)
			p.dims, err = p.uints(p.dims, maxRank)
			t.Shape = p.dims[from:len(p.dims):len(p.dims)]
		case "data_offsets":
			again, has.offsets = has.offsets, true
			var pair []int64
			if pair, err = p.uints(ends[:0], len(ends)); err == nil && len(pair) != 2 {
				err = p.fail("tensor %q has %d data offsets", name, len(pair))
			}
			if err == nil {
				t.Lo, t.Hi = pair[0], pair[1]
			}
		default:
			err = p.skip(0)
		}
		if err == nil && again {
			err = p.fail("tensor %q has %s twice", name, key)
		}
		return err
	})
	if err == nil && !(has.dtype && has.shape && has.offsets) {
		p.pos = at
		err = p.fail("tensor %q lacks dtype, shape or data_offsets", name)
	}
	p.out.Tensors = append(p.out.Tensors, t)
	return err
}

// intern gives all tensors of one type one string.
func intern(name string) string {
	for _, known := range typeNames {
		if name == known {
			return known
		}
	}
	return name
}

var typeNames = slices.Sorted(maps.Keys(typeBits))

// place sorts the tensors by their data, makes their offsets those of the file
// and checks that they fill it.
func (s *Safetensors) place(size int64) error {
	less := func(a, b Tensor) int { return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Hi, b.Hi)) }
	s.ordered = slices.IsSortedFunc(s.Tensors, less)
	slices.SortStableFunc(s.Tensors, less)
	end := int64(0)
	for i := range s.Tensors {
		t := &s.Tensors[i]
		if t.Lo != end || t.Hi < t.Lo {
			return shardify.Corrupt(-1, "tensor %q has data [%d, %d), but the one before ends at %d", t.Name, t.Lo, t.Hi, end)
		}
		want, err := t.bytes()
		if err != nil {
			return err
		}
		if want != t.Hi-t.Lo {
			return shardify.Corrupt(-1, "tensor %q of %s %v takes %d bytes, its data offsets span %d", t.Name, t.Type, t.Shape, want, t.Hi-t.Lo)
		}
		end = t.Hi
	}
	if end != size-s.HeaderBytes {
		return shardify.Corrupt(min(size, s.HeaderBytes+end), "file has %d bytes of data, its tensors take %d", size-s.HeaderBytes, end)
	}
	for i := range s.Tensors {
		s.Tensors[i].Lo += s.HeaderBytes
		s.Tensors[i].Hi += s.HeaderBytes
	}
	return nil
}

// bytes is the size that type and shape say.
func (t *Tensor) bytes() (int64, error) {
	bits, ok := typeBits[t.Type]
	if !ok {
		return 0, shardify.Unsupported("tensor %q has type %q", t.Name, t.Type)
	}
	n := int64(1)
	for _, d := range append(t.Shape[:len(t.Shape):len(t.Shape)], bits) {
		if d > 0 && n > math.MaxInt64/d {
			return 0, shardify.Corrupt(-1, "tensor %q: shape %v overflows", t.Name, t.Shape)
		}
		n *= d
	}
	if n%8 != 0 {
		return 0, shardify.Corrupt(-1, "tensor %q of %s %v is not a whole number of bytes", t.Name, t.Type, t.Shape)
	}
	return n / 8, nil
}

// Tensor returns the tensor of a name, or nil. It looks at all of them.
func (s *Safetensors) Tensor(name string) *Tensor {
	for i := range s.Tensors {
		if s.Tensors[i].Name == name {
			return &s.Tensors[i]
		}
	}
	return nil
}
