// Package tar has the layout of tars: the headers, members and offset indexes of wds shards
// (strict USTAR), and tars from any tool. It says which member a field becomes, which keys
// samples may have, and what makes loaders read one tar differently.
//
//	w := tar.Walker{Window: &window}
//	w.Part(offsets[i], offsets[i+1]) // the members of sample i
//	entry, err := w.Next()
//
// The rules of package index for hostile bytes hold here, too.
package tar

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
	// Block is the unit of a tar: headers and data begin at multiples of it.
	Block = 512
	// End is the bytes of the two zero blocks that end a shard.
	End = 2 * Block
	// MaxName is the longest member name: what the name field holds.
	MaxName = 100
	// MaxMember is the largest member: what 11 octal digits hold.
	MaxMember = 1<<33 - 1
)

const (
	sizeAt  = 124
	sizeEnd = sizeAt + 11
	sumAt   = 148
	sumEnd  = sumAt + 6
)

// headerFields names the fields of a header for errors.
var headerFields = []struct {
	at   int
	name string
}{
	{0, "name"}, {100, "mode"}, {108, "uid"}, {116, "gid"}, {sizeAt, "size"}, {136, "mtime"}, {sumAt, "chksum"},
	{156, "typeflag"}, {157, "linkname"}, {257, "magic"}, {265, "uname"}, {297, "gname"}, {329, "devmajor"},
	{337, "devminor"}, {345, "prefix"}, {500, "filler"}, {Block, ""},
}

// blank is a header without name and size digits. Its chksum field holds the
// eight spaces that it counts as, of which the last stays.
var blank = func() (b [Block]byte) {
	copy(b[100:], "0000444\x00"+"0000000\x00"+"0000000\x00")
	copy(b[136:], "00000000000\x00"+"        "+"0")
	copy(b[257:], "ustar\x0000")
	copy(b[329:], "0000000\x00"+"0000000\x00")
	return b
}()

var blankSum = Sum(blank[:])

// Sum is the sum of bytes, which tar headers use as their checksum. Sums of
// the parts of a name add up to that of the name.
func Sum(b []byte) (sum uint32) {
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

// Tail is the end of a member's name, dot included, which all samples share.
// With the key's sum at hand its headers cost a copy and 17 digits.
type Tail struct {
	tail string
	sum  uint32 // of tail and of everything but key and size
}

// NewTail returns the tail of member: "." and the member's name.
func NewTail(member string) Tail {
	tail := "." + member
	return Tail{tail, blankSum + Sum([]byte(tail))}
}

// String is the tail: ".jpg".
func (t *Tail) String() string { return t.tail }

// Len is the length of the tail.
func (t *Tail) Len() int { return len(t.tail) }

// Put writes the header of member key+tail into the 512 bytes of h. keySum is
// Sum(key). The caller has made sure that the name is at most MaxName and
// the size at most MaxMember.
func (t *Tail) Put(h, key []byte, keySum uint32, size int64) {
	_ = h[Block-1]
	copy(h[:Block], blank[:])
	n := copy(h[:MaxName], key)
	copy(h[n:MaxName], t.tail)
	putNumbers(h, t.sum+keySum, size)
}

// PutHeader writes the header of any member into the 512 bytes of h, under
// the conditions of Tail.Put.
func PutHeader(h, name []byte, size int64) {
	_ = h[Block-1]
	copy(h[:Block], blank[:])
	copy(h[:MaxName], name)
	putNumbers(h, blankSum+Sum(name), size)
}

func putNumbers(h []byte, sum uint32, size int64) {
	for i := sizeEnd - 1; i >= sizeAt; i-- {
		d := '0' + byte(size&7)
		h[i] = d
		sum += uint32(d)
		size >>= 3
	}
	for i := sumEnd - 1; i >= sumAt; i-- {
		h[i] = '0' + byte(sum&7)
		sum >>= 3
	}
	h[sumEnd] = 0
}

// Pad is the zeros between data of this size and the next block.
func Pad(size int64) int64 { return -size & (Block - 1) }

// Header is what varies between the headers of our shards.
type Header struct {
	Name []byte // inside the parsed block
	Size int64
}

// ParseHeader reads one header block of a shard of ours and refuses every
// other form of tar: what it accepts, PutHeader writes with the same bytes.
// Offsets in its errors count from the beginning of the block. Errors copy what
// they quote, so that a caller's block can stay on its stack.
func ParseHeader(b []byte) (Header, error) {
	if len(b) < Block {
		return Header{}, shardify.Corrupt(0, "tar header of %d bytes, want %d", len(b), Block)
	}
	b = b[:Block]
	n := bytes.IndexByte(b[:MaxName], 0)
	if n < 0 {
		n = MaxName
	}
	h := Header{Name: b[:n:n]}
	if err := checkName(h.Name); err != nil {
		return Header{}, err
	}
	sum := blankSum + Sum(h.Name)
	for i, c := range b[sizeAt:sizeEnd] {
		if c < '0' || c > '7' {
			return Header{}, shardify.Corrupt(int64(sizeAt+i), "tar header: size is %q, want 11 octal digits", string(b[sizeAt:sizeEnd+1]))
		}
		h.Size = h.Size<<3 | int64(c-'0')
		sum += uint32(c)
	}
	same := bytes.Equal(b[n:MaxName], zeros[:MaxName-n]) && bytes.Equal(b[MaxName:sizeAt], blank[MaxName:sizeAt]) &&
		bytes.Equal(b[sizeEnd:sumAt], blank[sizeEnd:sumAt]) && b[sumEnd] == 0 && bytes.Equal(b[sumEnd+1:], blank[sumEnd+1:])
	for i := sumEnd - 1; i >= sumAt; i-- {
		same = same && b[i] == '0'+byte(sum&7)
		sum >>= 3
	}
	if !same {
		return Header{}, headerDiff(b, h)
	}
	return h, nil
}

func checkName(name []byte) error {
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
			if !nameRune(r, n) {
				return i
			}
			i += n - 1
		} else if c < 0x21 || c > 0x7e {
			return i
		}
	}
	return -1
}

// headerDiff names the first field that is not as we write it.
func headerDiff(got []byte, h Header) error {
	want := make([]byte, Block)
	PutHeader(want, h.Name, h.Size)
	at := 0
	for got[at] == want[at] {
		at++
	}
	for i := 1; i < len(headerFields); i++ {
		if lo, hi := headerFields[i-1].at, headerFields[i].at; at < hi {
			return shardify.Corrupt(int64(at), "tar header: %s is %q, want %q", headerFields[i-1].name,
				string(bytes.TrimRight(got[lo:hi], "\x00")), string(bytes.TrimRight(want[lo:hi], "\x00")))
		}
	}
	return nil // not reached: the blocks differ
}
