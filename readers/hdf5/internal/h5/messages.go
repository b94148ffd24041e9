package h5

import (
	"math"
)

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
	names, err := f.openLocalHeap(heapAddr)
	if err != nil {
		return nil, err
	}
	if n > d.rest()/(3*f.LengthSize) {
		return nil, d.corrupt("%d files in %d bytes", n, d.rest())
	}
	files := make([]ExternalFile, n)
	for i := range files {
		name, off, size := d.length(), d.length(), d.length()
		if files[i].Name, err = names.text(name); err != nil {
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
