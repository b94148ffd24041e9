package hdu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/readat"
)

// Kind is what the data of an HDU are.
type Kind uint8

// The kinds. Other is an extension that no reader knows.
const (
	Empty Kind = iota
	Images
	Tables
	Texts // ASCII tables
	Tiles
	Groups
	Other
)

var kindNames = []string{"no data", "image", "table", "ASCII table", "compressed image", "random groups", "unknown extension"}

func (k Kind) String() string { return kindNames[k] }

// HDU is one header and data unit.
type HDU struct {
	*Header
	Index int
	Name  string // EXTNAME
	Ver   int64  // EXTVER
	Kind  Kind
	// Data is where the data begin, Size their bytes without padding, Held the bytes of them with padding
	// that the file has.
	Data, Size, Held int64

	shape  []int64 // axes of the array, slowest first
	bitpix int64
	pcount int64
}

// maxHDUs bounds a file.
const maxHDUs = 1 << 16

// Parse reads all headers of a file. size is -1 where it is not known: r then says that the file ends where it
// does, and refuses what is behind. Notes say what is odd and does no harm.
func Parse(r io.ReaderAt, size int64) (all []HDU, notes []string, err error) {
	for at, from := int64(0), int64(0); size < 0 || at < size || from < at; {
		if at > 0 {
			end, odd, err := trailing(r, from, at, size)
			if err != nil {
				return nil, nil, err
			}
			if odd {
				notes = append(notes, fmt.Sprintf("%s: bytes that are no zeros fill its last block; an axis may be longer than the header says", all[len(all)-1].String()))
			}
			if end {
				if size > at {
					notes = append(notes, fmt.Sprintf("%d bytes behind the last HDU are no header", size-at))
				}
				return all, notes, nil
			}
		}
		if len(all) == maxHDUs {
			return nil, nil, shardify.Unsupported("more than %d HDUs", maxHDUs)
		}
		x, err := parseHDU(r, at, size, len(all))
		if err != nil {
			return nil, nil, shardify.Annotate(err, "", "", "HDU "+strconv.Itoa(len(all)))
		}
		if have := size - x.Data; size >= 0 && x.Size > have {
			err := shardify.Corrupt(size, "the data end after %d of %d bytes", max(have, 0), x.Size)
			return nil, nil, shardify.Annotate(err, "", "", x.String())
		}
		padded := (x.Size + block - 1) / block * block
		if x.Held = padded; size >= 0 && size-x.Data < padded {
			x.Held = size - x.Data
			notes = append(notes, fmt.Sprintf("%s: the last block is not filled", x.String()))
		}
		all = append(all, *x)
		at, from = x.Data+padded, x.Data+x.Size
	}
	if len(all) == 0 {
		return nil, nil, shardify.Corrupt(0, "the file is empty")
	}
	return all, notes, nil
}

// trailing reports whether the rest of a file is no HDU: zeros or spaces. odd: others are from the end of the data to the end
// of their last block, which is the place at.
func trailing(r io.ReaderAt, from, at, size int64) (end, odd bool, err error) {
	b, err := readSome(r, int(at-from)+block, from, size)
	if err != nil {
		return false, false, err
	}
	fill := b[:min(int(at-from), len(b))]
	odd = len(bytes.Trim(fill, "\x00 ")) > 0
	head := b[len(fill):]
	if strings.HasPrefix(string(head), "XTENSION") {
		return false, odd, nil
	}
	for i, c := range head {
		if c != 0 && c != ' ' {
			return false, odd, shardify.Corrupt(at+int64(i), "no extension begins behind the data of the HDU before: its size is wrong, or what follows is damaged")
		}
	}
	return true, odd, nil
}

func parseHDU(r io.ReaderAt, at, size int64, index int) (*HDU, error) {
	h, data, err := readHeader(r, at, size)
	if err != nil {
		return nil, err
	}
	x := &HDU{Header: h, Index: index, Data: data, Ver: 1}
	x.Name, _ = h.Text("EXTNAME")
	if x.Ver, err = h.whole("EXTVER", 1); err != nil {
		return nil, err
	}
	ext, isExt := h.Text("XTENSION")
	if index == 0 && !h.True("SIMPLE") {
		return nil, shardify.Unsupported("SIMPLE is not T: not standard FITS")
	}
	if err := x.axes(); err != nil {
		return nil, err
	}
	switch {
	case index == 0 && h.True("GROUPS") && len(x.shape) > 0 && x.shape[len(x.shape)-1] == 0:
		x.Kind = Groups
		if err := x.groupsSize(); err != nil {
			return nil, err
		}
	case index == 0 || isExt && (ext == "IMAGE" || ext == "IUEIMAGE"):
		if x.Size > 0 {
			x.Kind = Images
		}
	case ext == "BINTABLE" || ext == "A3DTABLE":
		x.Kind = Tables
		if h.True("ZIMAGE") {
			x.Kind = Tiles
		}
	case ext == "TABLE":
		x.Kind = Texts
	default:
		x.Kind = Other
	}
	return x, nil
}

