package heap

import "github.com/shardify/shardify/readers/hdf5/internal/meta"

// Filter is one step of the filter pipeline, in the order of writing.
type Filter struct {
	ID       uint16
	Optional bool
	Name     string
	Values   []uint32 // client data
}

// ParseFilters parses a filter pipeline message.
//
//	v1: u8 1, u8 n, 6 reserved, n x { id, name length, flags, count: u16 | name | count x u32 | 4 filler if odd }
//	v2: u8 2, u8 n, n x { id | [name length: id >= 256] | flags, count | [name] | count x u32 }
func ParseFilters(f *meta.File, b []byte, at int64) ([]Filter, error) {
	d := f.Decode(b, at, "filter pipeline")
	version, n := d.U8(), int(d.U8())
	if version == 1 {
		d.Skip(6)
	} else if version != 2 {
		return nil, d.CorruptAt(0, "version is %d", version)
	}
	if n > 32 {
		return nil, d.Corrupt("%d filters", n)
	}
	filters := make([]Filter, n)
	for i := range filters {
		p := &filters[i]
		if p.ID = d.U16(); p.ID == 0 || p.ID > 6 && p.ID < 256 { // the library's own
			return nil, d.Corrupt("filter %d", p.ID)
		}
		name := 0
		if version == 1 || p.ID >= 256 {
			name = int(d.U16())
		}
		p.Optional = d.U16()&1 != 0
		count := int(d.U16())
		p.Name = meta.UntilNUL(d.Bytes(name))
		if of := filterIDs[p.Name]; of != 0 && of != p.ID {
			return nil, d.Corrupt("filter %d has the name of %d, %q", p.ID, of, p.Name)
		}
		values := d.Bytes(4 * count)
		if err := d.Err(); err != nil {
			return nil, err
		}
		p.Values = make([]uint32, count)
		for j := range p.Values {
			p.Values[j] = uint32(meta.Uint(values[4*j : 4*j+4]))
		}
		if version == 1 && count%2 == 1 {
			d.Skip(4)
		}
	}
	return filters, d.Err()
}

// filterDeflate is the ID of the filter that heaps have.
const filterDeflate = 1

// filterIDs are those of the library's filters, by name.
var filterIDs = map[string]uint16{"deflate": filterDeflate, "shuffle": 2, "fletcher32": 3, "szip": 4, "nbit": 5, "scaleoffset": 6}
