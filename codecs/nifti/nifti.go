// Package nifti reads NIfTI-1 and NIfTI-2 files: their headers, of 348 and 540 bytes, and whole files in memory.
//
//	nifti.go   the header
//	decode.go  the values of a file
package nifti

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
)

// Bytes is how many bytes Parse needs: the longest header.
const Bytes = 540

// Sizes of the two headers: their first number.
const (
	size1 = 348
	size2 = 540
)

// Header is what the header of a file says.
type Header struct {
	Version int // 1 or 2
	Big     bool
	Pair    bool  // the values are in another file
	Dims    []int // first index fastest
	Type    Type
	Bits    int   // that the header gives to a value
	Offset  int64 // of the first value
	// Slope and Inter are the stored numbers; Scaled says whether they count.
	Slope, Inter float64
	Scaled       bool
	Spacing      []float64 // of each dimension
	Units        int
	qform, sform int
	qfac         float64
	quatern      [3]float64 // b, c, d
	qoffset      [3]float64
	srow         [3][4]float64
}

// Type is a type of values.
type Type struct {
	Name  string
	DType shardify.DType
	Parts int // values in a voxel: 2 of complex numbers, 3 or 4 of colours, else 0
}

var types = map[int]Type{
	2: {"uint8", shardify.U8, 0}, 4: {"int16", shardify.I16, 0}, 8: {"int32", shardify.I32, 0}, 16: {"float32", shardify.F32, 0},
	32: {"complex64", shardify.F32, 2}, 64: {"float64", shardify.F64, 0}, 128: {"RGB24", shardify.U8, 3}, 256: {"int8", shardify.I8, 0},
	512: {"uint16", shardify.U16, 0}, 768: {"uint32", shardify.U32, 0}, 1024: {"int64", shardify.I64, 0}, 1280: {"uint64", shardify.U64, 0},
	1792: {"complex128", shardify.F64, 2}, 2304: {"RGBA32", shardify.U8, 4},
}

// Complex reports whether a voxel is a complex number.
func (t *Type) Complex() bool { return t.Parts == 2 }

// otherTypes are those that are not read.
var otherTypes = map[int]string{1: "one bit a voxel", 1536: "float128", 2048: "complex256"}

// magics of each version: one file, and a pair.
var magics = map[string]bool{"n+1\x00": false, "ni1\x00": true, "n+2\x00\r\n\x1a\n": false, "ni2\x00\r\n\x1a\n": true}

// parser reads numbers of a header.
type parser struct {
	b     []byte
	order binary.ByteOrder
}

func (p *parser) i16(at int) int     { return int(int16(p.order.Uint16(p.b[at:]))) }
func (p *parser) i32(at int) int     { return int(int32(p.order.Uint32(p.b[at:]))) }
func (p *parser) i64(at int) int64   { return int64(p.order.Uint64(p.b[at:])) }
func (p *parser) f64(at int) float64 { return math.Float64frombits(p.order.Uint64(p.b[at:])) }
func (p *parser) f32(at int) float64 {
	return float64(math.Float32frombits(p.order.Uint32(p.b[at:])))
}

// Is reports whether a file begins as NIfTI does.
func Is(head []byte) bool {
	if len(head) < size1 {
		return false
	}
	_, one := magics[string(head[344:348])]
	_, two := magics[string(head[4:12])]
	return one || two
}

