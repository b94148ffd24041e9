package lines

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
)

func ascii(b []byte) bool {
	for ; len(b) >= 32; b = b[32:] {
		x := binary.LittleEndian.Uint64(b) | binary.LittleEndian.Uint64(b[8:]) | binary.LittleEndian.Uint64(b[16:]) | binary.LittleEndian.Uint64(b[24:])
		if x&0x8080808080808080 != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Check refuses zero bytes and what is not UTF-8, naming the line. cure says what to do about
// the latter.
func (p *Piece) Check(cure string) error {
	if at := bytes.IndexByte(p.Data, 0); at >= 0 {
		return p.Corrupt(at, "a zero byte")
	}
	if ascii(p.Data) {
		return nil
	}
	at, why := printable.NotUTF8(p.Data)
	if at < 0 {
		return nil
	}
	e := shardify.Unsupported("line %d is not UTF-8 (%s)%s", p.LineAt(at), why, cure)
	e.Offset = p.Off + int64(at)
	return e
}

// Corrupt is the error of what stands at Data[at], with its line where that is known.
func (p *Piece) Corrupt(at int, format string, args ...any) *shardify.Error {
	if n := p.LineAt(at); n > 0 {
		format, args = "line %d: "+format, append([]any{n}, args...)
	}
	return shardify.Corrupt(p.Off+int64(at), format, args...)
}
