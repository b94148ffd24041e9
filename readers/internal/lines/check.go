package lines

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// ascii reports whether b is ASCII without zero bytes.
func ascii(b []byte) bool {
	const ones, tops = 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	for ; len(b) >= 32; b = b[32:] {
		x, y, z, w := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		// Of bytes below 128, those that are not zero have their highest bit in the sum.
		if (x|y|z|w|^((x+ones)&(y+ones)&(z+ones)&(w+ones)))&tops != 0 {
			return false
		}
	}
	for _, c := range b {
		if c == 0 || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func valid(b []byte) bool { return ascii(b) || utf8.Valid(b) }

// Check refuses zero bytes and what is not UTF-8, naming the line. cure says what to do about
// the latter.
func (p *Piece) Check(cure string) error { return p.CheckRecord(0, len(p.Data), cure) }

// CheckRecord is Check of Data[lo:hi].
func (p *Piece) CheckRecord(lo, hi int, cure string) error {
	b := p.Data[lo:hi]
	if ascii(b) {
		return nil
	}
	if at := bytes.IndexByte(b, 0); at >= 0 {
		return p.Corrupt(lo+at, "a zero byte")
	}
	if p.Dirty {
		return nil
	}
	at, why := printable.NotUTF8(b)
	if at < 0 {
		return nil
	}
	at += lo
	e := shardify.Unsupported("%s %d is not UTF-8 (%s)%s", p.Record(), p.LineAt(at), why, cure)
	e.Offset = p.place(at)
	return e
}

// Cure is what to say to Check where bad UTF-8 is replaced or left out on request.
const Cure = "; --bad-utf8 replace writes U+FFFD in its place, --on-error skip leaves it out"

// Leave leaves the record at Data[at] out, which a survey found to be damaged.
func (p *Piece) Leave(at int, why error) {
	p.lost = append(p.lost, Left{p.Off + int64(at), fmt.Sprintf("%s %d", p.Record(), p.LineAt(at)), why})
}

// Left reports whether the record at Data[at] is left out.
func (p *Piece) Left(at int) bool {
	if len(p.left) == 0 {
		return false
	}
	_, found := slices.BinarySearch(p.left, p.Off+int64(at))
	return found
}

// Skipped lists records that are left out, for the manifest: the first ones each, the others
// together. They are not samples, so that they are numbered behind those of the file.
func (x *Index) Skipped() []format.Skip { return Skips(x.Rows(), x.Left) }

// Skips lists records that are left out of n samples.
func Skips(n int64, left []Left) (out []format.Skip) {
	const most = 1000
	for i := range left {
		l := &left[i]
		s := format.Skip{Object: l.Record, Lo: n, Hi: n + 1, Reason: l.Why.Error()}
		if e, ok := errors.AsType[*shardify.Error](l.Why); ok {
			if s.Reason = e.Err.Error(); e.Offset >= 0 {
				s.Reason += fmt.Sprintf(" (at byte %d)", e.Offset)
			}
		}
		if rest, ok := strings.CutPrefix(s.Reason, s.Object); ok {
			s.Reason = strings.TrimLeft(rest, ": ")
		}
		if rest := int64(len(left) - i); i == most && rest > 1 {
			s.Hi, s.Reason = n+rest, fmt.Sprintf("%s; and %d more records behind it", s.Reason, rest-1)
			return append(out, s)
		}
		out, n = append(out, s), n+1
	}
	return out
}

// Corrupt is the error of the text at Data[at], with its line where that is known.
func (p *Piece) Corrupt(at int, format string, args ...any) *shardify.Error {
	if n := p.LineAt(at); n > 0 {
		format, args = "%s %d: "+format, append([]any{p.Record(), n}, args...)
	}
	return shardify.Corrupt(p.place(at), format, args...)
}

// place is where Data[at] is in the file; -1 if it is not there.
func (p *Piece) place(at int) int64 {
	if p.made != nil {
		return -1
	}
	return p.Off + int64(at)
}
