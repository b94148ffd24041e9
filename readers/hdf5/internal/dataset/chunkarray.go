package dataset

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// chunkArray adds the elements of a fixed or extensible array to the table.
type chunkArray struct {
	d       *Dataset
	b       *tableBuilder
	m       *maximal
	f       *meta.File
	client  uint8 // 0 plain, 1 filtered
	element int
	width   int // of the stored size
	header  int64
	taken   int64 // bytes of elements read; blocks that overlap could go on for ever
}

// elementSize checks the element size against the client: O address, [stored size,
// u32 mask].
func (a *chunkArray) elementSize(d *meta.Decoder, client, element uint8) error {
	a.client, a.element = client, int(element)
	if client > 1 {
		return d.Corrupt("client %d", client)
	}
	a.width = a.element - a.f.OffsetSize - 4
	if client == 0 && a.element != a.f.OffsetSize || client == 1 && (a.width < 1 || a.width > 8) {
		return d.Corrupt("elements of %d bytes for client %d", element, client)
	}
	return nil
}

// add takes the elements in e, the first of which has number i.
func (a *chunkArray) add(i int64, e []byte) error {
	o := a.f.OffsetSize
	if a.taken += int64(len(e)); a.taken > a.f.Size() {
		return shardify.Corrupt(a.header, "chunk index of more bytes than the file")
	}
	for ; len(e) >= a.element; e = e[a.element:] {
		n, ok := a.m.number(i)
		i++
		if !ok {
			continue
		}
		addr := a.f.Offset(e[:o])
		if addr == meta.Undefined {
			continue
		}
		size, mask := a.d.Layout.ChunkBytes, uint32(0)
		if a.client == 1 {
			size, mask = a.d.chunkFields(e[o:], a.width)
		}
		if err := a.b.add(n, addr, size, mask); err != nil {
			return err
		}
	}
	return nil
}

// page reads n elements and the lookup3 behind them.
func (a *chunkArray) page(addr, i, n int64, what string) error {
	size := n * int64(a.element)
	b, err := a.f.View(addr, size+4, what)
	if err != nil {
		return err
	}
	d := a.f.Decode(b, addr, what)
	d.Skip(int(size))
	if err := d.Checksum(); err != nil {
		return err
	}
	return a.add(i, b[:size])
}

// open reads the start of a block: magic, u8 0, u8 client, O header address.
func (a *chunkArray) open(addr, size int64, magic, what string) (meta.Decoder, error) {
	b, err := a.f.View(addr, size, what)
	if err != nil {
		return meta.Decoder{}, err
	}
	d := a.f.Decode(b, addr, what)
	if err := d.Magic(magic); err != nil {
		return d, err
	}
	if err := d.Version(0); err != nil {
		return d, err
	}
	if c := d.U8(); c != a.client {
		return d, d.Corrupt("client %d, the header has %d", c, a.client)
	}
	if h := d.Addr(); h != a.header {
		return d, d.Corrupt("belongs to the header at %d, not %d", h, a.header)
	}
	return d, nil
}

// bit reports whether bit i of b is set, most significant first.
func bit(b []byte, i int64) bool { return b[i/8]&(0x80>>(i%8)) != 0 }

// whole reads a block whose checksum covers its start and its n elements.
func (a *chunkArray) whole(addr, start, i, n int64, what string) error {
	size := start + n*int64(a.element)
	b, err := a.f.View(addr, size+4, what)
	if err != nil {
		return err
	}
	d := a.f.Decode(b, addr, what)
	d.Skip(int(size))
	if err := d.Checksum(); err != nil {
		return err
	}
	return a.add(i, b[start:size])
}
