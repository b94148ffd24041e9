package index

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// A wds shard is strict USTAR: of the many forms of tar, the one that every
// WebDataset reader and indexer reads alike. One member is a header block, the
// data, and zeros up to the next block:
//
//	off  len  field                  our value
//	  0  100  name                   printable UTF-8 without spaces, then NULs
//	100    8  mode                   "0000444\0"
//	108    8  uid, 116 8 gid         "0000000\0"
//	124   12  size                   11 octal digits, NUL
//	136   12  mtime                  "00000000000\0"
//	148    8  chksum                 6 octal digits, NUL, space
//	156    1  typeflag               '0'
//	157  100  linkname               NULs
//	257    8  magic and version      "ustar\0" "00"
//	265   32  uname, 297 32 gname    NULs
//	329    8  devmajor, 337 8 minor  "0000000\0"
//	345  155  prefix                 NULs (wids drops it)
//	500   12                         NULs
const (
	// TarBlock is the unit of a tar: headers and data begin at multiples of it.
	TarBlock = 512
	// TarEnd is the bytes of the two zero blocks that end a shard.
	TarEnd = 2 * TarBlock
	// MaxTarName is the longest member name: what the name field holds.
	MaxTarName = 100
	// MaxTarMember is the largest member: what 11 octal digits hold.
	MaxTarMember = 1<<33 - 1
)

const (
	tarSize      = 124
	tarSizeEnd   = tarSize + 11
	tarChksum    = 148
	tarChksumEnd = tarChksum + 6
)

// tarFields names the fields of a header for errors.
var tarFields = []struct {
	at   int
	name string
}{
	{0, "name"}, {100, "mode"}, {108, "uid"}, {116, "gid"}, {tarSize, "size"}, {136, "mtime"}, {tarChksum, "chksum"},
	{156, "typeflag"}, {157, "linkname"}, {257, "magic"}, {265, "uname"}, {297, "gname"}, {329, "devmajor"},
	{337, "devminor"}, {345, "prefix"}, {500, "filler"}, {TarBlock, ""},
}

// tarBlank is a header without name and size digits. Its chksum field holds the
// eight spaces that it counts as, of which the last stays.
var tarBlank = func() (b [TarBlock]byte) {
	copy(b[100:], "0000444\x00"+"0000000\x00"+"0000000\x00")
	copy(b[136:], "00000000000\x00"+"        "+"0")
	copy(b[257:], "ustar\x0000")
	copy(b[329:], "0000000\x00"+"0000000\x00")
	return b
}()

var tarBlankSum = TarSum(tarBlank[:])

// TarSum is the sum of bytes, which tar headers use as their checksum. Sums of
// the parts of a name add up to that of the name.
func TarSum(b []byte) (sum uint32) {
	for len(b) >= 8 {
		const even = 0x00ff00ff00ff00ff
		x := binary.LittleEndian.Uint64(b)
		x = x&even + x>>8&even
		sum += uint32(x * 0x0001000100010001 >> 48)
		b = b[8:]
	}
	for _, c := range b {
		sum += uint32(c)
	}
	return sum
}

// TarTail is the end of a member's name, dot included, which all samples share.
// With the key's sum at hand its headers cost a copy and 17 digits.
type TarTail struct {
	tail string
	sum  uint32 // of tail and of everything but key and size
}

// NewTarTail returns the tail of member: "." and the member's name.
func NewTarTail(member string) TarTail {
	tail := "." + member
	return TarTail{tail, tarBlankSum + TarSum([]byte(tail))}
}

// String is the tail: ".jpg".
func (t *TarTail) String() string { return t.tail }

// Len is the length of the tail.
func (t *TarTail) Len() int { return len(t.tail) }

// Put writes the header of member key+tail into the 512 bytes of h. keySum is
// TarSum(key). The caller has made sure that the name is at most MaxTarName and
// the size at most MaxTarMember.
func (t *TarTail) Put(h, key []byte, keySum uint32, size int64) {
	_ = h[TarBlock-1]
	copy(h[:TarBlock], tarBlank[:])
	n := copy(h[:MaxTarName], key)
	copy(h[n:MaxTarName], t.tail)
	putTarNumbers(h, t.sum+keySum, size)
}