// Parse parses the first bytes of a file, which are fewer than Bytes only where it ends.
func Parse(b []byte) (*Header, error) {
	if len(b) < 4 {
		return nil, shardify.Corrupt(int64(len(b)), "the file ends within the header, after %d bytes", len(b))
	}
	p := &parser{b, binary.LittleEndian}
	size := p.i32(0)
	if size != size1 && size != size2 {
		p.order = binary.BigEndian
		if size = p.i32(0); size != size1 && size != size2 {
			return nil, shardify.Corrupt(0, "the header has a size of %d or %d, in one byte order or the other; want 348 or 540", binary.LittleEndian.Uint32(b), size)
		}
	}
	if len(b) < size {
		return nil, shardify.Corrupt(int64(len(b)), "the file ends within the header, after %d of %d bytes", len(b), size)
	}
	h := &Header{Version: 1, Big: p.order == binary.BigEndian}
	magic := b[344:348]
	if size == size2 {
		h.Version, magic = 2, b[4:12]
	}
	pair, ok := magics[string(magic)]
	switch {
	case !ok && h.Version == 1 && string(magic) == "\x00\x00\x00\x00":
		return nil, shardify.Hint(shardify.Unsupported("Analyze 7.5, which does not say which side is left"), "convert the files in Python: nibabel.save(nibabel.as_closest_canonical(nibabel.load(IN)), 'OUT.nii')")
	case !ok:
		return nil, shardify.Corrupt(int64(size1-4), "the header ends with %q, which is not the magic of NIfTI", magic)
	}
	h.Pair = pair
	if h.Version == 1 {
		return h, p.parse1(h)
	}
	return h, p.parse2(h)
}

func (p *parser) parse1(h *Header) error {
	var dims [8]int64
	var spacing [8]float64
	for i := range dims {
		dims[i], spacing[i] = int64(p.i16(40+2*i)), p.f32(76+4*i)
	}
	h.Slope, h.Inter = p.f32(112), p.f32(116)
	h.Bits, h.Units, h.qform, h.sform = p.i16(72), int(p.b[123]), p.i16(252), p.i16(254)
	for i := range 3 {
		h.quatern[i], h.qoffset[i] = p.f32(256+4*i), p.f32(268+4*i)
		for k := range 4 {
			h.srow[i][k] = p.f32(280 + 16*i + 4*k)
		}
	}
	offset := p.f32(108)
	if math.IsNaN(offset) || offset != math.Trunc(offset) || math.Abs(offset) > 1<<62 {
		return shardify.Corrupt(108, "vox_offset is %v, which is no place in a file", offset)
	}
	h.Offset = int64(offset)
	return p.finish(h, dims, spacing, p.i16(70), place{dims: 40, step: 2, kind: 70, offset: 108})
}

func (p *parser) parse2(h *Header) error {
	var dims [8]int64
	var spacing [8]float64
	for i := range dims {
		dims[i], spacing[i] = p.i64(16+8*i), p.f64(104+8*i)
	}
	h.Offset, h.Slope, h.Inter = p.i64(168), p.f64(176), p.f64(184)
	h.Bits, h.Units, h.qform, h.sform = p.i16(14), p.i32(500), p.i32(344), p.i32(348)
	for i := range 3 {
		h.quatern[i], h.qoffset[i] = p.f64(352+8*i), p.f64(376+8*i)
		for k := range 4 {
			h.srow[i][k] = p.f64(400 + 32*i + 8*k)
		}
	}
	return p.finish(h, dims, spacing, p.i16(12), place{dims: 16, step: 8, kind: 12, offset: 168})
}

// place is where the header of a version has what errors are about.
type place struct{ dims, step, kind, offset int64 }

// mostBytes bounds what dimensions may ask for, so that products do not overflow.
const mostBytes = 1 << 52

