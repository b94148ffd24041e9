package h5

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// sharedIndex is one index of the shared-message table. Its list or B-tree serves
// writers; a reader needs the heap alone.
type sharedIndex struct {
	types uint16 // bit t: holds messages of type t
	heap  int64
}

// sharedBody follows a message that is a pointer to its body.
//
//	v1: u8 1, u8 kind, 6 reserved, length, object header
//	v2: u8 2, u8 kind, object header
//	v3: u8 3, u8 kind; 1: 8-byte heap ID, else object header
//
// committed is the header the body was found in, Undefined for the heap.
func (f *File) sharedBody(m message) (body message, committed int64, err error) {
	d := f.Decode(m.data, m.at, "shared message")
	version, kind := d.U8(), d.U8()
	switch version {
	case 1:
		d.Skip(6)
		d.Length()
	case 2:
	case 3:
		if kind == 1 {
			id := d.Bytes(8)
			if err := d.Err(); err != nil {
				return m, meta.Undefined, err
			}
			b, err := f.sharedObject(m.typ, id)
			return message{typ: m.typ, at: -1, data: b}, meta.Undefined, err
		}
	default:
		return m, meta.Undefined, d.CorruptAt(0, "version is %d", version)
	}
	addr := d.Addr()
	if err := d.Err(); err != nil {
		return m, meta.Undefined, err
	}
	msgs, err := f.readHeader(addr)
	if err != nil {
		return m, meta.Undefined, err
	}
	for _, x := range msgs {
		if x.typ == m.typ {
			if x.flags&flagShared != 0 {
				return m, meta.Undefined, shardify.Corrupt(x.at, "shared message that points to a shared message")
			}
			return x, addr, nil
		}
	}
	return m, meta.Undefined, d.Corrupt("the object at %d has no message of type %#x", addr, m.typ)
}

// sharedObject fetches a message body from the shared-message heap of its type.
func (f *File) sharedObject(typ uint16, id []byte) ([]byte, error) {
	for _, x := range f.sohm {
		if x.types&(1<<typ) == 0 {
			continue
		}
		h, err := f.heaps.At(f.File, x.heap)
		if err != nil {
			return nil, err
		}
		return h.Object(id)
	}
	return nil, shardify.Corrupt(-1, "no shared-message index for messages of type %#x", typ)
}

// readSharedTable reads the shared-message table: "SMTB", per index u8 0, u8 kind,
// u16 message types, u32 min size, u16 list cutoff, u16 B-tree cutoff, u16
// messages, O index, O heap; then a lookup3.
func (f *File) readSharedTable(addr int64, n int) error {
	b, err := f.View(addr, 4+int64(n)*int64(14+2*f.OffsetSize)+4, "shared-message table")
	if err != nil {
		return err
	}
	d := f.Decode(b, addr, "shared-message table")
	if err := d.Magic("SMTB"); err != nil {
		return err
	}
	for range n {
		if err := d.Version(0); err != nil {
			return err
		}
		d.Skip(1)
		types := d.U16()
		d.Skip(10)
		d.Addr()
		f.sohm = append(f.sohm, sharedIndex{types, d.Addr()})
	}
	return d.Checksum()
}
