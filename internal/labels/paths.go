package labels

import (
	"bytes"
	"iter"
	"path"
	"path/filepath"
	"strconv"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// StemEnd is where the stem of a base name ends: before the first or the last
// dot, leading dots aside.
func StemEnd(base []byte, last bool) int {
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

// Root is what a root of the table means for the names of samples.
type Root struct {
	Space  int    // roots with one folder share samples
	Prefix string // of keys, with its slash; "" for a single space
	folder string // opened to reach the files: the root, or where the file that is the root lies
	file   []byte // base name of a root that is a file
}

// Paths tells apart the parts of the names of input files: folders, the stem, which names
// a sample, and the extension.
type Paths struct {
	Table *format.Table
	Roots []Root
	Last  bool     // the stem ends at the last dot
	Ends  []uint32 // of the stems, in their files' paths, where they are known; nil if they are not
}

// NewPaths looks at the roots of a table.
func NewPaths(t *format.Table, last bool) *Paths {
	return newPaths(t, last, func(yield func(int) bool) {
		for i := range t.Len() {
			if !yield(i) {
				return
			}
		}
	})
}

// newPaths looks at the roots of some inputs.
func newPaths(t *format.Table, last bool, inputs iter.Seq[int]) *Paths {
	p := &Paths{Table: t, Roots: make([]Root, len(t.Roots)), Last: last}
	asFile := make([]bool, len(t.Roots))
	used := make([]bool, len(t.Roots))
	for i := range inputs {
		used[t.Root(i)] = true
		if len(t.NameBytes(i)) == 0 {
			asFile[t.Root(i)] = true
		}
	}
	spaces := map[string]int{}
	for i, r := range t.Roots {
		x := &p.Roots[i]
		x.folder = r
		if asFile[i] {
			x.folder, x.file = storage.Dir(r), []byte(filepath.Base(r))
		}
		if !used[i] {
			continue
		}
		folder := storage.Clean(x.folder)
		s, ok := spaces[folder]
		if !ok {
			s = len(spaces)
			spaces[folder] = s
		}
		x.Space = s
	}
	if len(spaces) > 1 {
		p.prefixes(spaces)
	}
	return p
}

// prefixes names the spaces: by the folder's own name where that is unique and
// fit for a name, else by number as well.
func (p *Paths) prefixes(spaces map[string]int) {
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
	for i := range p.Roots {
		p.Roots[i].Prefix = base[p.Roots[i].Space] + "/"
	}
}

// Prefixes are those of the roots, as a plan keeps them: roots may be others elsewhere.
func (p *Paths) Prefixes() []string {
	var out []string
	for i := range p.Roots {
		out = append(out, p.Roots[i].Prefix)
	}
	return out
}

// SetPrefixes is the inverse of Prefixes.
func (p *Paths) SetPrefixes(list []string) {
	for i, x := range list {
		p.Roots[i].Prefix = x
	}
}

// Rel is the slash path of file i below its folder.
func (p *Paths) Rel(i int) []byte {
	b := p.Table.NameBytes(i)
	if len(b) == 0 {
		return p.Roots[p.Table.Root(i)].file
	}
	return b
}

// Split cuts a path below a folder into the folders with their last slash, the
// stem, and the extension with its dot.
func (p *Paths) Split(rel []byte) (dir, stem, ext []byte) {
	d := bytes.LastIndexByte(rel, '/') + 1
	e := d + StemEnd(rel[d:], p.Last)
	return rel[:d], rel[d:e], rel[e:]
}

// Stem is the folders and the stem of file i.
func (p *Paths) Stem(i int) []byte {
	rel := p.Rel(i)
	if p.Ends != nil {
		rel = rel[:p.Ends[i]]
	} else {
		d := bytes.LastIndexByte(rel, '/') + 1
		rel = rel[:d+StemEnd(rel[d:], p.Last)]
	}
	for len(rel) > 0 && rel[0] == '/' { // an absolute name below the root ""
		rel = rel[1:]
	}
	return rel
}

// Class is the first folder of file i, nil if it has none.
func (p *Paths) Class(i int) []byte {
	stem := p.Stem(i)
	if s := bytes.IndexByte(stem, '/'); s > 0 {
		return stem[:s]
	}
	return nil
}

// Folder is the path of the folder that dir, of a file of root r, names.
func (p *Paths) Folder(r int, dir []byte) string {
	f := p.Roots[r].folder
	switch {
	case f == "" && len(dir) == 0:
		return "."
	case f == "":
		return filepath.FromSlash(path.Clean(string(dir)))
	}
	return storage.Join(f, string(dir))
}

// AppendKey appends the name of the sample that file i belongs to.
func (p *Paths) AppendKey(dst []byte, i int) []byte {
	dst = append(dst, p.Roots[p.Table.Root(i)].Prefix...)
	return append(dst, p.Stem(i)...)
}

// KeyLen is the length of what AppendKey appends.
func (p *Paths) KeyLen(i int) int { return len(p.Roots[p.Table.Root(i)].Prefix) + len(p.Stem(i)) }

// Names gives the names of file i, for a table of labels.
func (p *Paths) Names(i int, by By, do func(name []byte)) {
	name := bytes.TrimLeft(p.Rel(i), "/")
	if by == ByStem || by == ByBaseStem {
		name = p.Stem(i)
	}
	if by == ByBase || by == ByBaseStem {
		name = name[bytes.LastIndexByte(name, '/')+1:]
	}
	do(name)
}
