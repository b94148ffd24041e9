package h5

// Filter is one step of the filter pipeline, in the order of writing.
type Filter struct {
	ID       uint16
	Optional bool
	Name     string
	Values   []uint32 // client data
}

// parseFilters parses a filter pipeline message.
//
//	v1: u8 1, u8 n, 6 reserved, n x { id, name length, flags, count: u16 | name | count x u32 | 4 filler if odd }
//	v2: u8 2, u8 n, n x { id | [name length: id >= 256] | flags, count | [name] | count x u32 }
func (f *MetaFile) parseFilters(b []byte, at int64) ([]Filter, error) {
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

// filterDeflate is the ID of the filter that heaps have.
const filterDeflate = 1

// filterIDs are those of the library's filters, by name.
var filterIDs = map[string]uint16{"deflate": filterDeflate, "shuffle": 2, "fletcher32": 3, "szip": 4, "nbit": 5, "scaleoffset": 6}
