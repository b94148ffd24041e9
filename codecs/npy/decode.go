package npy

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/voxels"
)

// File is a whole .npy file of numbers in memory.
type File struct {
	Header
	dtype shardify.DType
	parts int // numbers of a value: 2 of a complex one
	data  []byte
}

// Open reads the header of a file, and compares the size of the array with that of the file.
func Open(file []byte) (*File, error) {
	n, err := HeaderBytes(file)
	if err != nil {
		return nil, err
	}
	if n > len(file) {
		return nil, shardify.Corrupt(int64(len(file)), "truncated: header of %d bytes, has %d", n, len(file))
	}
	f := new(File)
	if f.Header, err = ParseHeader(file[:n]); err != nil {
		return nil, err
	}
	if f.data = file[n:]; int64(len(f.data)) != f.Data {
		return nil, shardify.Corrupt(int64(n), "%v has %d bytes, and %d follow the header", &f.Header, f.Data, len(f.data))
	}
	kind := f.Item.Leaves[0].Scalar.Kind
	if !f.Item.Plain() || f.Item.Leaves[0].dims != nil || kind == 'M' || kind == 'm' || kind == 'V' {
		return nil, shardify.Unsupported("%v: an array of numbers is wanted", &f.Header)
	}
	var last []int
	f.dtype, last = f.Item.Leaves[0].Scalar.DType()
	f.parts = 1 + len(last)
	return f, nil
}

// DType is the type of the values as they are delivered.
func (f *File) DType() shardify.DType { return f.dtype }

// Shape is that of the array: the two parts of complex numbers are its last axis.
func (f *File) Shape() []int {
	shape := f.lengths()
	if f.parts > 1 {
		shape = append(shape, f.parts)
	}
	return shape
}

func (f *File) lengths() []int {
	dims := make([]int, len(f.Header.Shape), len(f.Header.Shape)+1)
	for i, n := range f.Header.Shape {
		dims[i] = int(n)
	}
	return dims
}

// Append appends the values, in the order of the indices: the last one is the fastest.
func (f *File) Append(dst []byte) ([]byte, error) {
	at := len(dst)
	dims := slices.DeleteFunc(f.lengths(), func(d int) bool { return d == 1 })
	if !f.Fortran || len(dims) < 2 || len(f.data) == 0 {
		dst = append(dst, f.data...)
	} else {
		turned := voxels.Grow(nil, len(f.data))
		voxels.Place(turned, append(voxels.Grow(nil, len(f.data))[:0], f.data...), dims, f.Item.Size, 0, dims[len(dims)-1])
		dst = append(dst, turned...)
	}
	f.Item.Leaves[0].Scalar.Repair(dst[at:])
	return dst, nil
}
