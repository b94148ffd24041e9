package h5

import (
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"math"
)

// parseFill returns the fill value of messages 0x05 and 0x04; nil means zeros.
func (f *File) parseFill(m message, element int) ([]byte, error) {
	d := f.Decode(m.data, m.at, "fill value")
	present := true
	if m.typ == msgFill {
		switch version := d.U8(); version {
		case 1, 2:
			d.Skip(2)
			present = d.U8() != 0
		case 3:
			flags := d.U8()
			present = flags&(1<<5) != 0
		default:
			return nil, d.CorruptAt(0, "version is %d", version)
		}
	}
	if !present {
		return nil, d.Err()
	}
	n := d.U32()
	if n == 0 || n == math.MaxUint32 { // -1: undefined
		return nil, d.Err()
	}
	if int64(n) != int64(element) {
		return nil, d.Corrupt("%d bytes for elements of %d", n, element)
	}
	v := d.Bytes(int(n))
	return append([]byte(nil), v...), d.Err()
}

// parseExternal parses an external file list: u8 1, 3 reserved, u16 allocated, u16
// used, local heap, used x { name offset, offset, size }.
func (f *File) parseExternal(b []byte, at int64) ([]dataset.ExternalFile, error) {
	d := f.Decode(b, at, "external file list")
	if err := d.Version(1); err != nil {
		return nil, err
	}
	d.Skip(5)
	n := int(d.U16())
	heapAddr := d.Addr()
	if err := d.Err(); err != nil {
		return nil, err
	}
	names, err := heap.OpenLocal(f.File, heapAddr)
	if err != nil {
		return nil, err
	}
	if n > d.Rest()/(3*f.LengthSize) {
		return nil, d.Corrupt("%d files in %d bytes", n, d.Rest())
	}
	files := make([]dataset.ExternalFile, n)
	for i := range files {
		name, off, size := d.Length(), d.Length(), d.Length()
		if files[i].Name, err = names.Text(name); err != nil {
			return nil, err
		}
		if off > math.MaxInt64 {
			return nil, d.Corrupt("file %q from byte %d", files[i].Name, off)
		}
		files[i].Offset, files[i].Size = int64(off), int64(size)
		if size >= math.MaxUint64>>(64-8*f.LengthSize) {
			files[i].Size = -1
		} else if size > math.MaxInt64 {
			return nil, d.Corrupt("%d bytes of file %q", size, files[i].Name)
		}
	}
	return files, d.Err()
}
