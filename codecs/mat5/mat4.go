package mat5

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/codecs/voxels"
)

// head4 is the header of a variable of MATLAB 4.
type head4 struct {
	order      binary.ByteOrder
	typ, kind  uint32
	rows, cols int64
	complex    bool
	name       int64 // bytes
}

const head4Bytes = 20

// types4 are the types of elements by the digit of version 4.
var types4 = [6]uint32{9, 7, 5, 3, 4, 2}

var numpy4 = [6]string{"<f8", "<f4", "<i4", "<i2", "<u2", "|u1"}

func parse4(b []byte) (h head4, ok bool) {
	for _, h.order = range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		mopt := h.order.Uint32(b)
		machine := mopt / 1000
		h.typ, h.kind = mopt/10%10, mopt%10
		if mopt >= 5000 || mopt/100%10 != 0 || h.typ > 5 || h.kind > 2 || (machine == 1) != (h.order == binary.BigEndian) || machine > 1 {
			continue
		}
		h.rows, h.cols, h.name = int64(h.order.Uint32(b[4:])), int64(h.order.Uint32(b[8:])), int64(h.order.Uint32(b[16:]))
		imag := h.order.Uint32(b[12:])
		h.complex = imag == 1
		if imag > 1 || h.name < 1 || h.name > 64 || h.rows > 1<<31 || h.cols > 1<<31 {
			continue
		}
		return h, true
	}
	return h, false
}

// bytes of the numbers.
func (h *head4) bytes() int64 {
	n := h.rows * h.cols * sizes[types4[h.typ]]
	if h.complex {
		n *= 2
	}
	return n
}

// Is4 reports whether a file of size bytes begins as one of MATLAB 4 does, which have no mark.
func Is4(head []byte, size int64) bool {
	if len(head) < head4Bytes {
		return false
	}
	h, ok := parse4(head)
	return ok && head4Bytes+h.name+h.bytes() <= size
}

// parse4 finds the variables of a file of MATLAB 4.
func (f *File) parse4() error {
	in := readat.New(f.in, 0, f.size)
	for in.Pos < in.Size {
		at := in.Pos
		b, err := in.Take(head4Bytes)
		if err != nil {
			return err
		}
		h, ok := parse4(b)
		if !ok {
			return shardify.Corrupt(at, "no header of a variable of MATLAB 4")
		}
		name, err := in.Take(h.name)
		if err != nil {
			return err
		}
		if len(f.Variables) == maxVariables {
			return shardify.Unsupported("more than %d variables", maxVariables)
		}
		v := Variable{Name: cString(name), Class: "MATLAB 4", version: 4, dims: []int64{h.rows, h.cols}, element: element{at: in.Pos, n: h.bytes(), size: h.bytes(), number: int(at)}}
		if h.kind == 2 {
			if v.dims, err = f.dims4(&h, in.Pos); err != nil {
				return err
			}
		}
		v.Shape, v.NumPy, v.Err = h.becomes(v.dims)
		v.digest()
		f.Variables = append(f.Variables, v)
		if err := in.Skip(h.bytes()); err != nil {
			return err
		}
	}
	return f.twice()
}

func (h *head4) becomes(dims []int64) (shape []int64, numpy string, err error) {
	shape, numpy = dims, numpy4[h.typ]
	if dims[1] == 1 {
		if shape = shape[:1]; dims[0] == 1 {
			shape = nil
		}
	}
	switch {
	case h.kind == 1:
		if shape = []int64{h.rows}; h.rows <= 1 {
			shape = nil
		}
		return shape, "<U" + itoa(max(h.cols, 1)), nil
	case h.kind == 2 && dims[0]*dims[1] > maxDense/8+h.bytes()*64:
		return nil, "", shardify.Unsupported("a sparse matrix of %v in %d bytes, which would be dense", dims, h.bytes())
	case h.kind == 2:
		return shape, map[int64]string{3: "<f8", 4: "<c16"}[h.cols], nil
	case h.complex && h.typ == 0:
		numpy = "<c16"
	case h.complex && h.typ == 1:
		numpy = "<c8"
	case h.complex:
		return nil, "", shardify.Unsupported("complex whole numbers of MATLAB 4")
	}
	return shape, numpy, nil
}

// values4 are the values of a variable of MATLAB 4.
func (f *File) values4(v *Variable) ([]byte, error) {
	b := make([]byte, head4Bytes)
	if err := readat.Full(f.in, b, int64(v.element.number)); err != nil {
		return nil, err
	}
	h, ok := parse4(b)
	if !ok {
		return nil, shardify.Corrupt(int64(v.element.number), "no header of a variable of MATLAB 4")
	}
	src := voxels.Grow(nil, int(v.element.n))
	if err := readat.Full(f.in, src, v.element.at); err != nil {
		return nil, err
	}
	count, width := h.rows*h.cols, sizes[types4[h.typ]]
	switch h.kind {
	case 1:
		return h.texts(src, count), nil
	case 2:
		return h.sparse(src, v)
	}
	if h.order == binary.BigEndian {
		voxels.Swap(src, int(width))
	}
	parts := 1
	if h.complex {
		parts = 2
	}
	return rows(src, v.dims, int(width), parts), nil
}

// texts makes texts of the codes of characters, which are numbers of any type.
func (h *head4) texts(src []byte, count int64) []byte {
	if count == 0 {
		return make([]byte, 4*max(h.cols, 1))
	}
	r, w := newReader(types4[h.typ], h.order), sizes[types4[h.typ]]
	out := make([]byte, 4*count)
	for i := range count {
		c := r.float(src[i*w:])
		if !(c >= 0 && c <= math.MaxUint16) {
			c = '?'
		}
		row, col := i%h.rows, i/h.rows
		binary.LittleEndian.PutUint32(out[4*(row*h.cols+col):], uint32(c))
	}
	return out
}
