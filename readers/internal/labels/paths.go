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

// Stem says where the stem of a base name ends and the extension begins.
type Stem uint8

// The kinds of stems. Leading dots count for none of them.
const (
	First  Stem = iota // at the first dot
	Number             // at the first dot without a digit behind it
	Last               // at the last dot
)

// End is where the stem of a base name ends.
func (s Stem) End(base []byte) int {
	lead := 0
	for lead < len(base) && base[lead] == '.' {
		lead++
	}
	var dot int
	if s == Last {
		dot = bytes.LastIndexByte(base[lead:], '.')
	} else {
		dot = bytes.IndexByte(base[lead:], '.')
	}
	if dot <= 0 {
		return len(base)
	}
	if dot += lead; s == Number {
		return behindNumbers(base, dot)
	}
	return dot
}

// behindNumbers is the first dot, from one on, that begins an extension: no digit follows
// it, or it is the last and what follows is not all digits, as in .3gp.
func behindNumbers(base []byte, dot int) int {
	for {
		part, _, more := bytes.Cut(base[dot+1:], []byte("."))
		switch {
		case len(part) == 0 || part[0] < '0' || part[0] > '9', !more && !Digits(part):
			return dot
		case !more:
			return len(base)
		}
		dot += 1 + len(part)
	}
}

// Digits reports whether text is a number: digits alone.
func Digits[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return len(text) > 0
}

// Root is what a root of the table means for the names of samples.
type Root struct {
	Space  int    // roots with one folder share samples
	Prefix string // of keys, escaped, with its slash; "" for a single space
	folder string // opened to reach the files: the root, or the folder of the file that is the root
	file   []byte // base name of a root that is a file
}

// Paths splits the names of input files into parts: folders, the stem, which names a sample, and
// the extension.
type Paths struct {
	Table  *format.Table
	Roots  []Root
	By     Stem
	Second bool     // classes are the second folders: the first are splits
	Ends   []uint32 // of the stems, in their files' paths, where they are known; nil if they are not
}

// NewPaths looks at the roots of a table.
func NewPaths(t *format.Table, by Stem) *Paths {
	return newPaths(t, by, func(yield func(int) bool) {
		for i := range t.Len() {
			if !yield(i) {
				return
			}
		}
	})
}

// newPaths looks at the roots of some inputs.
func newPaths(t *format.Table, by Stem, inputs iter.Seq[int]) *Paths {
	p := &Paths{Table: t, Roots: make([]Root, len(t.Roots)), By: by}
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

// prefixes names the spaces: by the folder's own name where that is unique and can be a name, else
// by number as well.
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
		p.Roots[i].Prefix = string(appendEscaped(nil, []byte(base[p.Roots[i].Space]+"/"), true))
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

// Split cuts the path of file i below its folder into the folders with their last slash, the
// stem, and the extension with its dot.
func (p *Paths) Split(i int) (dir, stem, ext []byte) {
	rel := p.Rel(i)
	d, e := bytes.LastIndexByte(rel, '/')+1, 0
	if p.Ends != nil {
		e = int(p.Ends[i])
	} else {
		e = d + p.By.End(rel[d:])
	}
	return rel[:d], rel[d:e], rel[e:]
}

// Stem is the folders and the stem of file i.
func (p *Paths) Stem(i int) []byte {
	rel := p.Rel(i)
	if p.Ends != nil {
		rel = rel[:p.Ends[i]]
	} else {
		d := bytes.LastIndexByte(rel, '/') + 1
		rel = rel[:d+p.By.End(rel[d:])]
	}
	for len(rel) > 0 && rel[0] == '/' { // an absolute name below the root ""
		rel = rel[1:]
	}
	return rel
}

// Class is the folder that says the class of file i, nil if it is in no folder.
func (p *Paths) Class(i int) []byte {
	if p.Second {
		return p.folder(i, 1)
	}
	return p.folder(i, 0)
}

// folder is the first or the second folder of file i.
func (p *Paths) folder(i, level int) []byte {
	rest := p.Stem(i)
	for {
		s := bytes.IndexByte(rest, '/')
		switch {
		case s <= 0:
			return nil
		case level == 0:
			return rest[:s]
		}
		rest, level = rest[s+1:], level-1
	}
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

// AppendKey appends the name of the sample that file i belongs to, escaped where a tar
// could not hold it.
func (p *Paths) AppendKey(dst []byte, i int) []byte {
	prefix := p.Roots[p.Table.Root(i)].Prefix
	return appendEscaped(append(dst, prefix...), p.Stem(i), prefix == "")
}

// KeyLen is the length of what AppendKey appends.
func (p *Paths) KeyLen(i int) int {
	prefix := p.Roots[p.Table.Root(i)].Prefix
	return len(prefix) + escapedLen(p.Stem(i), prefix == "")
}

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
