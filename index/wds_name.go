package index

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// memberName is what follows the key and a dot in the name of a field's member.
// Decoders of other libraries go by what stands after its last dot.
func memberName(f *shardify.Field) string {
	base := memberText(f.Name)
	switch {
	case f.Media == "":
		if f.Name == "cls" && f.DType.IsInt() && f.Levels == 0 && len(f.Shape) == 0 {
			return "cls"
		}
		if base == "npy" { // key.npy in tars of other making
			return base
		}
		return base + ".npy"
	case f.Media == "image" && base == "image":
		return "*"
	case f.Media == "image":
		return base + ".*"
	case f.Levels == 2:
		return withExt(base, "json")
	}
	name := withExt(base, memberText(f.Media))
	if imageTraps[name[strings.LastIndexByte(name, '.')+1:]] {
		name += ".bin"
	}
	return name
}

// withExt appends an extension unless the name is it or ends in it already: the
// field of files *.seg.png is "seg.png".
func withExt(base, ext string) string {
	if base == ext || strings.HasSuffix(base, "."+ext) {
		return base
	}
	return base + "." + ext
}

// memberText makes a field's name fit [a-z0-9_]+(\.[a-z0-9_]+)*, not beginning
// with "__", which other libraries keep for themselves.
func memberText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			b.WriteRune(r)
		case r >= 'A' && r <= 'Z':
			b.WriteRune(r - 'A' + 'a')
		default:
			b.WriteByte('_')
		}
	}
	parts := strings.Split(b.String(), ".")
	for i := range parts {
		if parts[i] == "" {
			parts[i] = "_"
		}
	}
	name := strings.Join(parts, ".")
	if strings.HasPrefix(name, "__") {
		return "f" + name
	}
	return name
}

// imageTraps are extensions that Hugging Face datasets takes for an image or a
// sound and fails to decode, although files so named mostly hold something else.
var imageTraps = func() map[string]bool {
	m := map[string]bool{}
	for _, e := range strings.Fields(`blp bufr bw cur dcx emf eps fit fits flc fli ftc ftu gbr grib h5 hdf icb iim im
		mpeg mpg msp pcd ps pxr raw vda vst wmf xi`) {
		m[e] = true
	}
	return m
}()

// imageTrap reports an extension that foreign loaders take for an image although
// it mostly is none.
func imageTrap(ext string) bool { return imageTraps[ext] }

func checkMemberName(name string) error {
	ok := name != "" && len(name) <= MaxTarName-2 && !strings.HasPrefix(name, "__")
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		dot := c == '.' && i > 0 && i < len(name)-1 && name[i-1] != '.'
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || dot
	}
	if !ok {
		return shardify.Mismatch("tar member name %.120q: want a-z, 0-9, _ and single dots, at most %d bytes, not beginning with __", name, MaxTarName-2)
	}
	return nil
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

// tarRune tells whether a name may have this decoded character of n bytes beyond ASCII.
// All readers take names for UTF-8.
func tarRune(r rune, n int) bool {
	return (r != utf8.RuneError || n > 1) && !unicode.IsControl(r) && r != '\u2028' && r != '\u2029'
}

// CheckKey checks the name of a sample: a slash path of printable characters other
// than space and backslash, in UTF-8. Folders may have dots inside, and it does not
// begin with "__". Others some loader would split, skip or misread.
func CheckKey(key []byte) error {
	if len(key) == 0 {
		return shardify.Mismatch("a sample without a key")
	}
	if len(key) > MaxTarName-2 {
		return shardify.Mismatch("key %q is %d bytes long, a tar holds %d: shorten it, or use --keys ordinal", key, len(key), MaxTarName-2)
	}
	allowed := uint8(1)
	for i := len(key) - 1; i >= 0; i-- {
		c := key[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeLastRune(key[:i+1])
			if i -= n - 1; !tarRune(r, n) {
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
