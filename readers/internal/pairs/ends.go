package pairs

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/sketch"
	"github.com/shardify/shardify/storage/walk"
	"github.com/zeebo/xxh3"
)

// end is all files whose names have one end behind the name of their sample: _seg of case_1_seg.nii.gz.
type end struct {
	folder string // which is no part of the name of the sample; ".": none
	text   string // "" for files without one
	file   string // the first
	ext    string // of all; "": they differ
	files  int64
	names  sketch.Sketch // of their samples
}

// cutName cuts a path without extension into the name of a sample, the folder that holds a part of it, and the end.
// ok is false where the rule does not hold for the name.
type cutName func(dir, stem string) (sample, folder, text string, ok bool)

// byWord: the end says that it is a mask or the like, and there is an image without one.
func byWord(dir, stem string) (sample, folder, text string, ok bool) {
	if at := wordAt(stem); at > 0 {
		return dir + stem[:at], ".", stem[at:], true
	}
	return dir + stem, ".", "", true
}

// wordAt is where _mask or the like is at the end of a stem; 0 without.
func wordAt[T string | []byte](stem T) int {
	at := len(stem) - 1
	for at > 0 && stem[at] != '_' && stem[at] != '-' {
		at--
	}
	if at <= 0 || at+1 == len(stem) || !isLetter(stem[at+1]) || !sideNames[strings.ToLower(string(stem[at+1:]))] {
		return 0
	}
	return at
}

