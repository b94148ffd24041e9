package hdu

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
	"github.com/shardify/shardify/codecs/voxels"
	"github.com/shardify/shardify/format"
)

// RowsAt is where a row begins in the file.
func (t *Table) RowsAt(row int64) int64 { return t.data + row*t.Width }

// Values is what a column of some rows becomes. Alloc and Ints give its memory; that of values of a fixed size may be
// there.
type Values struct {
	Alloc func(n int) []byte
	Ints  func(n int) []int64
	// Fill: a missing item of a list, or of an array, becomes 0, not an error.
	Fill bool

	Data    []byte
	Offsets [][]int64
	Valid   []byte
}

// Read makes values of n rows of a binary table, whose bytes are in rows. The first of them has the number first.
func (t *Table) Read(r io.ReaderAt, c *Column, rows []byte, n int, first int64, v *Values) error {
	switch {
	case c.elem != 0:
		return t.lists(r, c, rows, n, first, v)
	case c.code == 'A':
		t.textsOf(c, rows, n, v)
		return nil
	}
	elem := c.Field.Elem()
	v.fixed(n, c)
	if c.Field.Nullable {
		for i := range v.Valid {
			v.Valid[i] = 1
		}
	}
	stride, off := int(t.Width), int(c.offset)
	if c.code == 'L' && elem == 1 && c.Field.Nullable || c.code == 'X' || c.code == 'L' {
		for i := range n {
			valid := v.Valid
			if valid != nil {
				valid = valid[i : i+1]
			}
			if err := c.flags(v.Data[i*elem:(i+1)*elem], rows[i*stride+off:], valid, v.Fill); err != nil {
				return at(err, t.RowsAt(first+int64(i))+c.offset, first+int64(i))
			}
		}
		return nil
	}
	w := int(sizes[c.code])
	if c.code == 'C' || c.code == 'M' {
		w /= 2
	}
	if c.form == scaled {
		for i := range n {
			if err := c.scaleRow(v.Data[8*i*elem:8*(i+1)*elem], rows[i*stride+off:], w); err != nil {
				return at(err, t.RowsAt(first+int64(i))+c.offset, first+int64(i))
			}
		}
		return nil
	}
	if c.hasNull {
		for i := range n {
			for k := range elem {
				if integer(rows[i*stride+off+k*w:], w) != c.null {
					continue
				}
				if v.Valid == nil && !v.Fill {
					return at(errItem, t.RowsAt(first+int64(i))+c.offset, first+int64(i))
				}
				if v.Valid != nil {
					v.Valid[i] = 0
				}
			}
		}
	}
	gather(v.Data, rows, n, stride, off, elem, w)
	flip(v.Data, w, c.form)
	return nil
}

// fixed takes memory for values of a fixed size.
func (v *Values) fixed(n int, c *Column) {
	if v.Data == nil {
		v.Data = v.Alloc(n * c.Field.ElemBytes())
	}
	if v.Valid == nil && c.Field.Nullable {
		v.Valid = v.Alloc(n)
	}
}

var errItem = format.MissingItem("an item of an array")

func at(err error, off, row int64) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Offset, e.Sample = off, row })
}

// gather copies k numbers of w bytes of each row, and turns the order of their bytes.
func gather(dst, rows []byte, n, stride, off, k, w int) {
	if k != 1 {
		for i := range n {
			voxels.SwapTo(dst[i*k*w:(i+1)*k*w], rows[i*stride+off:i*stride+off+k*w], w)
		}
		return
	}
	switch w {
	case 1:
		for i := range dst[:n] {
			dst[i] = rows[i*stride+off]
		}
	case 2:
		for i := range n {
			binary.LittleEndian.PutUint16(dst[2*i:], binary.BigEndian.Uint16(rows[i*stride+off:]))
		}
	case 4:
		for i := range n {
			binary.LittleEndian.PutUint32(dst[4*i:], binary.BigEndian.Uint32(rows[i*stride+off:]))
		}
	default:
		for i := range n {
			binary.LittleEndian.PutUint64(dst[8*i:], binary.BigEndian.Uint64(rows[i*stride+off:]))
		}
	}
}

// flags makes logical values of letters or bits. valid is of one value that may be missing.
func (c *Column) flags(dst, src, valid []byte, fill bool) error {
	for i := range dst {
		if c.items() == 'X' {
			dst[i] = src[i/8] >> (7 - i%8) & 1
			continue
		}
		switch src[i] {
		case 'T':
			dst[i] = 1
		case 'F':
			dst[i] = 0
		case 0:
			dst[i] = 0
			if valid != nil {
				valid[0] = 0
			} else if !fill {
				return errItem
			}
		default:
			return shardify.Corrupt(-1, "byte %#02x is no logical value: T, F or 0", src[i])
		}
	}
	return nil
}

// scaleRow makes f64 of the stored numbers of a row; a missing one becomes NaN.
func (c *Column) scaleRow(dst, src []byte, w int) error {
	for i := range len(dst) / 8 {
		s := src[i*w:]
		var f float64
		switch c.items() {
		case 'E':
			f = float64(math.Float32frombits(binary.BigEndian.Uint32(s)))
		case 'D':
			f = math.Float64frombits(binary.BigEndian.Uint64(s))
		default:
			n := integer(s, w)
			if c.hasNull && n == c.null {
				binary.LittleEndian.PutUint64(dst[8*i:], nan)
				continue
			}
			f = float64(n)
		}
		f = float64(f*c.scale) + c.zero
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(f))
	}
	return nil
}

