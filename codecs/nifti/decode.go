package nifti

import (
	"bytes"
	"io"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/inflate"
	"github.com/shardify/shardify/codecs/voxels"
)

// DType is the type of the values as they are delivered: f64 where the header scales them.
func (h *Header) DType() shardify.DType {
	if h.Scaled {
		return shardify.F64
	}
	return h.Type.DType
}

// Shape is that of the array: complex numbers and colours are its last axis.
func (h *Header) Shape() []int {
	if h.Type.Parts == 0 {
		return h.Dims
	}
	return append(slices.Clone(h.Dims), h.Type.Parts)
}

// Volume is a whole file in memory.
type Volume struct {
	*Header
	file []byte
	gz   bool
}

// Open reads the header of a file, which may be packed by gzip.
func Open(file []byte) (*Volume, error) {
	v := &Volume{file: file, gz: bytes.HasPrefix(file, []byte("\x1f\x8b"))}
	head, room := file[:min(len(file), Bytes)], int64(len(file))
	if v.gz {
		var r inflate.Reader
		r.ResetGzip(bytes.NewReader(file))
		head = make([]byte, Bytes)
		n, err := io.ReadFull(&r, head)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return nil, damaged(err)
		}
		head, room = head[:n], room*inflate.Most
	}
	var err error
	if v.Header, err = Parse(head); err != nil {
		return nil, err
	}
	if v.Pair {
		return nil, shardify.Unsupported("the header of a pair, whose values are in another file; --from nifti reads both")
	}
	if n := v.stored(); v.Offset > room || n > room-v.Offset {
		return nil, shardify.Corrupt(int64(len(file)), "the values take %d bytes from byte %d on, and the file has %d", n, v.Offset, len(file))
	}
	return v, nil
}

// stored is what the values take in the file.
func (v *Volume) stored() int64 { return v.values() * int64(v.Type.DType.Size()) }

func (v *Volume) values() int64 {
	n := int64(1)
	for _, d := range v.Shape() {
		n *= int64(d)
	}
	return n
}

// Append appends the values, in the order of the indices: the last one is the fastest.
func (v *Volume) Append(dst []byte) ([]byte, error) {
	raw := v.file
	if v.gz {
		var r inflate.Reader
		r.ResetGzip(bytes.NewReader(v.file))
		if _, err := io.CopyN(io.Discard, &r, v.Offset); err != nil {
			return dst, damaged(err)
		}
		raw = voxels.Grow(nil, int(v.stored()))
		if _, err := io.ReadFull(&r, raw); err != nil {
			return dst, damaged(err)
		}
		if _, err := io.CopyN(io.Discard, &r, 1<<20); err != io.EOF {
			return dst, damaged(err)
		}
	} else {
		raw = append(voxels.Grow(nil, int(v.stored()))[:0], raw[v.Offset:v.Offset+v.stored()]...)
	}
	if v.Big {
		voxels.Swap(raw, v.Type.DType.Size())
	}
	// Values that become longer are turned at the end of where they belong, and then scaled from the first to the last.
	out := voxels.Grow(nil, int(v.values())*v.DType().Size())
	stored := out[len(out)-len(raw):]
	dims := slices.DeleteFunc(slices.Clone(v.Dims), func(d int) bool { return d == 1 })
	if len(dims) < 2 || len(raw) == 0 {
		copy(stored, raw)
	} else {
		voxels.Place(stored, raw, dims, v.Type.DType.Size()*max(v.Type.Parts, 1), 0, dims[len(dims)-1])
	}
	if v.Scaled {
		voxels.Scale(v.Type.DType, v.Slope, v.Inter, v.Type.Complex())(out, stored)
	}
	return append(dst, out...), nil
}

// damaged makes what inflate refuses damage of the file.
func damaged(err error) error {
	switch {
	case err == nil:
		return shardify.Corrupt(-1, "more than 1 MiB follow the values")
	}
	return shardify.Corrupt(-1, "gzip: %v", err) // the file is in memory: no read fails
}
