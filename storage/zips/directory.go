package zips

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// A zip archive, as far as its members' bytes are found by it:
//
//	local header   PK 3 4, 30 bytes: +4 version, +6 flags, +8 method, +14 crc32, packed and
//	               decoded size, +26 name length n, +28 extra length m; name, extra, data
//	directory      PK 1 2, 46 bytes each: +8 flags, +10 method, +16 crc32, +20 packed size,
//	               +24 decoded size, +28 lengths of name, extra, comment, +42 local header
//	ZIP64 end      PK 6 6, 56 bytes: +32 entries, +40 size and +48 offset of the directory
//	ZIP64 locator  PK 6 7, 20 bytes: +8 offset of the ZIP64 end
//	end            PK 5 6, 22 bytes: +10 entries, +12 size and +16 offset of the directory,
//	               +20 length of the comment behind it
//
// Sizes and offsets are taken from the directory, the start of the data from the
// local header, whose extra field has another length. Bytes before the first
// member (a shell script, a mail header) shift all offsets.
const (
	localSig, localBytes     = "PK\x03\x04", 30
	dirSig, dirBytes         = "PK\x01\x02", 46
	end64Sig, end64Bytes     = "PK\x06\x06", 56
	locatorSig, locatorBytes = "PK\x06\x07", 20
	endSig, endBytes         = "PK\x05\x06", 22

	maxComment = 1<<16 - 1
	// maxDirectory bounds the directory: some two million members.
	maxDirectory = 256 << 20

	madeByUnix = 3
)

// The methods of compression that have names.
const (
	Stored   = 0
	Deflated = 8
	Bzip2ed  = 12
)

// MethodNames are those of the compressions that are not decoded here.
var MethodNames = map[uint16]string{
	1: "shrink", 6: "implode", 9: "deflate64", 14: "lzma", 93: "zstd", 95: "xz", 96: "jpeg", 97: "wavpack", 98: "ppmd", 99: "aes",
}

// Entry is one member, as the directory has it.
type Entry struct {
	Name    string // decoded
	raw     string
	Flags   uint16
	Method  uint16
	CRC     uint32
	Packed  int64
	Decoded int64
	mode    uint32 // of Unix, 0 elsewhere
	local   int64  // where its local header is
}

// Directory is the list of members.
type Directory struct {
	Entries []Entry
	Start   int64 // members end before it
}

// endRecord is what the end of an archive says about its directory.
type endRecord struct {
	at           int64 // the directory ends before it
	count        uint64
	size, offset uint64
}

var le = binary.LittleEndian

// ReadDirectory finds and reads the central directory.
func ReadDirectory(in *Input) (*Directory, error) {
	end, err := findEnd(in)
	if err != nil {
		return nil, err
	}
	if end.size > uint64(end.at) || end.count > end.size/dirBytes {
		return nil, shardify.Corrupt(end.at, "zip directory of %d members in %d bytes does not fit", end.count, end.size)
	}
	if end.size > maxDirectory {
		return nil, shardify.Unsupported("zip directory of %d bytes", end.size)
	}
	// The directory comes right before its end; its offset shows how much other data
	// precede the archive.
	start := end.at - int64(end.size)
	shift := start - int64(min(end.offset, 1<<62))
	if shift < 0 {
		return nil, shardify.Corrupt(end.at, "zip directory at byte %d of %d bytes does not fit before its end", end.offset, end.size)
	}
	b, err := in.At(start, int(end.size))
	if err != nil {
		return nil, err
	}
	d := &Directory{Start: start, Entries: make([]Entry, 0, end.count)}
	var packed int64
	for rest := b; len(rest) > 0; {
		at := start + int64(len(b)-len(rest))
		e, n, err := readEntry(rest, at)
		if err != nil {
			return nil, err
		}
		e.local += shift
		if packed += e.Packed; e.Packed > start || packed > start {
			return nil, shardify.Corrupt(at, "members take more bytes than there are: they overlap")
		}
		d.Entries = append(d.Entries, e)
		rest = rest[n:]
	}
	if uint64(len(d.Entries)) != end.count {
		return nil, shardify.Corrupt(end.at, "zip end record has %d members, the directory %d", end.count, len(d.Entries))
	}
	return d, nil
}

// findEnd looks for the end record: the last one whose comment reaches exactly
// to the end of the file and whose directory is where it says. A comment may
// itself contain the signature.
func findEnd(in *Input) (endRecord, error) {
	for _, n := range []int64{pieceBytes, maxComment + endBytes} {
		n = min(n, in.Size)
		tail, err := in.At(in.Size-n, int(n))
		if err != nil {
			return endRecord{}, err
		}
		tail = bytes.Clone(tail)
		for i := len(tail) - endBytes; i >= 0; i-- {
			if string(tail[i:i+4]) != endSig || i+endBytes+int(le.Uint16(tail[i+20:])) != len(tail) {
				continue
			}
			if e, ok := readEnd(in, tail[i:], in.Size-n+int64(i)); ok {
				return e, nil
			}
		}
		if n == in.Size {
			break
		}
	}
	return endRecord{}, shardify.Corrupt(in.Size, "no end of a zip archive: is the file cut short?")
}

