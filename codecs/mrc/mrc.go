// Package mrc parses the headers of MRC2014 files: volumes and stacks of images of electron microscopes.
package mrc

import (
	"encoding/binary"
	"math"

	"github.com/shardify/shardify"
)

// Bytes is the size of a header.
const Bytes = 1024

// Header is what the header of a file says.
type Header struct {
	Big     bool
	Guessed bool // the byte order: no machine stamp says it
	// NX is the number of columns, NY of rows, NZ of sections.
	NX, NY, NZ int
	MZ         int // sections of a volume, of a stack of volumes
	Mode       int
	DType      shardify.DType
	Complex    bool
	Group      int   // ISPG
	Offset     int64 // of the first value
	// Spacing is that of x, y and z in Angstrom, 0 where the header does not say it.
	Spacing [3]float64
	Origin  [3]float64
	Axes    [3]int // which axis columns, rows and sections are: 1, 2, 3 for x, y, z
}

// Stack reports whether the sections are images, not the slices of a volume.
func (h *Header) Stack() bool { return h.Group == 0 }

// Volumes is how many volumes are in a stack of them, 0 for other files.
func (h *Header) Volumes() int {
	if h.Group < 401 || h.Group > 630 {
		return 0
	}
	return h.NZ / h.MZ
}

var types = map[int]shardify.DType{0: shardify.I8, 1: shardify.I16, 2: shardify.F32, 4: shardify.F32, 6: shardify.U16, 12: shardify.F16}

// otherModes are those that are not read.
var otherModes = map[int]string{3: "complex numbers of 16 bits", 101: "4 bits a value"}

// Is reports whether a file begins as MRC2014 does.
func Is(head []byte) bool { return len(head) >= 212 && string(head[208:212]) == "MAP " }

// mostBytes bounds what dimensions may ask for, so that products do not overflow.
const mostBytes = 1 << 52

// Parse parses the first bytes of a file, which are fewer than Bytes only where it ends.
func Parse(b []byte) (*Header, error) {
	if len(b) < Bytes {
		return nil, shardify.Corrupt(int64(len(b)), "the file ends within the header, after %d of %d bytes", len(b), Bytes)
	}
	if !Is(b) {
		return nil, shardify.Hint(shardify.Corrupt(208, "%q, where files of MRC2014 have \"MAP \"", b[208:212]), "if it is older, write it again in Python: mrcfile.write('OUT.mrc', mrcfile.open('IN.mrc', permissive=True).data)")
	}
	h := &Header{}
	order, err := h.order(b)
	if err != nil {
		return nil, err
	}
	i32 := func(at int) int { return int(int32(order.Uint32(b[at:]))) }
	f32 := func(at int) float64 { return float64(math.Float32frombits(order.Uint32(b[at:]))) }
	h.NX, h.NY, h.NZ, h.Mode, h.Group = i32(0), i32(4), i32(8), i32(12), i32(88)
	t, ok := types[h.Mode]
	switch name := otherModes[h.Mode]; {
	case name != "":
		return nil, shardify.Unsupported("mode %d (%s)", h.Mode, name)
	case !ok:
		return nil, shardify.Corrupt(12, "mode %d, which MRC does not have", h.Mode)
	}
	h.DType, h.Complex = t, h.Mode == 4
	size := int64(8)
	for i, n := range []int{h.NX, h.NY, h.NZ} {
		if n < 1 {
			return nil, shardify.Corrupt(int64(4*i), "N%c is %d", 'X'+i, n)
		}
		if size > mostBytes/int64(n) {
			return nil, shardify.Corrupt(0, "%d x %d x %d values are more than a file has", h.NX, h.NY, h.NZ)
		}
		size *= int64(n)
	}
	if h.MZ = i32(36); h.Group >= 401 && h.Group <= 630 && (h.MZ < 1 || h.NZ%h.MZ != 0) {
		return nil, shardify.Corrupt(36, "a stack of volumes of %d sections each, with %d sections in all", h.MZ, h.NZ)
	}
	extended := i32(92)
	if extended < 0 {
		return nil, shardify.Corrupt(92, "an extended header of %d bytes", extended)
	}
	h.Offset = Bytes + int64(extended)
	seen := 0
	for i := range 3 {
		if m := i32(28 + 4*i); m > 0 {
			h.Spacing[i] = f32(40+4*i) / float64(m)
		}
		h.Origin[i] = f32(196 + 4*i)
		if h.Axes[i] = i32(64 + 4*i); h.Axes[i] >= 1 && h.Axes[i] <= 3 {
			seen |= 1 << h.Axes[i]
		}
	}
	if seen != 1<<1|1<<2|1<<3 {
		return nil, shardify.Corrupt(64, "MAPC, MAPR and MAPS are %v; want each of 1, 2, 3 once", h.Axes)
	}
	return h, nil
}

// order finds the byte order: by the machine stamp, else by the mode.
func (h *Header) order(b []byte) (binary.ByteOrder, error) {
	switch stamp := [2]byte{b[212], b[213]}; stamp {
	case [2]byte{0x44, 0x44}, [2]byte{0x44, 0x41}:
		return binary.LittleEndian, nil
	case [2]byte{0x11, 0x11}:
		h.Big = true
		return binary.BigEndian, nil
	case [2]byte{}:
		little, big := binary.LittleEndian.Uint32(b[12:]), binary.BigEndian.Uint32(b[12:])
		if h.Guessed = true; (little <= 12) != (big <= 12) {
			if h.Big = big <= 12; h.Big {
				return binary.BigEndian, nil
			}
			return binary.LittleEndian, nil
		}
	}
	return nil, shardify.Corrupt(212, "the machine stamp %x, which says no byte order", b[212:216])
}
