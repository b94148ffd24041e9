package index

import (
	"encoding/binary"
	"io"

	"github.com/shardify/shardify"
)

// CheckTensor reads tensor i of a shard through buf (1 MiB is a good size) and
// checks its CRC-32C, and what its values promise: offsets begin at 0, never
// fall and end at the count of what they index; BOOL is 0 or 1.
func (s *MmapShard) CheckTensor(r io.ReaderAt, i int, buf []byte) error {
	t, spec := &s.Places[i], &s.Tensors[i]
	buf = buf[:len(buf)&^7]
	values := valueCheck{want: -1}
	if spec.Lead == LeadOffsets || spec.Lead == LeadLists {
		values.want = s.Indexed(i)
	}
	crc := uint32(0)
	for at := t.Lo; at < t.Hi; {
		b := buf[:min(int64(len(buf)), t.Hi-at)]
		if err := ReadFull(r, b, at); err != nil {
			return shardify.Annotate(err, "", "", t.Name)
		}
		crc = CRC32C(crc, b)
		if spec.DType == shardify.Bool {
			values.bools(b, at)
		} else if values.want >= 0 {
			values.offsets(b, at)
		}
		at += int64(len(b))
	}
	if crc != s.CRC32C[i] {
		return shardify.Annotate(shardify.Corrupt(t.Lo, "crc32c of bytes [%d, %d) is %08x, stored %08x", t.Lo, t.Hi, crc, s.CRC32C[i]), "", "", t.Name)
	}
	if values.want >= 0 && values.err == nil && values.last != values.want {
		values.err = shardify.Corrupt(t.Hi-8, "offsets end at %d, there are %d", values.last, values.want)
	}
	return shardify.Annotate(values.err, "", "", t.Name)
}

// Indexed is the count that offsets tensor i must end at.
func (s *MmapShard) Indexed(i int) int64 {
	c := s.ColumnOf(i)
	if c.Offsets1 == i {
		return s.Counts[c.Values]
	}
	return s.Items(c)
}

// valueCheck keeps the first fault, with its place.
type valueCheck struct {
	want, last int64 // offsets: the count indexed; the last one seen
	begun      bool
	err        error
}

func (v *valueCheck) offsets(b []byte, at int64) {
	for i := 0; i < len(b) && v.err == nil; i += 8 {
		o := int64(binary.LittleEndian.Uint64(b[i:]))
		if o < v.last || !v.begun && o != 0 {
			v.err = shardify.Corrupt(at+int64(i), "offset %d after %d", o, v.last)
		}
		v.last, v.begun = o, true
	}
}

func (v *valueCheck) bools(b []byte, at int64) {
	for i, c := range b {
		if c > 1 && v.err == nil {
			v.err = shardify.Corrupt(at+int64(i), "bool with value %d", c)
			return
		}
	}
}
