package dataset

import "github.com/shardify/shardify/readers/hdf5/internal/meta"

// indexFixed reads a fixed array.
//
//	"FAHD", u8 0, u8 client, u8 element size, u8 page bits p, L elements, O data block, u32 lookup3
//	"FADB", u8 0, u8 client, O header, up to 2^p elements, u32 lookup3
//	   or   ... page bitmap, u32 lookup3, pages of 2^p elements with a lookup3 each
func (ds *Dataset) indexFixed(b *tableBuilder) error {
	m, err := ds.maximalGrid(b, -1)
	if err != nil {
		return err
	}
	a := &chunkArray{d: ds, b: b, m: m, f: ds.File, header: ds.Layout.Addr}
	f := a.f
	head, err := f.View(a.header, int64(12+f.LengthSize+f.OffsetSize), "fixed array header")
	if err != nil {
		return err
	}
	d := f.Decode(head, a.header, "fixed array header")
	if err := d.Magic("FAHD"); err != nil {
		return err
	}
	if err := d.Version(0); err != nil {
		return err
	}
	client, element, pageBits := d.U8(), d.U8(), d.U8()
	n, block := d.Size(), d.Addr()
	if err := d.Checksum(); err != nil {
		return err
	}
	if err := a.elementSize(&d, client, element); err != nil {
		return err
	}
	if n != m.total || n > f.Size()/int64(a.element) || pageBits > 62 {
		return d.Corrupt("%d elements of %d bytes for %d chunks, page bits %d", n, a.element, m.total, pageBits)
	}
	b.expect(n)
	if block == meta.Undefined {
		return nil
	}
	start := int64(6 + f.OffsetSize)
	page := int64(1) << pageBits
	if n <= page {
		if _, err := a.open(block, start, "FADB", "fixed array block"); err != nil {
			return err
		}
		return a.whole(block, start, 0, n, "fixed array block")
	}
	pages := (n-1)/page + 1
	bitmap := (pages + 7) / 8
	d, err = a.open(block, start+bitmap+4, "FADB", "fixed array block")
	if err != nil {
		return err
	}
	present := d.Bytes(int(bitmap))
	if err := d.Checksum(); err != nil {
		return err
	}
	at := block + start + bitmap + 4
	for k := range pages {
		count := min(page, n-k*page)
		if bit(present, k) {
			if err := a.page(at, k*page, count, "fixed array page"); err != nil {
				return err
			}
		}
		at += page*int64(a.element) + 4
	}
	return nil
}
