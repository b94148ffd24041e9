package h5

import (
	"cmp"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/btree"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// dense lists the links in the fractal heap of a link info message, if there is
// one: u8 0, u8 flags, [u64: bit 0], O heap, O name B-tree.
func (g *groupLister) dense(m message) error {
	d := g.f.Decode(m.data, m.at, "link info message")
	if err := d.Version(0); err != nil {
		return err
	}
	if d.U8()&1 != 0 {
		d.Skip(8)
	}
	heapAddr, tree := d.Addr(), d.Addr()
	if err := d.Err(); err != nil || heapAddr == meta.Undefined {
		return err
	}
	return g.f.denseObjects(heapAddr, tree, linkIndex, g.bad, func(b []byte, at int64, _ []byte) error {
		l, err := g.f.parseLink(b, at)
		if err != nil {
			return g.bad(err)
		}
		return g.add(l)
	})
}

// nameIndex is a B-tree of what has a name in a group or an object: its records have the heap ID
// of idSize bytes at idAt.
type nameIndex struct {
	kind         uint8
	idAt, idSize int
}

// maxRecord is the length of the longest record.
const maxRecord = 17

var (
	linkIndex      = nameIndex{btree.RecLink, 4, 7}      // hash, heap ID
	attributeIndex = nameIndex{btree.RecAttribute, 0, 8} // heap ID, message flags, creation order, hash
)

// flagsAt is where a record of an attribute has the flags of its message.
const flagsAt = 8

// denseObjects calls fn for the heap object of each record of a name index. Objects are fetched
// in the order of their place in the heap, so that each block is read once.
func (f *File) denseObjects(heapAddr, tree int64, x nameIndex, bad func(error) error, fn func(b []byte, at int64, rec []byte) error) error {
	h, err := f.heaps.At(f.File, heapAddr)
	if err != nil {
		return err
	}
	type entry struct {
		key uint64
		rec [maxRecord]byte
	}
	var ids []entry
	err = btree.WalkV2(f.File, tree, []uint8{x.kind}, func(_ uint8, rec []byte) error {
		if len(rec) < x.idAt+x.idSize || len(rec) > maxRecord {
			return shardify.Corrupt(tree, "B-tree records of %d bytes", len(rec))
		}
		var e entry
		copy(e.rec[:], rec)
		ids = append(ids, e)
		return nil
	})
	if err != nil {
		bad(err)
	}
	for i := range ids {
		ids[i].key = h.Place(ids[i].rec[x.idAt : x.idAt+x.idSize])
	}
	slices.SortFunc(ids, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	for i := range ids {
		rec := ids[i].rec[:]
		if x.kind == btree.RecAttribute && rec[flagsAt]&flagShared != 0 { // not in this heap
			if err := fn(nil, -1, rec); err != nil {
				return err
			}
			continue
		}
		b, err := h.Object(rec[x.idAt : x.idAt+x.idSize])
		if err == nil {
			err = fn(b, -1, rec)
			if err != nil {
				return err
			}
			continue
		}
		if err := bad(err); err != nil {
			return err
		}
	}
	return nil
}

// parseLink parses a link message: u8 1, u8 flags, [u8 kind: bit 3], [u64 creation
// order: bit 2], [u8 charset: bit 4], name length in 1 to 8 bytes (bits 0-1), name,
// target.
func (f *File) parseLink(b []byte, at int64) (Link, error) {
	d := f.Decode(b, at, "link")
	l := Link{Addr: meta.Undefined}
	if err := d.Version(1); err != nil {
		return l, err
	}
	flags := d.U8()
	if flags&(1<<3) != 0 {
		l.Kind = linkKind(d.U8())
	}
	if flags&(1<<2) != 0 {
		d.Skip(8)
	}
	if flags&(1<<4) != 0 {
		d.Skip(1)
	}
	n := d.Uint(1 << (flags & 3))
	if n > uint64(d.Rest()) || n == 0 {
		return l, d.Corrupt("name of %d bytes", n)
	}
	l.Name = string(d.Bytes(int(n)))
	switch {
	case l.Kind == HardLink:
		l.Addr = d.Addr()
	case l.Kind == SoftLink:
		l.Target = string(d.Bytes(int(d.U16())))
	case l.Kind == ExternalLink:
		body := d.Bytes(int(d.U16()))
		e := f.Decode(body, -1, "external link")
		l.Err = externalTarget(&e, &l)
	case l.Kind < ExternalLink:
		l.Err = d.Corrupt("link of kind %d", l.Kind)
	}
	return l, d.Err()
}

func externalTarget(d *meta.Decoder, l *Link) (err error) {
	d.Skip(1)
	if l.File, err = d.Text(); err != nil {
		return err
	}
	l.Target, err = d.Text()
	return err
}
