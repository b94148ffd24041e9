package walk

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
)

// litter is the names that are never samples; the first match decides.
var litter = []struct {
	name, reason string
	match        func(base []byte) bool
}{
	{"._*", "AppleDouble files of macOS", func(b []byte) bool { return bytes.HasPrefix(b, []byte("._")) }},
	{".DS_Store", "folder settings of macOS", func(b []byte) bool { return string(b) == ".DS_Store" }},
	{".nfs*", "files deleted while open on NFS", func(b []byte) bool { return bytes.HasPrefix(b, []byte(".nfs")) }},
	{".*", "hidden", func(b []byte) bool { return b[0] == '.' }},
	{"Thumbs.db", "thumbnails of Windows", func(b []byte) bool { return len(b) == 9 && strings.EqualFold(string(b), "Thumbs.db") }},
}

const (
	reasonLoop  = "lead to a folder that holds them"
	reasonOther = "not an input of this format"
	// kinds bounds the different extensions that are reported one by one.
	kinds = 32
)

// leftOut counts what is not in the table, by reason.
type leftOut map[leftKey]int64

type leftKey struct{ name, reason string }

// litter counts base and reports true if it is never a sample.
func (l *leftOut) litter(base []byte) bool {
	if base[0] != '.' && base[0]|0x20 != 't' { // all of them begin so
		return false
	}
	for i := range litter {
		if litter[i].match(base) {
			l.add(litter[i].name, litter[i].reason, 1)
			return true
		}
	}
	return false
}

// other counts a file that the format does not want, by extension.
func (l *leftOut) other(base string) {
	ext := strings.ToLower(path.Ext(base))
	if len(ext) > 10 || strings.Trim(ext, ".0123456789") == "" {
		ext = "" // part of a name rather than a type
	}
	l.add("*"+ext, reasonOther, 1)
}

func (l *leftOut) add(name, reason string, n int64) {
	if *l == nil {
		*l = leftOut{}
	}
	(*l)[leftKey{name, reason}] += n
}

func (l *leftOut) merge(m leftOut) {
	for k, n := range m {
		l.add(k.name, k.reason, n)
	}
}

// list is sorted by reason and name; extensions beyond the first few are one
// entry.
func (l leftOut) list() []format.Leftover {
	keys := slices.SortedFunc(maps.Keys(l), func(a, b leftKey) int {
		return cmp.Or(strings.Compare(a.reason, b.reason), strings.Compare(a.name, b.name))
	})
	var list []format.Leftover
	for _, k := range keys {
		n := len(list)
		if n >= kinds && list[n-1].Reason == k.reason {
			list[n-1].Name = "*"
			list[n-1].Count += l[k]
			continue
		}
		list = append(list, format.Leftover{Name: k.name, Reason: k.reason, Count: l[k]})
	}
	return list
}