// byLast: each name has a word at its end, as 1_t1 and 1_flair.
func byLast(dir, stem string) (sample, folder, text string, ok bool) {
	at := strings.LastIndexAny(stem, "_-")
	if at <= 0 || at+1 == len(stem) || !isLetter(stem[at+1]) {
		return "", "", "", false
	}
	return dir + stem[:at], ".", stem[at:], true
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// bySubject: the names of BIDS, sub-1/ses-1/func/sub-1_ses-1_task-rest_bold. Subject and session name the sample.
func bySubject(dir, stem string) (sample, folder, text string, ok bool) {
	if !strings.HasPrefix(stem, "sub-") {
		return "", "", "", false
	}
	at := strings.IndexByte(stem, '_')
	if at > 0 && strings.HasPrefix(stem[at:], "_ses-") {
		next := strings.IndexByte(stem[at+1:], '_')
		if next < 0 {
			return "", "", "", false
		}
		at += 1 + next
	}
	if at < 0 {
		return "", "", "", false
	}
	folder = "."
	if last := path.Base(dir); dir != "" && !strings.ContainsAny(last, "-.") {
		folder, dir = last, strings.TrimSuffix(dir, last+"/")
	}
	return dir + stem[:at], folder, stem[at:], true
}

// byFolder: each folder is a sample, and its files are called alike in all, as case_1/imaging and case_1/segmentation.
// Splits are no samples, unless words say so.
func byFolder(dir, stem string) (sample, folder, text string, ok bool) {
	ok = dir != "" && isLetter(stem[0]) && (sideNames[strings.ToLower(stem)] || !walk.IsSplit(path.Base(dir)))
	return strings.TrimSuffix(dir, "/"), ".", stem, ok
}

// ends are those of all files by a rule, the most frequent first; nil where it does not hold for all, or there
// are too many. some: only those with such extensions; nil: all.
func ends(n *labels.Paths, cut cutName, some func(ext string) bool) []*end {
	t := n.Table
	by := map[[2]string]*end{}
	var list []*end
	for i := range t.Len() {
		name := untar(nil, bytes.TrimLeft(n.Rel(i), "/"))
		d := bytes.LastIndexByte(name, '/') + 1
		stem, ext := name[d:], ""
		if at := stemEnd(stem, labels.Last); at < len(stem) {
			stem, ext = stem[:at], string(stem[at:])
		}
		if some != nil && !some(strings.TrimPrefix(ext, ".")) {
			continue
		}
		sample, folder, text, ok := cut(string(name[:d]), string(stem))
		if !ok {
			return nil
		}
		e := by[[2]string{folder, text}]
		if e == nil {
			if len(list) == maxSuffixes {
				return nil
			}
			e = &end{folder: folder, text: text, file: string(name), ext: ext}
			by[[2]string{folder, text}] = e
			list = append(list, e)
		}
		if e.files++; e.ext != ext {
			e.ext = ""
		}
		e.names.Add(xxh3.HashStringSeed(sample, uint64(t.Root(i))))
	}
	slices.SortStableFunc(list, func(a, b *end) int {
		return cmp.Or(cmp.Compare(b.files, a.files), strings.Compare(a.text, b.text))
	})
	return list
}

// parts reports whether the ends are of parts of the same samples, and whether no sample lacks one: each end shares at
// least half of the samples with the first, of those that it has itself where the words say so. Of a single sample
// they must.
func parts(list []*end) (are, whole bool) {
	if len(list) < 2 {
		return false, false
	}
	whole, words := true, false
	for _, e := range list {
		both, fewer, more := e.names.Shared(&list[0].names)
		word := e.text != "" && sideNames[strings.ToLower(strings.TrimLeft(e.text, "_-"))]
		if both == 0 || word && 2*both < fewer || !word && 2*both < more {
			return false, false
		}
		whole, words = whole && both == more, words || word
	}
	return words || list[0].files > 1, whole
}

// Ends is the error about pictures whose names end in _mask or the like, beside others with the same names without
// it, or nil. It is about those of all files that have the extensions of pictures.
func Ends(t *format.Table, pictures func(ext string) bool) *format.Ambiguous {
	return refuseEnds(t, true, pictures)
}

// anyWord reports whether a name ends in _mask or the like: most lists have none, and are long.
func anyWord(n *labels.Paths) bool {
	for i := range n.Table.Len() {
		base := n.Rel(i)
		base = base[bytes.LastIndexByte(base, '/')+1:]
		if wordAt(base[:stemEnd(base, labels.Last)]) > 0 {
			return true
		}
	}
	return false
}

// refuseEnds is the error about files whose names have the ends of parts of the same samples. words: only those ends
// that say so count, such as _mask. some: only files with such extensions do; nil: all.
func refuseEnds(t *format.Table, words bool, some func(ext string) bool) *format.Ambiguous {
	n := labels.NewPaths(t, labels.Last)
	rules := []cutName{byWord, byLast, bySubject, byFolder}
	if words {
		if rules = rules[:1]; !anyWord(n) {
			return nil
		}
	}
	for _, cut := range rules {
		list := ends(n, cut, some)
		if are, whole := parts(list); are {
			return endsOf(n, list, whole)
		}
	}
	return nil
}

// byExt reports whether the files of each end have one extension, and there are others, which an extension excludes.
func byExt(list []*end, files int) bool {
	for _, e := range list {
		files -= int(e.files)
	}
	return files > 0 && !slices.ContainsFunc(list, func(e *end) bool { return e.ext == "" })
}

// endsOf says which files are parts of the same samples, and how they are read.
func endsOf(n *labels.Paths, list []*end, whole bool) *format.Ambiguous {
	var files, pairs, alone []string
	taken := map[string]bool{}
	folder, exts := n.Folder(n.Table.Root(0), nil), byExt(list, n.Table.Len())
	for _, e := range list {
		files = append(files, printable.Quote(e.file))
		field := "image"
		if e.text != "" {
			field = e.text[strings.LastIndexAny(e.text, "_-")+1:]
			if taken[strings.ToLower(field)] {
				field = strings.TrimLeft(e.text, "_-")
			}
		}
		field = strings.NewReplacer("-", "_", ".", "_").Replace(field)
		taken[strings.ToLower(field)] = true
		pair, suffix := field+"="+e.folder, e.text
		if exts {
			suffix += e.ext
		}
		if suffix != "" {
			pair += ":" + suffix
		}
		if e.text != "" {
			_, base := path.Split(e.file)
			at := "*" + base[strings.LastIndex(base, e.text):]
			if strings.Contains(e.file, "/") {
				at = "**/" + at
			}
			alone = append(alone, fmt.Sprintf("shardify convert %s -o %s", printable.Quote(folder+"/"+at), printable.Quote(field+"-shards")))
		}
		pairs = append(pairs, pair)
	}
	value := strings.Join(pairs, ",")
	text := fmt.Sprintf("files such as %s differ in the ends of their names: parts of the same samples, or samples of their own", strings.Join(files[:min(len(files), 4)], ", "))
	doubt := &format.Ambiguous{Text: text, Facts: []string{text}}
	if len(n.Table.Roots) == 1 && len(alone) > 0 {
		doubt.Facts = append(doubt.Facts, "convert each by itself: "+strings.Join(alone, "; "))
	}
	if _, err := Parse(value); err == nil {
		w := format.With("pair", value, "samples of a file of each end")
		if !whole {
			w.Makes += ", without those that lack one"
			w.Options["missing"] = "drop"
		}
		doubt.Ways = append(doubt.Ways, w)
	}
	doubt.Ways = append(doubt.Ways, format.With("labels", labels.Never, "samples of one kind of all files"))
	return doubt
}
