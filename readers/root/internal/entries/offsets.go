package entries

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/root/internal/ttree"
)

// ends fills d.offs with the offsets of entries [from, to] of a basket, counted
// in its data, and returns them.
func (d *Decoder) ends(b *ttree.Basket, from, to int) ([]int32, error) {
	if b.Generated {
		return d.made(b, from, to)
	}
	var err error
	if d.offs, err = b.Offsets(d.offs); err != nil {
		return nil, err
	}
	if int(d.offs[to]) > len(b.Data) {
		return nil, shardify.Corrupt(-1, "entries up to byte %d of %d", d.offs[to], len(b.Data))
	}
	return d.offs[from : to+1], nil
}

// made makes offsets from counts, for a basket that has none.
func (d *Decoder) made(b *ttree.Basket, from, to int) ([]int32, error) {
	if d.Reading.layout != layoutJagged || d.Reading.Counts == nil {
		return nil, shardify.Unsupported("basket without offsets, and no counts to make them from")
	}
	f := &d.Reading.fields[0]
	d.offs = append(d.offs[:0], 0)
	at := int64(0)
	for i := range to {
		n := d.count(b.First + int64(i))
		if n < 0 || n > int64(len(b.Data)) {
			return nil, shardify.Corrupt(-1, "entry %d of the basket has %d elements, its data are %d bytes", i, n, len(b.Data))
		}
		at += n*int64(f.wire.Size*f.per) + int64(d.Reading.head)
		if at > int64(len(b.Data)) {
			return nil, shardify.Corrupt(-1, "counts ask for %d bytes, the basket has %d", at, len(b.Data))
		}
		d.offs = append(d.offs, int32(at))
	}
	if to == b.Entries && at != int64(len(b.Data)) {
		return nil, shardify.Corrupt(-1, "counts ask for %d bytes, the basket has %d", at, len(b.Data))
	}
	return d.offs[from : to+1], nil
}

// counted decodes a basket of bare values whose offsets are what the counts say,
// without writing them out. ok is false if they are not, or cannot be compared so.
func (d *Decoder) counted(b *ttree.Basket, from, to int) (ok bool) {
	raw, bias, plain := b.Plain()
	if d.lengths.Lists == nil || d.Reading.head != 0 || !plain || !d.m.want[0] {
		return false
	}
	f := &d.Reading.fields[0]
	size := int64(f.wire.Size * f.per)
	at := b.First + int64(from) - d.lo
	list := d.lengths.Lists[at : at+int64(to-from)+1]
	begin := int64(binary.BigEndian.Uint32(raw[4*from:])) - int64(bias)
	end := int64(len(b.Data))
	if to < b.Entries {
		end = int64(binary.BigEndian.Uint32(raw[4*to:])) - int64(bias)
	}
	n := list[len(list)-1] - list[0]
	if n > (1<<31)/size || begin < 0 || end > int64(len(b.Data)) || end-begin != n*size || from == 0 && begin != 0 {
		return false
	}
	// Offset i must be begin + bias + (list[i]-list[0])*size, in 32 bits.
	add := uint32(begin) + uint32(bias) - uint32(list[0]*size)
	if differ(raw[4*from:4*to], list, uint32(size), add) != 0 {
		return false
	}
	out := &d.m.outs[0]
	d.hint(int(n) * out.elem)
	f.wire.Decode(out.room(int(n)), b.Data[begin:end])
	return true
}

// differ is 0 if each 4-byte value of raw is list[i]*size + add, in 32 bits.
func differ(raw []byte, list []int64, size, add uint32) (bits uint32) {
	i := 0
	for ; len(raw) >= 16 && i+4 <= len(list); i += 4 {
		l, r := list[i:i+4:i+4], raw[:16:16]
		bits |= binary.BigEndian.Uint32(r) ^ (uint32(l[0])*size + add)
		bits |= binary.BigEndian.Uint32(r[4:]) ^ (uint32(l[1])*size + add)
		bits |= binary.BigEndian.Uint32(r[8:]) ^ (uint32(l[2])*size + add)
		bits |= binary.BigEndian.Uint32(r[12:]) ^ (uint32(l[3])*size + add)
		raw = raw[16:]
	}
	for ; len(raw) >= 4; i++ {
		bits |= binary.BigEndian.Uint32(raw) ^ (uint32(list[i])*size + add)
		raw = raw[4:]
	}
	return bits
}
