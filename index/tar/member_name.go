package tar

import (
	"strings"

	"github.com/shardify/shardify"
)

// memberName is what follows the key and a dot in the name of a field's member.
// Decoders of other libraries use what follows its last dot.
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

func checkMemberName(name string) error {
	ok := name != "" && len(name) <= MaxName-2 && !strings.HasPrefix(name, "__")
	for i := 0; ok && i < len(name); i++ {
		c := name[i]
		dot := c == '.' && i > 0 && i < len(name)-1 && name[i-1] != '.'
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || dot
	}
	if !ok {
		return shardify.Mismatch("tar member name %.120q: want a-z, 0-9, _ and single dots, at most %d bytes, not beginning with __", name, MaxName-2)
	}
	return nil
}
