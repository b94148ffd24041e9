// Package pairs has the grammar of --pair, and finds folders that are pairs.
//
//	list, err := pairs.Parse("image=images,mask=masks:_mask")
//	names := pairs.Names(list, files, labels.Last)   // images/a/1.jpg is a/1.image.jpg
package pairs

import (
	"bytes"
	"cmp"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/tars"
	"github.com/shardify/shardify/storage/walk"
)

// Pair is a folder of files that are one field of the samples. What a path is without the folder,
// the suffix and the extension names the sample.
type Pair struct {
	Field  string
	Path   string   // of the folder; ".": the INPUT itself
	folder []string // its parts; none: the INPUT itself
	Suffix string   // of stems, or of whole file names
	Text   string   // as the user wrote it
}

// maxPairs bounds the folders of a sample.
const maxPairs = 256

// Parse reads the value of --pair; nil for "".
func Parse(text string) (list []Pair, err error) {
	if text == "" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		p := Pair{Text: strings.TrimSpace(word)}
		field, folder, ok := strings.Cut(p.Text, "=")
		folder, p.Suffix, _ = strings.Cut(folder, ":")
		if folder = strings.Trim(folder, "/"); !ok || field == "" || folder == "" || strings.Contains(p.Suffix, "/") {
			return nil, shardify.Misuse("--pair %q: want FIELD=FOLDER or FIELD=FOLDER:SUFFIX, as in image=images,mask=masks:_mask", p.Text)
		}
		if err := shardify.ValidName(field); err != nil || strings.ContainsAny(field, ".*/: ") {
			return nil, shardify.Misuse("--pair %q: %q cannot be the name of a field; letters, digits and _ can", p.Text, field)
		}
		for part := range strings.SplitSeq(folder, "/") {
			switch part {
			case ".":
			case "", "..":
				return nil, shardify.Misuse("--pair %q: the folder is a path below the INPUT, without %q", p.Text, part)
			default:
				p.folder = append(p.folder, part)
			}
		}
		p.Field, p.Path = field, cmp.Or(strings.Join(p.folder, "/"), ".")
		for i := range list {
			if o := &list[i]; strings.EqualFold(o.Field, field) {
				return nil, shardify.Misuse("--pair: %s and %s are one field: each needs a name of its own", o.Text, p.Text)
			} else if slices.Equal(o.folder, p.folder) && o.Suffix == p.Suffix {
				return nil, shardify.Misuse("--pair: %s and %s are the same files", o.Text, p.Text)
			}
		}
		list = append(list, p)
	}
	if len(list) > maxPairs {
		return nil, shardify.Misuse("--pair: %d folders; a sample has at most %d", len(list), maxPairs)
	}
	return list, nil
}

// in is the place of the pair's folder in a path: where its outermost occurrence begins and ends.
// The end is that of its last slash.
func (p *Pair) in(dir []byte) (from, to int, ok bool) {
	for from <= len(dir) {
		to, ok = from, true
		for _, part := range p.folder {
			if ok = bytes.HasPrefix(dir[to:], []byte(part)) && len(dir) > to+len(part) && dir[to+len(part)] == '/'; !ok {
				break
			}
			to += len(part) + 1
		}
		if ok {
			return from, to, true
		}
		slash := bytes.IndexByte(dir[from:], '/')
		if slash < 0 {
			break
		}
		from += slash + 1
	}
	return 0, 0, false
}

// stem cuts a file name into what the other members share and the extension.
func (p *Pair) stem(base []byte, by labels.Stem) (stem, ext []byte, ok bool) {
	end := stemEnd(base, by)
	stem, ext = base[:end], base[end:]
	switch {
	case bytes.HasSuffix(stem, []byte(p.Suffix)):
		stem = stem[:len(stem)-len(p.Suffix)]
	case bytes.HasSuffix(base, []byte(p.Suffix)) && len(p.Suffix) >= len(ext):
		stem = base[:len(base)-len(p.Suffix)]
	default:
		return nil, nil, false
	}
	return stem, ext, true
}

// Packed reports whether files with an extension are packed ones of another kind.
func Packed(ext string) bool {
	return slices.Contains([]string{"gz", "bz2", "xz", "zst"}, strings.ToLower(ext))
}