// PutTarHeader writes the header of any member into the 512 bytes of h, under
// the conditions of TarTail.Put.
func PutTarHeader(h, name []byte, size int64) {
	_ = h[TarBlock-1]
	copy(h[:TarBlock], tarBlank[:])
	copy(h[:MaxTarName], name)
	putTarNumbers(h, tarBlankSum+TarSum(name), size)
}

func putTarNumbers(h []byte, sum uint32, size int64) {
	for i := tarSizeEnd - 1; i >= tarSize; i-- {
		d := '0' + byte(size&7)
		h[i] = d
		sum += uint32(d)
		size >>= 3
	}
	for i := tarChksumEnd - 1; i >= tarChksum; i-- {
		h[i] = '0' + byte(sum&7)
		sum >>= 3
	}
	h[tarChksumEnd] = 0
}

// TarPad is the zeros between data of this size and the next block.
func TarPad(size int64) int64 { return -size & (TarBlock - 1) }

// TarHeader is what varies between the headers of our shards.
type TarHeader struct {
	Name []byte // inside the parsed block
	Size int64
}

// ParseTarHeader reads one header block of a shard of ours and refuses every
// other form of tar: what it accepts, PutTarHeader writes with the same bytes.
// Offsets in its errors count from the beginning of the block. Errors copy what
// they quote, so that a caller's block can stay on its stack.
func ParseTarHeader(b []byte) (TarHeader, error) {
	if len(b) < TarBlock {
		return TarHeader{}, shardify.Corrupt(0, "tar header of %d bytes, want %d", len(b), TarBlock)
	}
	b = b[:TarBlock]
	n := bytes.IndexByte(b[:MaxTarName], 0)
	if n < 0 {
		n = MaxTarName
	}
	h := TarHeader{Name: b[:n:n]}
	if err := checkTarName(h.Name); err != nil {
		return TarHeader{}, err
	}
	sum := tarBlankSum + TarSum(h.Name)
	for i, c := range b[tarSize:tarSizeEnd] {
		if c < '0' || c > '7' {
			return TarHeader{}, shardify.Corrupt(int64(tarSize+i), "tar header: size is %q, want 11 octal digits", string(b[tarSize:tarSizeEnd+1]))
		}
		h.Size = h.Size<<3 | int64(c-'0')
		sum += uint32(c)
	}
	same := bytes.Equal(b[n:MaxTarName], zeros[:MaxTarName-n]) && bytes.Equal(b[MaxTarName:tarSize], tarBlank[MaxTarName:tarSize]) &&
		bytes.Equal(b[tarSizeEnd:tarChksum], tarBlank[tarSizeEnd:tarChksum]) && b[tarChksumEnd] == 0 && bytes.Equal(b[tarChksumEnd+1:], tarBlank[tarChksumEnd+1:])
	for i := tarChksumEnd - 1; i >= tarChksum; i-- {
		same = same && b[i] == '0'+byte(sum&7)
		sum >>= 3
	}
	if !same {
		return TarHeader{}, tarHeaderDiff(b, h)
	}
	return h, nil
}

func checkTarName(name []byte) error {
	if len(name) == 0 {
		return shardify.Corrupt(0, "tar header without a name")
	}
	if i := oddByte(name); i >= 0 {
		return shardify.Corrupt(int64(i), "tar header: name %q has byte %#02x", string(name), name[i])
	}
	return nil
}

// oddByte is where a name has a space, a control character or bytes that are not UTF-8,
// or -1.
func oddByte(name []byte) int {
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(name[i:])
			if !tarRune(r, n) {
				return i
			}
			i += n - 1
		} else if c < 0x21 || c > 0x7e {
			return i
		}
	}
	return -1
}

// tarHeaderDiff names the first field that is not as we write it.
func tarHeaderDiff(got []byte, h TarHeader) error {
	want := make([]byte, TarBlock)
	PutTarHeader(want, h.Name, h.Size)
	at := 0
	for got[at] == want[at] {
		at++
	}
	for i := 1; i < len(tarFields); i++ {
		if lo, hi := tarFields[i-1].at, tarFields[i].at; at < hi {
			return shardify.Corrupt(int64(at), "tar header: %s is %q, want %q", tarFields[i-1].name,
				string(bytes.TrimRight(got[lo:hi], "\x00")), string(bytes.TrimRight(want[lo:hi], "\x00")))
		}
	}
	return nil // not reached: the blocks differ
}
