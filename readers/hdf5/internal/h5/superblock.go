package h5

import (
	"errors"
	"math"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Superblock: the signature at 0 or 512, 1024, 2048, ... is the base of every
// address.
//
//	versions 0, 1                            versions 2, 3
//	 8 u8  version                            8 u8 version
//	 9 u8  free-space, root entry, reserved   9 u8 offset size O
//	12 u8  shared-header version             10 u8 length size L
//	13 u8  O, u8 L, reserved                 11 u8 flags
//	16 u16 leaf K, u16 internal K            12 O  base
//	20 u32 flags                                O  extension
//	   u16 chunk K, reserved (version 1)        O  end of file
//	   O   base, free space, end, driver        O  root header
//	   root symbol table entry                  u32 lookup3
const signature = "\x89HDF\r\n\x1a\n"

func (f *File) readSuperblock() error {
	f.GroupLeafK, f.GroupInternalK, f.ChunkK = 4, 16, 32
	f.EOF = math.MaxInt64 // not known yet
	f.Base = -1
	for at := int64(0); at <= f.Size()-8; at = max(512, at*2) {
		b, err := f.Bytes(at, 8)
		if err != nil {
			return err
		}
		if string(b) == signature {
			f.Base = at
			break
		}
	}
	if f.Base < 0 {
		if b, err := f.Bytes(0, int(min(4, f.Size()))); err == nil && strings.HasPrefix(string(b), "CDF") {
			return shardify.Mismatch("it is netCDF-3, not HDF5: --from netcdf3 reads it")
		}
		return shardify.Corrupt(-1, "no HDF5 signature")
	}
	b, err := f.ViewUpTo(f.Base, 160, "superblock")
	if err != nil {
		return err
	}
	d := f.Decode(b, f.Base, "superblock")
	d.Skip(8)
	f.Version = int(d.U8())
	switch f.Version {
	case 0, 1:
		return f.superblock01(&d)
	case 2, 3:
		return f.superblock23(&d)
	}
	return shardify.Unsupported("superblock version %d", f.Version)
}

func (f *File) setSizes(d *meta.Decoder, o, l uint8) error {
	ok := func(n uint8) bool { return n == 2 || n == 4 || n == 8 }
	if !ok(o) || !ok(l) {
		return d.Corrupt("offset size %d, length size %d", o, l)
	}
	f.OffsetSize, f.LengthSize = int(o), int(l)
	return nil
}

func (f *File) superblock01(d *meta.Decoder) error {
	for _, of := range []string{"free space", "the root's entry", "the byte behind it", "shared headers"} {
		if v := d.U8(); v != 0 {
			return d.CorruptAt(d.Pos-1, "version of %s is %d, not 0", of, v)
		}
	}
	if err := f.setSizes(d, d.U8(), d.U8()); err != nil {
		return err
	}
	d.Skip(1)
	f.GroupLeafK, f.GroupInternalK = int(d.U16()), int(d.U16())
	f.Flags = d.U32()
	if f.Version == 1 {
		f.ChunkK = int(d.U16())
		d.Skip(2)
	}
	base := d.Uint(f.OffsetSize)
	d.Addr() // free space
	eof := d.Uint(f.OffsetSize)
	driver := d.Addr()
	d.Length() // name of the root entry
	f.Root = d.Addr()
	kind := d.U32()
	if err := d.Err(); err != nil {
		return err
	}
	if f.Flags > 7 {
		return d.Corrupt("flags %#x", f.Flags)
	}
	if kind > 2 {
		return d.Corrupt("root entry with a cache of kind %d", kind)
	}
	if f.GroupLeafK == 0 || f.GroupInternalK == 0 || f.ChunkK == 0 {
		return d.Corrupt("a B-tree K of 0")
	}
	short := f.setEOF(base, eof)
	if driver == meta.Undefined {
		return short
	}
	b, err := f.View(driver, 16, "driver info")
	if err == nil {
		err = refuseDriver(string(b[8:16]))
	}
	// A piece of a file is shorter than the whole: say the better reason.
	if short != nil && !errors.Is(err, shardify.ErrUnsupported) {
		return short
	}
	return err
}

func (f *File) superblock23(d *meta.Decoder) error {
	if err := f.setSizes(d, d.U8(), d.U8()); err != nil {
		return err
	}
	f.Flags = uint32(d.U8())
	base := d.Uint(f.OffsetSize)
	ext := d.Addr()
	eof := d.Uint(f.OffsetSize)
	f.Root = d.Addr()
	if err := d.Checksum(); err != nil {
		return err
	}
	short := f.setEOF(base, eof)
	var err error
	if ext != meta.Undefined {
		err = f.readExtension(ext)
	}
	if short != nil && !errors.Is(err, shardify.ErrUnsupported) {
		return short
	}
	if err == nil && f.Version == 3 && f.Flags&5 != 0 {
		f.Warn("not closed", "the file was not closed by its writer, or is being written: what is read may be incomplete")
	}
	return err
}

// setEOF takes the recorded end. The stored base may be wrong (a user block was
// added or cut off); the end moves by the same difference.
func (f *File) setEOF(base, eof uint64) error {
	if base > eof || eof-base > uint64(math.MaxInt64-f.Base) {
		return shardify.Corrupt(f.Base, "superblock: end of file %d, base %d", eof, base)
	}
	f.EOF = int64(eof-base) + f.Base
	if f.Size() < f.EOF {
		return shardify.Corrupt(f.Size(), "truncated: the file has %d bytes and should have %d", f.Size(), f.EOF)
	}
	return nil
}

func refuseDriver(id string) error {
	switch id {
	case "NCSAfami", "NCSAmult":
		return shardify.Unsupported("the file is one piece of several (driver %s); join them with h5repart or h5repack", id)
	}
	return nil
}

// readExtension reads the superblock extension, an object header.
func (f *File) readExtension(addr int64) error {
	msgs, err := f.readHeader(addr)
	if err != nil {
		return err
	}
	for _, m := range msgs {
		d := f.Decode(m.data, m.at, "superblock extension")
		switch m.typ {
		case msgKValues:
			d.Skip(1)
			f.ChunkK, f.GroupInternalK, f.GroupLeafK = int(d.U16()), int(d.U16()), int(d.U16())
			if f.ChunkK == 0 || f.GroupInternalK == 0 || f.GroupLeafK == 0 {
				return d.Corrupt("a B-tree K of 0")
			}
		case msgSharedTable:
			d.Skip(1)
			table, n := d.Addr(), int(d.U8())
			if err := d.Err(); err != nil {
				return err
			}
			if err := f.readSharedTable(table, n); err != nil {
				return err
			}
		case msgDriver:
			d.Skip(1)
			if err := refuseDriver(string(d.Bytes(8))); err != nil {
				return err
			}
		case msgCacheImage:
			return shardify.Unsupported("the file holds a metadata cache image; h5repack makes one without")
		}
		if err := d.Err(); err != nil {
			return err
		}
	}
	return nil
}