// finish checks what both versions have.
func (p *parser) finish(h *Header, dims [8]int64, spacing [8]float64, kind int, at place) error {
	rank := dims[0]
	if rank < 1 || rank > 7 {
		return shardify.Corrupt(at.dims, "dim[0] is %d; want 1 to 7 dimensions", rank)
	}
	t, ok := types[kind]
	if !ok {
		if name := otherTypes[kind]; name != "" {
			return shardify.Hint(shardify.Unsupported("datatype %d (%s)", kind, name), "convert the files in Python: nibabel.load(IN), then nibabel.Nifti1Image(DATA.astype('f8'), AFFINE)")
		}
		return shardify.Corrupt(at.kind, "datatype %d, which NIfTI does not have", kind)
	}
	h.Type = t
	size := int64(t.DType.Size() * max(t.Parts, 1))
	for i := int64(1); i <= rank; i++ {
		d := dims[i]
		if d < 1 {
			return shardify.Corrupt(at.dims+i*at.step, "dim[%d] is %d", i, d)
		}
		if size > mostBytes/d {
			return shardify.Corrupt(at.dims, "the dimensions %v ask for more bytes than a file has", dims[1:rank+1])
		}
		size *= d
		h.Dims = append(h.Dims, int(d))
		h.Spacing = append(h.Spacing, math.Abs(spacing[i]))
	}
	h.qfac = 1
	if spacing[0] < 0 {
		h.qfac = -1
	}
	first := int64(0)
	if !h.Pair {
		if first = 352; h.Version == 2 {
			first = 544
		}
	}
	if h.Offset < first {
		return shardify.Corrupt(at.offset, "vox_offset is %d, which is in the header; the values begin at %d or behind", h.Offset, first)
	}
	h.Scaled = h.Slope != 0 && !math.IsNaN(h.Slope) && !math.IsInf(h.Slope, 0) && (h.Slope != 1 || h.Inter != 0) && t.Parts < 3
	if h.Scaled && (math.IsNaN(h.Inter) || math.IsInf(h.Inter, 0)) {
		return shardify.Corrupt(at.offset+8, "scl_slope is %v and scl_inter is %v", h.Slope, h.Inter)
	}
	return nil
}

var spaces = []string{"", "m", "mm", "um"}
var times = []string{"", "s", "ms", "us", "Hz", "ppm", "rad/s"}

// UnitNames are the units of space and of time, "unknown" where the header does not say.
func (h *Header) UnitNames() string {
	name := func(list []string, code int) string {
		if code > 0 && code < len(list) {
			return list[code]
		}
		return "unknown"
	}
	return name(spaces, h.Units&7) + "," + name(times, h.Units>>3&7)
}

// Affine is the matrix from indices to millimetres: of the sform, else of the qform, else of the spacing about the
// centre, in which the first axis points the other way, as for nibabel.
func (h *Header) Affine() (a [4][4]float64) {
	a[3][3] = 1
	var d [3]float64
	var n [3]float64
	for i := range 3 {
		d[i], n[i] = 1, 1
		if i < len(h.Dims) {
			d[i], n[i] = h.Spacing[i], float64(h.Dims[i])
		}
	}
	switch {
	case h.sform > 0:
		for i := range 3 {
			a[i] = h.srow[i]
		}
	case h.qform > 0:
		r := h.rotation()
		d[2] *= h.qfac
		for i := range 3 {
			for k := range 3 {
				a[i][k] = r[i][k] * d[k]
			}
			a[i][3] = h.qoffset[i]
		}
	default:
		d[0] = -d[0]
		for i := range 3 {
			a[i][i], a[i][3] = d[i], -d[i]*(n[i]-1)/2
		}
	}
	return a
}

// rotation is that of the quaternion.
func (h *Header) rotation() (r [3][3]float64) {
	b, c, d := h.quatern[0], h.quatern[1], h.quatern[2]
	sum := float64(b*b) + float64(c*c) + float64(d*d)
	w := math.Sqrt(max(1-sum, 0))
	n := float64(w*w) + sum
	if n == 0 {
		n = 1
	}
	s := 2 / n
	x, y, z := b*s, c*s, d*s
	wx, wy, wz := float64(w*x), float64(w*y), float64(w*z)
	xx, xy, xz := float64(b*x), float64(b*y), float64(b*z)
	yy, yz, zz := float64(c*y), float64(c*z), float64(d*z)
	return [3][3]float64{{1 - (yy + zz), xy - wz, xz + wy}, {xy + wz, 1 - (xx + zz), yz - wx}, {xz - wy, yz + wx, 1 - (xx + yy)}}
}

// Layout describes the file: "NIfTI-1, int16, big-endian".
func (h *Header) Layout() string {
	s := []string{"NIfTI-" + string(rune('0'+h.Version)), h.Type.Name}
	if h.Big {
		s = append(s, "big-endian")
	}
	return strings.Join(slices.Compact(s), ", ")
}