// axes reads what gives the size of the data.
func (x *HDU) axes() (err error) {
	h := x.Header
	if x.bitpix, err = h.must("BITPIX"); err != nil {
		return err
	}
	switch x.bitpix {
	case 8, 16, 32, 64, -32, -64:
	default:
		return h.corrupt("BITPIX", "8, 16, 32, 64, -32 or -64")
	}
	n, err := h.must("NAXIS")
	if err != nil {
		return err
	}
	if n < 0 || n > 999 {
		return h.corrupt("NAXIS", "a number from 0 to 999")
	}
	if x.shape, err = h.dims("NAXIS", n); err != nil {
		return err
	}
	if x.pcount, err = h.whole("PCOUNT", 0); err != nil {
		return err
	}
	gcount, err := h.whole("GCOUNT", 1)
	if err != nil {
		return err
	}
	if x.pcount < 0 || gcount < 0 {
		return shardify.Corrupt(h.at, "PCOUNT = %d, GCOUNT = %d", x.pcount, gcount)
	}
	if n == 0 {
		return nil
	}
	if x.Size, err = h.size(x.shape, x.pcount, gcount, abs(x.bitpix)/8); err != nil {
		return err
	}
	return nil
}

// dims reads NAME1 ... NAMEn, slowest first.
func (h *Header) dims(name string, n int64) ([]int64, error) {
	shape := make([]int64, n)
	for i := range shape {
		key := name + strconv.FormatInt(n-int64(i), 10)
		d, err := h.must(key)
		if err != nil {
			return nil, err
		}
		if d < 0 {
			return nil, h.corrupt(key, "a length")
		}
		shape[i] = d
	}
	return shape, nil
}

// size is (extra + the product of shape) * groups * width.
func (h *Header) size(shape []int64, extra, groups, width int64) (int64, error) {
	n, ok := product(shape)
	if ok {
		n, ok = n+extra, n <= maxSize-extra
	}
	if ok {
		n, ok = product([]int64{n, groups, width})
	}
	if !ok {
		return 0, shardify.Corrupt(h.at, "axes %v of %d bytes are more than any file holds", shape, width)
	}
	return n, nil
}

const maxSize = 1 << 60

// product is that of lengths, if it is below a bound.
func product(dims []int64) (int64, bool) {
	n := uint64(1)
	zero, ok := false, true
	for _, d := range dims {
		zero = zero || d == 0
		hi, lo := bits.Mul64(n, uint64(d))
		if ok = ok && hi == 0 && lo < maxSize; ok {
			n = lo
		}
	}
	if zero {
		return 0, true
	}
	return int64(n), ok
}

func (x *HDU) groupsSize() error {
	gcount, err := x.whole("GCOUNT", 1)
	if err != nil {
		return err
	}
	x.Size, err = x.size(x.shape[:len(x.shape)-1], x.pcount, gcount, abs(x.bitpix)/8)
	return err
}

func abs(n int64) int64 { return max(n, -n) }

// String names an HDU in messages: "HDU 1 (SCI)".
func (x *HDU) String() string {
	s := "HDU " + strconv.Itoa(x.Index)
	if x.Name != "" {
		s += " (" + x.Name + ")"
	}
	return s
}

// Sum adds data, whole blocks, to a checksum: the ones' complement sum of big-endian words.
func Sum(sum uint32, data []byte) uint32 {
	a, b := uint64(sum), uint64(0)
	for ; len(data) >= 8; data = data[8:] {
		v := binary.BigEndian.Uint64(data)
		a += v >> 32
		b += v & 0xffffffff
	}
	if len(data) > 0 { // a block that is not filled
		var rest [8]byte
		copy(rest[:], data)
		v := binary.BigEndian.Uint64(rest[:])
		a += v >> 32
		b += v & 0xffffffff
	}
	a = a&0xffffffff + a>>32
	b = b&0xffffffff + b>>32
	for a += b; a>>32 != 0; a = a&0xffffffff + a>>32 {
	}
	return uint32(a)
}

// Summed reports whether the header has a checksum of the data.
func (x *HDU) Summed() bool {
	_, data := x.Text("DATASUM")
	_, all := x.Text("CHECKSUM")
	return data || all
}

// CheckSum compares the sum of the data, with their padding, with DATASUM and CHECKSUM.
func (x *HDU) CheckSum(sum uint32) error {
	if text, ok := x.Text("DATASUM"); ok && strings.TrimSpace(text) != "" {
		want, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
		if err != nil {
			return x.corrupt("DATASUM", "a sum")
		}
		if uint32(want) != sum && !(want == 0 && sum == 0xffffffff) {
			return shardify.Corrupt(x.Data, "the data have the sum %d, DATASUM is %d", sum, want)
		}
	}
	if text, ok := x.Text("CHECKSUM"); ok && len(text) == 16 {
		var b [8]byte
		binary.BigEndian.PutUint32(b[:], x.Header.sum)
		binary.BigEndian.PutUint32(b[4:], sum)
		if all := Sum(0, b[:]); all != 0xffffffff && all != 0 {
			return shardify.Corrupt(x.at, "header and data have the sum %08x, CHECKSUM makes it ffffffff", all)
		}
	}
	return nil
}

// SumData reads the data of an HDU, and checks its sums.
func (x *HDU) SumData(r io.ReaderAt) error {
	buf := make([]byte, min(x.Held, 1<<20/block*block))
	sum := uint32(0)
	for at := int64(0); at < x.Held; at += int64(len(buf)) {
		b := buf[:min(int64(len(buf)), x.Held-at)]
		if err := readat.Full(r, b, x.Data+at); err != nil {
			return err
		}
		sum = Sum(sum, b)
	}
	return x.CheckSum(sum)
}
