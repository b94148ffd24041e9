package files

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/tars"
	"github.com/shardify/shardify/storage/walk"
	"github.com/shardify/shardify/tokenize/chars"
)

// pair is a folder of files that are one field of the samples. What a path is without the folder,
// the suffix and the extension names the sample.
type pair struct {
	field  string
	folder []string // its parts; none: the INPUT itself
	suffix string   // of stems, or of whole file names
	text   string   // as the user wrote it
}

// maxPairs bounds the folders of a sample.
const maxPairs = 256

// parsePairs reads the value of --pair; nil for "".
func parsePairs(text string) (list []pair, err error) {
	if text == "" {
		return nil, nil
	}
	for _, word := range strings.Split(text, ",") {
		p := pair{text: strings.TrimSpace(word)}
		field, folder, ok := strings.Cut(p.text, "=")
		folder, p.suffix, _ = strings.Cut(folder, ":")
		if folder = strings.Trim(folder, "/"); !ok || field == "" || folder == "" || strings.Contains(p.suffix, "/") {
			return nil, shardify.Misuse("--pair %q: want FIELD=FOLDER or FIELD=FOLDER:SUFFIX, as in image=images,mask=masks:_mask", p.text)
		}
		if err := shardify.ValidName(field); err != nil || strings.ContainsAny(field, ".*/: ") {
			return nil, shardify.Misuse("--pair %q: %q cannot be the name of a field; letters, digits and _ can", p.text, field)
		}
		for part := range strings.SplitSeq(folder, "/") {
			switch part {
			case ".":
			case "", "..":
				return nil, shardify.Misuse("--pair %q: the folder is a path below the INPUT, without %q", p.text, part)
			default:
				p.folder = append(p.folder, part)
			}
		}
		p.field = field
		for i := range list {
			if o := &list[i]; strings.EqualFold(o.field, field) {
				return nil, shardify.Misuse("--pair: %s and %s are one field: each needs a name of its own", o.text, p.text)
			} else if slices.Equal(o.folder, p.folder) && o.suffix == p.suffix {
				return nil, shardify.Misuse("--pair: %s and %s are the same files", o.text, p.text)
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
func (p *pair) in(dir []byte) (from, to int, ok bool) {
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
func (p *pair) stem(base []byte, by labels.Stem) (stem, ext []byte, ok bool) {
	end := pairEnd(base, by)
	stem, ext = base[:end], base[end:]
	switch {
	case bytes.HasSuffix(stem, []byte(p.suffix)):
		stem = stem[:len(stem)-len(p.suffix)]
	case bytes.HasSuffix(base, []byte(p.suffix)) && len(p.suffix) >= len(ext):
		stem = base[:len(base)-len(p.suffix)]
	default:
		return nil, nil, false
	}
	return stem, ext, len(stem) > 0
}

// pairEnd is where the stem of a file name ends: at the last dot by labels.Last, where an extension
// of compressed files and the one before it are one, as in .nii.gz.
func pairEnd(base []byte, by labels.Stem) int {
	end := by.End(base)
	if by != labels.Last {
		return end
	}
	switch strings.ToLower(string(base[end:])) {
	case ".gz", ".bz2", ".xz", ".zst":
		if e := labels.Last.End(base[:end]); e < end && !labels.Digits(base[e+1:end]) {
			return e
		}
	}
	return end
}

// pairOf finds which pair takes a path: of those with the suffix that whose folder has the most
// parts, then is the outermost, then has the longest suffix.
func pairOf(list []pair, file []byte, by labels.Stem) (best *pair, key []byte, ext []byte) {
	d := bytes.LastIndexByte(file, '/') + 1
	at := 0
	for i := range list {
		p := &list[i]
		from, to, ok := p.in(file[:d])
		if !ok || best != nil && cmp.Or(cmp.Compare(len(p.folder), len(best.folder)), cmp.Compare(at, from), cmp.Compare(len(p.suffix), len(best.suffix))) <= 0 {
			continue
		}
		if stem, e, ok := p.stem(file[d:], by); ok {
			best, at, ext = p, from, e
			key = slices.Concat(file[:from], file[to:d], stem)
		}
	}
	return best, key, ext
}

// pairStem is the rule for the names of files in pairs: that of --stem, or the last dot.
func pairStem(o format.Options) labels.Stem {
	if o[optStem] == stemAuto {
		return labels.Last
	}
	return stemOf(o)
}

// untar is the path of a file in a tar as a pair may have it: below the tar, if a pair has that in
// its folder, by its name or a pattern such as images-*.tar, else below the folder of the tar.
func untar(list []pair, name []byte) []byte {
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

// inTars reports whether tars are folders: with pairs, unless one of them has tars as files.
func inTars(o format.Options) bool {
	list, err := parsePairs(o[optPair])
	return err == nil && list != nil && !slices.ContainsFunc(list, func(p pair) bool { return strings.EqualFold(path.Ext(p.suffix), ".tar") })
}

// pairNames is the names of the files as if all members of a sample were in one folder:
// images/train/1.jpg is train/1.image.jpg. Files in no pair keep theirs, in another space.
func pairNames(list []pair, files *names, by labels.Stem) *names {
	t := files.Table
	n := &names{Table: &format.Table{Roots: []string{""}}, Roots: make([]labels.Root, 1), By: by, Ends: make([]uint32, t.Len())}
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
		p, key, ext := pairOf(list, full, by)
		if base := full[bytes.LastIndexByte(full, '/')+1:]; p == nil || walk.About(string(base)) {
			root, name, end = 1, string(full), len(full)
			if len(n.Roots) == 1 {
				n.Table.Roots, n.Roots = append(n.Table.Roots, ""), append(n.Roots, labels.Root{Space: 1})
			}
		} else {
			if len(ext) <= 1 {
				ext = []byte("." + exts.None)
			}
			name, end = string(key)+"."+p.field+string(ext), len(key)
		}
		n.Table.Append(root, name, t.Size(i), t.ModTime(i))
		n.Ends[i] = uint32(end)
	}
	return n
}

// lookPairs groups the files of pairs.
func (b *builder) lookPairs(ctx context.Context) (err error) {
	b.names = pairNames(b.pairs, b.files, pairStem(b.options))
	if b.g, err = group(ctx, b.names); err != nil {
		return err
	}
	known, strays := newFacts(b.folders), map[*kind]bool{}
	if err := known.learn(b.names, b.g); err != nil {
		return err
	}
	for _, k := range known.kinds {
		// The extensions of files in pairs begin with their fields.
		strays[k] = !slices.ContainsFunc(k.exts, func(ext string) bool { return ext != exts.None })
		b.stray = append(b.stray, strays[k])
	}
	b.leftStrays = known.leftStrays(strays)
	for i := range b.leftStrays {
		if l := &b.leftStrays[i]; strings.HasPrefix(l.Reason, alien) {
			l.Reason = "no --pair has it" + strings.TrimPrefix(l.Reason, alien)
		}
	}
	b.known = known
	var text []string
	for i := range b.pairs {
		text = append(text, b.pairs[i].text)
	}
	b.notes = append(b.notes, "a sample is the files of "+strings.Join(text, " and ")+" with one path, less the folder and the suffix")
	return b.pairMembers()
}

// pairMembers makes a field of each pair.
func (b *builder) pairMembers() error {
	for i := range b.pairs {
		p := &b.pairs[i]
		m := member{Field: p.field}
		image := true
		for _, ext := range b.known.exts {
			field, kind, ok := strings.Cut(ext, ".")
			if ok && field == strings.ToLower(p.field) {
				m.Exts, image = append(m.Exts, ext), image && imageTypes[media(kind)]
			}
		}
		slices.Sort(m.Exts)
		switch unpack := tars.Unpack(p.path()); {
		case len(m.Exts) == 0 && unpack != "":
			return shardify.Hint(shardify.Unsupported("--pair %s: the files of a compressed tar cannot be read one by one", p.text), unpack+" makes a tar, to be named instead")
		case len(m.Exts) == 0:
			return shardify.Mismatch("--pair %s: no file is in a folder %s%s%s", p.text, printable.Quote(p.path()), withSuffix(p.suffix), b.unpaired())
		case len(m.Exts) > 255:
			return shardify.Unsupported("--pair %s: files of %d types", p.text, len(m.Exts))
		case len(m.Exts) > 1 && !image:
			var cures, types []string
			for _, ext := range m.Exts {
				_, kind, _ := strings.Cut(ext, ".")
				types = append(types, kind)
				cures = append(cures, fmt.Sprintf("%s=%s:%s.%s", p.field, p.path(), p.suffix, kind))
			}
			return shardify.Mismatch("--pair %s: files of the types %s; a field has one, or images of any type. Each may be a field: %s",
				p.text, strings.Join(types, ", "), strings.Join(cures, ", "))
		}
		b.all = append(b.all, m)
	}
	slices.SortFunc(b.all, func(x, y member) int { return strings.Compare(x.Field, y.Field) })
	return nil
}

func (p *pair) path() string { return cmp.Or(strings.Join(p.folder, "/"), ".") }

func withSuffix(suffix string) string {
	if suffix == "" {
		return ""
	}
	return fmt.Sprintf(" with %s at the end of its name", printable.Quote(suffix))
}

// unpaired shows where files are that no pair has.
func (b *builder) unpaired() string {
	if len(b.leftStrays) == 0 {
		return ""
	}
	return "; there is " + b.leftStrays[0].Name
}

// composed makes one form of all that a character may have.
var composed = sync.OnceValue(func() *chars.Form { return chars.NewForm(false, true) })

// nearly is the error about files of several pairs whose samples would be one if upper and lower
// case, or the Unicode forms of one character, were the same.
func (b *builder) nearly() error {
	const most = 16 // samples of one such name that are compared
	var found places
	alike := map[string][]int{}
	for s := range b.m.samples {
		name := b.names.Stem(int(b.m.first[s]))
		if !slices.Contains(b.m.row(s), none) || !utf8.Valid(name) {
			continue
		}
		form, err := composed().Apply(nil, name, 0)
		if err != nil {
			return err
		}
		fold := strings.ToLower(string(form))
		others := alike[fold]
		if k := slices.IndexFunc(others, func(o int) bool { return b.m.apart(o, s) }); k >= 0 {
			found.add(func() string {
				return b.path(int(b.m.first[others[k]])) + " and " + b.path(int(b.m.first[s]))
			})
		}
		if len(others) < most {
			alike[fold] = append(others, s)
		}
	}
	if found.count == 0 {
		return nil
	}
	return shardify.Mismatch("%s have names that differ in upper and lower case or in their Unicode form alone: the files of a sample need the same name", found.list("pair of files", "pairs of files"))
}

// row is the files of a sample.
func (m *matrix) row(s int) []uint32 { return m.files[s*m.members : (s+1)*m.members] }

// apart reports whether no field has files of both samples.
func (m *matrix) apart(s, o int) bool {
	for j, f := range m.row(s) {
		if f != none && m.row(o)[j] != none {
			return false
		}
	}
	return true
}
