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

type litterKind struct {
	name, reason string
	match        func(base []byte) bool
}

// litter is the names that are never samples; the first match decides.
var litter = []litterKind{
	{"._*", "AppleDouble files of macOS", func(b []byte) bool { return bytes.HasPrefix(b, []byte("._")) }},
	{".DS_Store", "folder settings of macOS", func(b []byte) bool { return string(b) == ".DS_Store" }},
	{".nfs*", "files deleted while open on NFS", func(b []byte) bool { return bytes.HasPrefix(b, []byte(".nfs")) }},
	{".*", "hidden", func(b []byte) bool { return b[0] == '.' }},
	{"desktop.ini", "folder settings of Windows", func(b []byte) bool { return len(b) == 11 && strings.EqualFold(string(b), "desktop.ini") }},
	{"Thumbs.db", "thumbnails of Windows", func(b []byte) bool { return len(b) == 9 && strings.EqualFold(string(b), "Thumbs.db") }},
}

// IsLitter reports whether a listing leaves out files under this name for every format.
func IsLitter(name string) bool {
	return slices.ContainsFunc(litter, func(l litterKind) bool { return l.name == name })
}

// aboutStems and aboutNames are files about the folder that they are in, in lower case: the
// first with an extension of aboutExts, or none.
var (
	aboutStems = words("readme license licence copying notice authors citation changelog changes contributing")
	aboutExts  = words("md txt rst html org adoc cff bib bin")
	aboutNames = words("dataset_info.json dataset_infos.json dataset_dict.json state.json dicomdir")
)

func words(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		m[w] = true
	}
	return m
}

// About reports whether a file is, by its name, about the folder that it is in: it is no
// sample, unless the samples are such files.
func About(base string) bool {
	base = strings.ToLower(base)
	stem, ext, _ := strings.Cut(base, ".")
	return aboutNames[base] || aboutStems[stem] && (ext == "" || aboutExts[ext])
}

// AboutKind reports whether some file of an extension, in lower case and "bin" for none, is
// one that About reports.
func AboutKind(ext string) bool { return aboutExts[ext] || ext == "json" }

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
	if c := base[0] | 0x20; base[0] != '.' && c != 't' && c != 'd' { // all of them begin so
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
