package files

import (
	"bytes"
	"path"
	"path/filepath"
	"strconv"

	"github.com/shardify/shardify"
)

// nameMax is more than any extension takes.
const nameMax = 256

// noExt is the extension of files without one.
const noExt = "bin"

// stemEnd is where the stem of a base name ends: before the first or the last
// dot, leading dots aside.
func stemEnd(base []byte, last bool) int {
	lead := 0
	for lead < len(base) && base[lead] == '.' {
		lead++
	}
	var dot int
	if last {
		dot = bytes.LastIndexByte(base[lead:], '.')
	} else {
		dot = bytes.IndexByte(base[lead:], '.')
	}
	if dot <= 0 {
		return len(base)
	}
	return lead + dot
}

// normalise appends the extension that begins rest (with its dot) in the form
// that all spellings of a type share.
func normalise(dst, rest []byte) []byte {
	if len(rest) <= 1 {
		return append(dst, noExt...)
	}
	from := len(dst)
	for _, c := range rest[1:] {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	last := from + bytes.LastIndexByte(dst[from:], '.') + 1
	switch string(dst[last:]) {
	case "jpeg", "jpe":
		dst = append(dst[:last], "jpg"...)
	case "tiff":
		dst = append(dst[:last], "tif"...)
	}
	return dst
}

// root is what a root of the table means here.
type root struct {
	folder string // opened to reach the files: the root, or where the file that is the root lies
	file   []byte // base name of a root that is a file
	space  int    // roots with one folder share samples
	prefix string // of keys, with its slash; "" for a single space
}

// names tells apart the parts of file names.
type names struct {
	table *shardify.Table
	roots []root
	last  bool     // the stem ends at the last dot
	ends  []uint32 // of the stems, in their files' paths; nil before the files are grouped
}

func newNames(t *shardify.Table, last bool) *names {
	n := &names{table: t, roots: make([]root, len(t.Roots)), last: last}
	asFile := make([]bool, len(t.Roots))
	used := make([]bool, len(t.Roots))
	for i := range t.Len() {
		used[t.Root(i)] = true
		if len(t.NameBytes(i)) == 0 {
			asFile[t.Root(i)] = true
		}
	}
	spaces := map[string]int{}
	for i, r := range t.Roots {
		x := &n.roots[i]
		x.folder = r
		if asFile[i] {
			x.folder, x.file = filepath.Dir(r), []byte(filepath.Base(r))
		}
		if !used[i] {
			continue
		}
		folder := filepath.Clean(x.folder)
		s, ok := spaces[folder]
		if !ok {
			s = len(spaces)
			spaces[folder] = s
		}
		x.space = s
	}
	if len(spaces) > 1 {
		n.prefixes(spaces)
	}
	return n
}

// prefixes names the spaces: by the folder's own name where that is unique and
// fit for a name, else by number as well.
func (n *names) prefixes(spaces map[string]int) {
	base := make([]string, len(spaces))
	for folder, s := range spaces {
		b := filepath.Base(folder)
		if b == "." || b == ".." || b == string(filepath.Separator) {
			b = "input"
		}
		base[s] = b
	}
	count := map[string]int{}
	for _, b := range base {
		count[b]++
	}
	taken := map[string]bool{}
	for _, b := range base {
		taken[b] = count[b] == 1
	}
	for s, b := range base {
		if count[b] == 1 {
			continue
		}
		for k := s; ; k += len(base) {
			if c := b + "-" + strconv.Itoa(k); !taken[c] {
				taken[c], base[s] = true, c
				break
			}
		}
	}
	for i := range n.roots {
		n.roots[i].prefix = base[n.roots[i].space] + "/"
	}
}

// rel is the slash path of file i below its folder.
func (n *names) rel(i int) []byte {
	b := n.table.NameBytes(i)
	if len(b) == 0 {
		return n.roots[n.table.Root(i)].file
	}
	return b
}

// split cuts a path below a folder into the folders with their last slash, the
// stem, and the extension with its dot.
func (n *names) split(rel []byte) (dir, stem, ext []byte) {
	d := bytes.LastIndexByte(rel, '/') + 1
	e := d + stemEnd(rel[d:], n.last)
	return rel[:d], rel[d:e], rel[e:]
}

// stem is what the files of a sample share: folders and stem of file i.
func (n *names) stem(i int) []byte {
	rel := n.rel(i)
	if n.ends != nil {
		rel = rel[:n.ends[i]]
	} else {
		d := bytes.LastIndexByte(rel, '/') + 1
		rel = rel[:d+stemEnd(rel[d:], n.last)]
	}
	for len(rel) > 0 && rel[0] == '/' { // an absolute name below the root ""
		rel = rel[1:]
	}
	return rel
}

// label is the first folder of file i, nil if it has none.
func (n *names) label(i int) []byte {
	stem := n.stem(i)
	if s := bytes.IndexByte(stem, '/'); s > 0 {
		return stem[:s]
	}
	return nil
}

// folder is the path of the folder that dir, of a file of root r, names.
func (n *names) folder(r int, dir []byte) string {
	f := n.roots[r].folder
	switch {
	case f == "" && len(dir) == 0:
		return "."
	case f == "":
		return filepath.FromSlash(path.Clean(string(dir)))
	}
	return filepath.Join(f, filepath.FromSlash(string(dir)))
}

// appendKey appends the name of the sample that file i belongs to.
func (n *names) appendKey(dst []byte, i int) []byte {
	dst = append(dst, n.roots[n.table.Root(i)].prefix...)
	return append(dst, n.stem(i)...)
}

func (n *names) keyLen(i int) int { return len(n.roots[n.table.Root(i)].prefix) + len(n.stem(i)) }