// textsOf makes texts: they end before a NUL and have no spaces at the end.
func (t *Table) textsOf(c *Column, rows []byte, n int, v *Values) {
	each, per := int(c.repeat), 1
	if c.Field.Levels == 2 {
		each, per = int(c.texts), int(c.repeat/max(c.texts, 1))
	}
	data := v.Alloc(n * int(c.repeat))
	ends := v.Ints(n*per + 1)
	ends[0] = 0
	done := 0
	for i := range n {
		row := rows[i*int(t.Width)+int(c.offset):]
		for k := range per {
			done += copy(data[done:], trim(row[k*each:(k+1)*each]))
			ends[i*per+k+1] = int64(done)
		}
	}
	v.Data, v.Offsets = data[:done], [][]int64{ends}
	if c.Field.Levels == 2 {
		outer := v.Ints(n + 1)
		for i := range outer {
			outer[i] = int64(i * per)
		}
		v.Offsets = [][]int64{outer, ends}
	}
}

func trim(b []byte) []byte {
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// lists makes the lists of a column, which are in the heap.
func (t *Table) lists(r io.ReaderAt, c *Column, rows []byte, n int, first int64, v *Values) error {
	size := sizes[c.elem]
	ends := v.Ints(n + 1)
	ends[0] = 0
	total, lo, hi := int64(0), int64(math.MaxInt64), int64(0)
	for i := range n {
		count, from := c.place(rows[i*int(t.Width)+int(c.offset):])
		bytes := count * size
		if c.elem == 'X' {
			bytes = (count + 7) / 8
		}
		if count < 0 || count > maxSize/16 || from < 0 || count > 0 && (from > t.heapSize || bytes > t.heapSize-from) {
			return at(shardify.Corrupt(0, "a list of %d items at byte %d lies beyond the heap of %d bytes", count, from, t.heapSize), t.RowsAt(first+int64(i))+c.offset, first+int64(i))
		}
		if count > 0 {
			lo, hi = min(lo, from), max(hi, from+bytes)
		}
		total += bytes
		ends[i+1] = ends[i] + count
		if total > t.heapSize {
			return at(shardify.Unsupported("lists share bytes of the heap: up to here they take %d bytes, the heap has %d", total, t.heapSize), t.RowsAt(first+int64(i))+c.offset, first+int64(i))
		}
	}
	v.Offsets = [][]int64{ends}
	v.Data = v.Alloc(int(ends[n]) * c.Field.Elem() * c.Field.DType.Size())
	var heap []byte // of all lists, where nearly all between them is wanted
	if hi-lo <= 2*total+4096 && total > 0 {
		heap = make([]byte, hi-lo)
		if err := readat.Full(r, heap, t.heap+lo); err != nil {
			return err
		}
	}
	var own []byte
	for i := range n {
		count, from := c.place(rows[i*int(t.Width)+int(c.offset):])
		if count == 0 {
			continue
		}
		bytes := count * size
		if c.elem == 'X' {
			bytes = (count + 7) / 8
		}
		src := own
		if heap != nil {
			src = heap[from-lo : from-lo+bytes]
		} else {
			if int64(cap(own)) < bytes {
				own = make([]byte, bytes)
			}
			src = own[:bytes]
			if err := readat.Full(r, src, t.heap+from); err != nil {
				return err
			}
		}
		per := int64(c.Field.Elem() * c.Field.DType.Size())
		if err := c.items1(v.Data[ends[i]*per:ends[i+1]*per], src, v.Fill); err != nil {
			return at(err, t.heap+from, first+int64(i))
		}
	}
	if c.elem == 'A' {
		compact(v)
	}
	return nil
}

// compact takes the spaces off the ends of texts.
func compact(v *Values) {
	ends, done := v.Offsets[0], 0
	from := ends[0]
	for i := 1; i < len(ends); i++ {
		end := ends[i]
		done += copy(v.Data[done:], trim(v.Data[from:end]))
		from, ends[i] = end, int64(done)
	}
	v.Data = v.Data[:done]
}

// place is where a list is in the heap, and how many items it has.
func (c *Column) place(b []byte) (count, from int64) {
	if c.code == 'P' {
		return int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))
	}
	return int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
}

// items1 makes the items of one list.
func (c *Column) items1(dst, src []byte, fill bool) error {
	w := int(sizes[c.elem])
	switch c.elem {
	case 'A':
		copy(dst, src)
		return nil
	case 'L', 'X':
		return c.flags(dst, src, nil, fill)
	case 'C', 'M':
		w /= 2
	}
	if c.form == scaled {
		return c.scaleRow(dst, src, w)
	}
	if c.hasNull && !fill {
		for i := 0; i < len(src); i += w {
			if integer(src[i:], w) == c.null {
				return errItem
			}
		}
	}
	voxels.SwapTo(dst, src, w)
	flip(dst, w, c.form)
	return nil
}
