package normal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/shardify/shardify/tokenize/chars"
)

// Charsmap is the table precompiled_charsmap of SentencePiece:
//
//	0    u32  size of the trie in bytes
//	4    u32  units of a double array, each with a byte, an offset and whether a text ends
//	...       texts that end with NUL, which the trie's values are offsets of
//
// The numbers are little-endian. Every index is checked when it is used.
type Charsmap struct {
	units []uint32
	texts []byte
}

// NewCharsmap checks a table.
func NewCharsmap(b []byte) (*Charsmap, error) {
	if len(b) < 4 {
		return nil, errors.New("it ends before the size of its trie")
	}
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; n%4 != 0 || n == 0 || int64(n) > int64(len(b)) {
		return nil, errors.New("the size of its trie is wrong")
	}
	m := &Charsmap{texts: b[n:]}
	if !utf8.Valid(m.texts) || len(m.texts) > 0 && m.texts[len(m.texts)-1] != 0 {
		return nil, errors.New("its texts are damaged")
	}
	for i := uint32(0); i < n; i += 4 {
		m.units = append(m.units, binary.LittleEndian.Uint32(b[i:]))
	}
	return m, nil
}

func unitOffset(u uint32) uint32 { return u >> 10 << (u & 0x200 >> 6) }

// maxKey bounds the texts that a table finds: at each place in a text as much may be read.
const maxKey = 1024

// find finds what s begins with: the longest, or the shortest, of the texts in the table. n is its
// length, 0 without one, -1 if the table goes on beyond maxKey.
func (m *Charsmap) find(s []byte, shortest bool) (to []byte, n int) {
	to, n, _ = m.walk(s, shortest)
	return to, n
}

// walk is find; depth is how many bytes of s any text in the table begins with.
func (m *Charsmap) walk(s []byte, shortest bool) (to []byte, n, depth int) {
	pos := unitOffset(m.units[0])
	for i, c := range s {
		if i == maxKey {
			return nil, -1, i
		}
		pos ^= uint32(c)
		if int64(pos) >= int64(len(m.units)) {
			break
		}
		u := m.units[pos]
		if u&0x800000ff != uint32(c) {
			break
		}
		depth = i + 1
		pos ^= unitOffset(u)
		if u>>8&1 != 0 && int64(pos) < int64(len(m.units)) {
			to, n = m.text(m.units[pos]&0x7fffffff), i+1
			if shortest {
				break
			}
		}
	}
	return to, n, depth
}

// begins reports whether the table changes c alone, or before another character of ASCII.
func (m *Charsmap) begins(c byte) bool {
	if _, n := m.find([]byte{c}, false); n > 0 {
		return true
	}
	for next := range byte(utf8.RuneSelf) {
		if _, _, depth := m.walk([]byte{c, next}, false); depth > 1 {
			return true
		}
	}
	return false
}

// text is the one that begins at an offset.
func (m *Charsmap) text(at uint32) []byte {
	if int64(at) >= int64(len(m.texts)) {
		return nil
	}
	t := m.texts[at:]
	return t[:max(bytes.IndexByte(t, 0), 0)]
}

// Clusters is the table as Hugging Face applies it: to what a user sees as one character, if
// that is shorter than six bytes and anything in the table begins it, else to its characters.
type Clusters struct {
	Map   *Charsmap
	Chars *chars.Props
}

const maxCluster = 6

func (c Clusters) Apply(dst, s []byte, limit int) ([]byte, error) {
	for len(s) > 0 {
		n := chars.ClusterLen(s, c.Chars)
		if n < maxCluster {
			if to, k := c.Map.find(s[:n], true); k > 0 {
				if dst, s = append(dst, to...), s[n:]; len(dst) > limit {
					return nil, tooLong()
				}
				continue
			}
		}
		for part := s[:n]; len(part) > 0; {
			_, k := utf8.DecodeRune(part)
			if to, found := c.Map.find(part[:k], true); found > 0 {
				dst = append(dst, to...)
			} else {
				dst = append(dst, part[:k]...)
			}
			if part = part[k:]; len(dst) > limit {
				return nil, tooLong()
			}
		}
		s = s[n:]
	}
	return dst, nil
}
