package h5

import (
	"math"
)

// maxRank bounds the dimensions of a dataspace.
const maxRank = 32

// parseSpace parses a dataspace message.
//
//	v1: u8 1, u8 rank, u8 flags, 5 reserved, sizes, [max sizes: bit 0], [permutation: bit 1]
//	v2: u8 2, u8 rank, u8 flags, u8 kind, sizes, [max sizes: bit 0]
func (f *File) parseSpace(b []byte, at int64) (Space, error) {
	d := f.decode(b, at, "dataspace")
	version, rank, flags, kind := d.u8(), int(d.u8()), d.u8(), d.u8()
	s := Space{Kind: Simple}
	switch version {
	case 1:
		d.skip(4)
		if rank == 0 {
			s.Kind = Scalar
		}
	case 2:
		s.Kind = SpaceKind(kind)
		if s.Kind > Null || s.Kind != Simple && rank != 0 {
			return s, d.corrupt("kind %d of rank %d", kind, rank)
		}
	default:
		return s, d.corruptAt(0, "version is %d", version)
	}
	if rank > maxRank {
		return s, d.corrupt("rank %d", rank)
	}
	if s.Kind != Simple {
		return s, d.err()
	}
	s.Dims, s.MaxDims = make([]int64, rank), make([]int64, rank)
	for i := range s.Dims {
		v := d.length()
		if v > math.MaxInt64 {
			return s, d.corrupt("size %d", v)
		}
		s.Dims[i] = int64(v)
	}
	copy(s.MaxDims, s.Dims)
	if flags&1 != 0 {
		for i := range s.MaxDims {
			v := d.length()
			switch {
			case v == math.MaxUint64>>(64-8*f.LengthSize):
				s.MaxDims[i] = Unlimited
			case v > math.MaxInt64 || int64(v) < s.Dims[i]:
				return s, d.corrupt("size %d, at most %d", s.Dims[i], v)
			default:
				s.MaxDims[i] = int64(v)
			}
		}
	}
	if err := d.err(); err != nil {
		return s, err
	}
	if _, ok := s.bytes(1); !ok {
		return s, d.corrupt("sizes %v overflow", s.Dims)
	}
	return s, nil
}

// bytes is the size of the elements; ok is false when it exceeds an int64.
func (s *Space) bytes(element int) (n int64, ok bool) {
	if s.Kind == Null {
		return 0, true
	}
	n = int64(element)
	for _, d := range s.Dims {
		if d == 0 {
			return 0, true
		}
	}
	for _, d := range s.Dims {
		if n, ok = mulFits(n, d); !ok {
			return 0, false
		}
	}
	return n, true
}

// parseFill returns the fill value of messages 0x05 and 0x04; nil means zeros.
func (f *File) parseFill(m message, element int) ([]byte, error) {
	d := f.decode(m.data, m.at, "fill value")
	present := true
	if m.typ == msgFill {
		switch version := d.u8(); version {
		case 1, 2:
			d.skip(2)
			present = d.u8() != 0
		case 3:
			flags := d.u8()
			present = flags&(1<<5) != 0
		default:
			return nil, d.corruptAt(0, "version is %d", version)
		}
	}
	if !present {
		return nil, d.err()
	}
	n := d.u32()
	if n == 0 || n == math.MaxUint32 { // -1: undefined
		return nil, d.err()
	}
	if int64(n) != int64(element) {
		return nil, d.corrupt("%d bytes for elements of %d", n, element)
	}
	v := d.bytes(int(n))
	return append([]byte(nil), v...), d.err()
}

// parseFilters parses a filter pipeline message.
//
//	v1: u8 1, u8 n, 6 reserved, n x { id, name length, flags, count: u16 | name | count x u32 | 4 filler if odd }
//	v2: u8 2, u8 n, n x { id | [name length: id >= 256] | flags, count | [name] | count x u32 }
func (f *File) parseFilters(b []byte, at int64) ([]Filter, error) {
	d := f.decode(b, at, "filter pipeline")
	version, n := d.u8(), int(d.u8())
	if version == 1 {
		d.skip(6)
	} else if version != 2 {
		return nil, d.corruptAt(0, "version is %d", version)
	}
	if n > 32 {
		return nil, d.corrupt("%d filters", n)
	}
	filters := make([]Filter, n)
	for i := range filters {
		p := &filters[i]
		if p.ID = d.u16(); p.ID == 0 || p.ID > 6 && p.ID < 256 { // the library's own
			return nil, d.corrupt("filter %d", p.ID)
		}
		name := 0
		if version == 1 || p.ID >= 256 {
			name = int(d.u16())
		}
		p.Optional = d.u16()&1 != 0
		count := int(d.u16())
		p.Name = untilNUL(d.bytes(name))
		if of := filterIDs[p.Name]; of != 0 && of != p.ID {
			return nil, d.corrupt("filter %d has the name of %d, %q", p.ID, of, p.Name)
		}
		values := d.bytes(4 * count)
		if err := d.err(); err != nil {
			return nil, err
		}
		p.Values = make([]uint32, count)
		for j := range p.Values {
			p.Values[j] = uint32(leUint(values[4*j : 4*j+4]))
		}
		if version == 1 && count%2 == 1 {
			d.skip(4)
		}
	}
	return filters, d.err()
}

// filterIDs are those of the library's filters, by name.
var filterIDs = map[string]uint16{"deflate": 1, "shuffle": 2, "fletcher32": 3, "szip": 4, "nbit": 5, "scaleoffset": 6}

// parseExternal parses an external file list: u8 1, 3 reserved, u16 allocated, u16
// used, local heap, used x { name offset, offset, size }.
func (f *File) parseExternal(b []byte, at int64) ([]ExternalFile, error) {
	d := f.decode(b, at, "external file list")
	if err := d.version(1); err != nil {
		return nil, err
	}
	d.skip(5)
	n := int(d.u16())
	heapAddr := d.addr()
	if err := d.err(); err != nil {
		return nil, err
	}
	heap, err := f.openLocalHeap(heapAddr)
	if err != nil {
		return nil, err
	}
	if n > d.rest()/(3*f.LengthSize) {
		return nil, d.corrupt("%d files in %d bytes", n, d.rest())
	}
	files := make([]ExternalFile, n)
	for i := range files {
		name, off, size := d.length(), d.length(), d.length()
		if files[i].Name, err = heap.text(name); err != nil {
			return nil, err
		}
		if off > math.MaxInt64 {
			return nil, d.corrupt("file %q from byte %d", files[i].Name, off)
		}
		files[i].Offset, files[i].Size = int64(off), int64(size)
		if size >= math.MaxUint64>>(64-8*f.LengthSize) {
			files[i].Size = -1
		} else if size > math.MaxInt64 {
			return nil, d.corrupt("%d bytes of file %q", size, files[i].Name)
		}
	}
	return files, d.err()
}