// stemEnd is where the stem of a file name ends: at the last dot by labels.Last, where an extension
// of compressed files and the one before it are one, as in .nii.gz.
func stemEnd(base []byte, by labels.Stem) int {
	end := by.End(base)
	if by != labels.Last {
		return end
	}
	if end < len(base) && Packed(string(base[end+1:])) {
		if e := labels.Last.End(base[:end]); e < end && !labels.Digits(base[e+1:end]) {
			return e
		}
	}
	return end
}

// find finds which pair takes a path: of those with the suffix that whose folder has the most
// parts, then is the outermost, then has the longest suffix.
func find(list []Pair, file []byte, by labels.Stem) (best *Pair, key []byte, ext []byte) {
	d := bytes.LastIndexByte(file, '/') + 1
	at := 0
	for i := range list {
		p := &list[i]
		from, to, ok := p.in(file[:d])
		if !ok || best != nil && cmp.Or(cmp.Compare(len(p.folder), len(best.folder)), cmp.Compare(at, from), cmp.Compare(len(p.Suffix), len(best.Suffix))) <= 0 {
			continue
		}
		stem, e, ok := p.stem(file[d:], by)
		if !ok {
			continue
		}
		name := slices.Concat(file[:from], file[to:d], stem)
		if len(stem) == 0 { // all of the name is the suffix: the folder names the sample
			name = bytes.TrimSuffix(name, []byte("/"))
		}
		if len(name) > 0 {
			best, at, ext, key = p, from, e, name
		}
	}
	return best, key, ext
}

// untar is the path of a file in a tar as a pair may have it: below the tar, if a pair has that in
// its folder, by its name or a pattern such as images-*.tar, else below the folder of the tar.
func untar(list []Pair, name []byte) []byte {
	if bytes.IndexByte(name, '!') < 0 {
		return name
	}
	file, member, ok := tars.Split(string(name))
	if !ok {
		return name
	}
	dir, base := path.Split(file)
	for i := range list {
		for _, part := range list[i].folder {
			if ok, err := path.Match(part, base); strings.EqualFold(path.Ext(part), ".tar") && (ok && err == nil || part == base) {
				return []byte(dir + part + "/" + member)
			}
		}
	}
	return []byte(dir + member)
}

// InTars reports whether tars are folders: with pairs, unless one of them has tars as files.
func InTars(o format.Options) bool {
	list, err := Parse(o["pair"])
	return err == nil && list != nil && !slices.ContainsFunc(list, func(p Pair) bool { return strings.EqualFold(path.Ext(p.Suffix), ".tar") })
}

// Names is the names of the files as if all members of a sample were in one folder:
// images/train/1.jpg is train/1.image.jpg. Files in no pair keep theirs, in another space.
func Names(list []Pair, files *labels.Paths, by labels.Stem) *labels.Paths {
	t := files.Table
	n := &labels.Paths{Table: &format.Table{Roots: []string{""}}, Roots: make([]labels.Root, 1), By: by, Ends: make([]uint32, t.Len())}
	prefixes := make([]string, len(files.Roots))
	for i := range prefixes {
		prefixes[i] = files.Roots[i].Prefix
		if p, err := url.PathUnescape(prefixes[i]); err == nil {
			prefixes[i] = p
		}
	}
	var full []byte
	for i := range t.Len() {
		full = append(append(full[:0], prefixes[t.Root(i)]...), bytes.TrimLeft(files.Rel(i), "/")...)
		root, name, end := 0, "", 0
		full = untar(list, full)
		p, key, ext := find(list, full, by)
		if base := full[bytes.LastIndexByte(full, '/')+1:]; p == nil || walk.About(string(base)) {
			root, name, end = 1, string(full), len(full)
			if len(n.Roots) == 1 {
				n.Table.Roots, n.Roots = append(n.Table.Roots, ""), append(n.Roots, labels.Root{Space: 1})
			}
		} else {
			if len(ext) <= 1 {
				ext = []byte("." + exts.None)
			}
			name, end = string(key)+"."+p.Field+string(ext), len(key)
		}
		n.Table.Append(root, name, t.Size(i), t.ModTime(i))
		n.Ends[i] = uint32(end)
	}
	return n
}