// readEnd reads the end record at byte at, and the ZIP64 one that it may refer
// to. ok is false when there is no directory where it should be.
func readEnd(in *Input, b []byte, at int64) (e endRecord, ok bool) {
	e = endRecord{at: at, count: uint64(le.Uint16(b[10:])), size: uint64(le.Uint32(b[12:])), offset: uint64(le.Uint32(b[16:]))}
	if e.count == 1<<16-1 || e.size == 1<<32-1 || e.offset == 1<<32-1 {
		e.end64(in)
	}
	if e.size > uint64(e.at) {
		return e, false
	}
	if e.size == 0 {
		return e, e.count == 0
	}
	head, err := in.At(e.at-int64(e.size), min(dirBytes, int(min(e.size, dirBytes))))
	return e, err == nil && strings.HasPrefix(string(head), dirSig)
}

// end64 takes the values of the ZIP64 end record, if there is one before e.
func (e *endRecord) end64(in *Input) {
	loc, err := in.At(e.at-locatorBytes, locatorBytes)
	if err != nil || string(loc[:4]) != locatorSig {
		return
	}
	claim := int64(min(le.Uint64(loc[8:]), 1<<62))
	// The offset is wrong when the archive is preceded by other data; then the
	// record is right before its locator, as all programs write it.
	for _, at := range []int64{claim, e.at - locatorBytes - end64Bytes} {
		if at > e.at-locatorBytes-end64Bytes {
			continue
		}
		b, err := in.At(at, end64Bytes)
		if err == nil && string(b[:4]) == end64Sig {
			*e = endRecord{at: at, count: le.Uint64(b[32:]), size: le.Uint64(b[40:]), offset: le.Uint64(b[48:])}
			return
		}
	}
}

// readEntry reads the entry at the start of b, which is at byte at of the file, and returns
// its length.
func readEntry(b []byte, at int64) (e Entry, n int, err error) {
	if len(b) < dirBytes || string(b[:4]) != dirSig {
		return e, 0, shardify.Corrupt(at, "zip directory entry expected")
	}
	name, extra, comment := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
	n = dirBytes + name + extra + comment
	if n > len(b) {
		return e, 0, shardify.Corrupt(at, "zip directory entry of %d bytes, %d are left", n, len(b))
	}
	e = Entry{
		raw:   string(b[dirBytes : dirBytes+name]),
		Flags: le.Uint16(b[8:]), Method: le.Uint16(b[10:]), CRC: le.Uint32(b[16:]),
		Packed: int64(le.Uint32(b[20:])), Decoded: int64(le.Uint32(b[24:])), local: int64(le.Uint32(b[42:])),
	}
	if b[5] == madeByUnix {
		e.mode = le.Uint32(b[38:]) >> 16
	}
	e.Name = e.raw
	if e.Flags&(1<<11) == 0 || !utf8.ValidString(e.raw) {
		e.Name = fromCP437(e.raw)
	}
	if !e.extra64(b[dirBytes+name : dirBytes+name+extra]) {
		return e, 0, shardify.Corrupt(at, "member %s: zip64 sizes are missing", clip(e.Name, 60))
	}
	return e, n, nil
}

// extra64 replaces sizes that do not fit 32 bits by those of the extra field 1,
// which has just these, in this order.
func (e *Entry) extra64(extra []byte) bool {
	var wide []*int64
	for _, v := range []*int64{&e.Decoded, &e.Packed, &e.local} {
		if *v == 1<<32-1 {
			wide = append(wide, v)
		}
	}
	for len(wide) > 0 && len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return false
		}
		if id == 1 {
			if n < 8*len(wide) {
				return false
			}
			for i, v := range wide {
				u := le.Uint64(extra[8*i:])
				if u > 1<<62 {
					return false
				}
				*v = int64(u)
			}
			return true
		}
		extra = extra[n:]
	}
	return len(wide) == 0
}

// DataOffset reads the local header of a member and returns where its data
// begin, which end before the directory.
func (d *Directory) DataOffset(in *Input, e *Entry) (int64, error) {
	if e.local > d.Start-localBytes {
		return 0, shardify.Corrupt(e.local, "local header lies behind the zip directory at byte %d", d.Start)
	}
	b, err := in.At(e.local, localBytes)
	if err != nil {
		return 0, err
	}
	if string(b[:4]) != localSig {
		return 0, shardify.Corrupt(e.local, "no local header where the zip directory says")
	}
	if m := le.Uint16(b[8:]); m != e.Method {
		return 0, shardify.Corrupt(e.local+8, "local header has method %d, the directory %d", m, e.Method)
	}
	if f := le.Uint16(b[6:]); (f^e.Flags)&EncryptedFlags != 0 {
		return 0, shardify.Corrupt(e.local+6, "local header has flags %#x, the directory %#x", f, e.Flags)
	}
	name, extra := int(le.Uint16(b[26:])), int(le.Uint16(b[28:]))
	off := e.local + localBytes + int64(name) + int64(extra)
	if off > d.Start || e.Packed > d.Start-off {
		return 0, shardify.Corrupt(off, "member of %d bytes runs into the zip directory at byte %d", e.Packed, d.Start)
	}
	if b, err = in.At(e.local+localBytes, name); err != nil {
		return 0, err
	}
	if string(b) != e.raw {
		return 0, shardify.Corrupt(e.local+localBytes, "local header has the name %q", clip(string(b), 60))
	}
	return off, nil
}

// EncryptedFlags are set for members that need a key.
const EncryptedFlags = 1<<0 | 1<<6 | 1<<13

// MaxRatio is more than deflate can shrink anything: 258 bytes to 2 bits.
const MaxRatio = 1040

// high is the upper half of code page 437, in which old zip names are written.
var high = []rune("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0")

func fromCP437(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c < 0x80 {
			b.WriteByte(c)
		} else {
			b.WriteRune(high[c-0x80])
		}
	}
	return b.String()
}

// clip shortens what a file says before it goes into a message.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
