package tar

import (
	"bytes"
	"math"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// SplitKey splits a member's name into the key of its sample and its field, as
// webdataset, Energon and Hugging Face datasets do, by the expression
//
//	^((?:.*/|)[^.]+)[.]([^/]*)$
//
// so at the first dot behind the last slash. A base name that begins with a dot makes that
// expression match from before the slash: the key then ends in a slash, and names a sample
// by mistake. ok is false for names that those loaders skip.
func SplitKey(name []byte) (key, field []byte, ok bool) {
	base := bytes.LastIndexByte(name, '/') + 1
	dot := bytes.IndexByte(name[base:], '.')
	if dot < 0 {
		return nil, nil, false
	}
	if dot += base; dot == base {
		if base == 0 {
			return nil, nil, false
		}
		// The part before the slash takes the place of the base name: it may not
		// hold a dot, and may be empty only at the slash itself.
		folder := bytes.LastIndexByte(name[:base-1], '/') + 1
		if bytes.IndexByte(name[folder:base-1], '.') >= 0 {
			return nil, nil, false
		}
	}
	return name[:dot:dot], name[dot+1:], true
}

// keyBytes has bit 0 for ASCII bytes of a key's last part, bit 1 for those of folders.
// A space ends a name in DALI's index, and a backslash is a separator on Windows.
var keyBytes = func() (t [256]uint8) {
	for c := byte(0x21); c < 0x7f; c++ {
		t[c] = 3
	}
	t['\\'], t['.'] = 0, 2
	return t
}()

// nameRune reports whether a name may have this decoded character of n bytes beyond ASCII.
// All readers take names for UTF-8.
func nameRune(r rune, n int) bool {
	return (r != utf8.RuneError || n > 1) && !unicode.IsControl(r) && r != '\u2028' && r != '\u2029'
}

// CheckKey checks the name of a sample: a slash path of printable characters other
// than space and backslash, in UTF-8. Folders may have dots inside, and it does not
// begin with "__". Others some loader would split, skip or misread.
func CheckKey(key []byte) error {
	if len(key) == 0 {
		return shardify.Mismatch("a sample without a key")
	}
	if len(key) > MaxName-2 {
		return shardify.Mismatch("key %q is %d bytes long, a tar holds %d: shorten it, or use --keys ordinal", key, len(key), MaxName-2)
	}
	allowed := uint8(1)
	for i := len(key) - 1; i >= 0; i-- {
		c := key[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeLastRune(key[:i+1])
			if i -= n - 1; !nameRune(r, n) {
				return badKey(key, strconv.QuoteToASCII(string(key[i:i+n]))+" at "+strconv.Itoa(i))
			}
		} else if c == '/' {
			allowed = 2
			if i == 0 || i == len(key)-1 || key[i-1] == '/' {
				return badKey(key, "an empty part")
			}
		} else if keyBytes[c]&allowed == 0 {
			return badKey(key, strconv.Quote(string(rune(c)))+" at "+strconv.Itoa(i))
		}
		if c == '.' && (i == 0 || key[i-1] == '/') {
			return badKey(key, "a part that begins with a dot")
		}
	}
	if key[0] == '_' && len(key) > 1 && key[1] == '_' {
		return badKey(key, "__ at its beginning")
	}
	return nil
}

func badKey(key []byte, what string) error {
	return shardify.Mismatch("key %q has %s, which some reader of WebDataset tars would misread: rename the file, or use --keys ordinal, or --format mmap, which takes any name", key, what)
}

// AppendRowKey appends the key of a sample without a name of its own:
// IIIIII-SSSSSSSSS, and -CCC for a copy.
func AppendRowKey(dst []byte, id shardify.ID) []byte {
	dst = appendDigits(dst, uint64(id.Input), 6)
	dst = appendDigits(append(dst, '-'), uint64(max(id.Sample, 0)), 9)
	return AppendCopy(dst, id)
}

// AppendCopy appends -CCC to the key of a copy.
func AppendCopy(dst []byte, id shardify.ID) []byte {
	if id.Copy == 0 {
		return dst
	}
	return appendDigits(append(dst, '-'), uint64(id.Copy), 3)
}

// RowKeyBytes is the length of most row keys.
const RowKeyBytes = 6 + 1 + 9

// appendDigits writes v in at least width digits, 9 at most.
func appendDigits(dst []byte, v uint64, width int) []byte {
	if v >= pow10[width] {
		return strconv.AppendUint(dst, v, 10)
	}
	const digits = "000000000"
	dst = append(dst, digits[:width]...)
	for i := len(dst) - 1; v > 0; i-- {
		q := v / 10
		dst[i] = '0' + byte(v-q*10)
		v = q
	}
	return dst
}

var pow10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// ParseRowKey is the inverse of AppendRowKey.
func ParseRowKey(key []byte) (id shardify.ID, ok bool) {
	input, rest, _ := bytes.Cut(key, []byte("-"))
	sample, copies, _ := bytes.Cut(rest, []byte("-"))
	in, ok1 := parseDigits(input, math.MaxUint32)
	n, ok2 := parseDigits(sample, math.MaxInt64)
	c, ok3 := parseDigits(copies, math.MaxUint16)
	id = shardify.ID{Input: uint32(in), Sample: int64(n), Copy: uint16(c)}
	var text [48]byte // there is one way to write each key: no zero too few or many
	if !ok1 || !ok2 || !ok3 || !bytes.Equal(AppendRowKey(text[:0], id), key) {
		return shardify.ID{}, false
	}
	return id, true
}

func parseDigits(b []byte, limit uint64) (v uint64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' || v > limit/10 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, v <= limit
}
