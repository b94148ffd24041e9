package pairs

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/sketch"
	"github.com/shardify/shardify/storage/walk"
	"github.com/zeebo/xxh3"
)

// Sides finds folders that are side by side and hold parts of the same samples, such as
// images/1.jpg and masks/1.png: without the name of the folder, both have one name.
type Sides struct {
	levels [maxLevels]level
	prefix bool // of several INPUTs: the first level is that of the INPUTs
	path   []byte
}

const (
	// maxLevels is how deep folders are looked at.
	maxLevels = 8
	// maxSides: more folders than this at one level are no parts of samples.
	maxSides = 32
)

// level is the folders at one level, wherever they are.
type level struct {
	sides []*side
	last  *side
	over  bool // too many
}

// side is all folders of one name at a level.
type side struct {
	name    string
	at      string              // the folder as an input: its path, or a pattern where there are several
	nested  bool                // it holds folders
	kinds   map[*[]string]int64 // samples by the extensions of their files
	samples int64
	names   sketch.Sketch // paths without the folder
	bare    sketch.Sketch // without the suffix, too
	// The suffixes of names that have one, and in how many samples; nil if they are too many.
	suffixes map[string]int64
}

// sideNames are folders of parts of samples: where two of them hold files of the same
// names, these belong together whatever their types are.
var sideNames = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(`image images img imgs jpegimages picture pictures photo photos rgb color colour gray grey input inputs source src
		mask masks label labels annotation annotations annot annots ann anns segmentation segmentations segmentationclass seg segs gt groundtruth ground_truth
		imagestr labelstr target targets depth depths disparity normal normals flow edge edges left right hr lr clean noisy before after caption captions text texts bbox bboxes boxes keypoints pose poses`) {
		m[n] = true
	}
	return m
}()

// Add takes in a sample, by one of its files, and the extensions of all, which stand for its kind.
func (r *Sides) Add(n *labels.Paths, file int, exts *[]string) {
	root := &n.Roots[n.Table.Root(file)]
	r.prefix = r.prefix || root.Prefix != ""
	r.path = append(append(r.path[:0], root.Prefix...), n.Stem(file)...)
	at := 0
	for l := range r.levels {
		x := &r.levels[l]
		slash := bytes.IndexByte(r.path[at:], '/')
		if slash < 0 {
			return
		}
		name, rest := r.path[at:at+slash], r.path[at+slash:]
		if o := x.find(name); o != nil {
			if o.at == "" {
				o.at = placeOf(n, file, rest)
			}
			o.nested = o.nested || bytes.IndexByte(rest[1:], '/') >= 0
			o.add(xxh3.HashSeed(r.path[:at], uint64(l)), rest, exts)
		}
		at += slash + 1
	}
}

// placeOf names, as an input, the folders at the place of that of a file before rest.
func placeOf(n *labels.Paths, file int, rest []byte) string {
	stem := n.Stem(file)
	if len(rest) > len(stem) { // the INPUT itself
		return n.Folder(n.Table.Root(file), nil)
	}
	parts := bytes.Split(stem[:len(stem)-len(rest)], []byte("/"))
	for i := range parts[:len(parts)-1] {
		parts[i] = []byte("*")
	}
	return n.Folder(n.Table.Root(file), bytes.Join(parts, []byte("/")))
}

// find is the side of a name; nil if there are too many.
func (l *level) find(name []byte) *side {
	if l.over {
		return nil
	}
	if l.last != nil && l.last.name == string(name) {
		return l.last
	}
	for _, o := range l.sides {
		if o.name == string(name) {
			l.last = o
			return o
		}
	}
	if len(l.sides) == maxSides {
		*l = level{over: true}
		return nil
	}
	l.last = &side{name: string(name), kinds: map[*[]string]int64{}, suffixes: map[string]int64{}}
	l.sides = append(l.sides, l.last)
	return l.last
}

// add takes in a sample, by its path behind the folder.
func (o *side) add(above uint64, rest []byte, exts *[]string) {
	o.kinds[exts]++
	o.samples++
	o.names.Add(above ^ xxh3.Hash(rest))
	suffix := suffixOf(rest)
	o.bare.Add(above ^ xxh3.Hash(rest[:len(rest)-len(suffix)]))
	if o.suffixes != nil && len(suffix) > 0 {
		if o.suffixes[string(suffix)]++; len(o.suffixes) > maxSuffixes {
			o.suffixes = nil
		}
	}
}

// maxSuffixes bounds the suffixes in a folder: channels, as _0000 and _0001.
const maxSuffixes = 16

// suffixOf is the end of a name that says which part of a sample it is, as in 1_mask and 1_0000; else "".
func suffixOf(name []byte) []byte {
	at := bytes.LastIndexByte(name, '_')
	if at < 0 {
		return nil
	}
	word := name[at+1:]
	if len(word) == 4 && labels.Digits(word) && word[0] == '0' || sideNames[strings.ToLower(string(word))] {
		return name[at:]
	}
	return nil
}

// exts are the extensions that more than half of the samples have, or all.
func (o *side) exts() map[string]bool {
	most, all := map[string]bool{}, map[string]int64{}
	for k, n := range o.kinds {
		for _, ext := range slices.Compact(slices.Clone(*k)) {
			if all[ext] += n; 2*all[ext] > o.samples {
				most[ext] = true
			}
		}
	}
	if len(most) == 0 {
		for ext := range all {
			most[ext] = true
		}
	}
	return most
}

// paired reports whether two folders hold parts of the same samples; classes: they would be
// two classes else.
func (o *side) paired(p *side, classes bool) bool {
	parts := sideNames[strings.ToLower(o.name)] && sideNames[strings.ToLower(p.name)]
	if !o.same(p) {
		return parts && o.pairedBare(p)
	}
	if both, _, more := o.names.Shared(&p.names); parts || classes && both == more {
		return true
	}
	mine, others := o.exts(), p.exts()
	for ext := range mine {
		if others[ext] {
			return false
		}
	}
	return true
}

// same reports whether at least half of the names in the smaller folder are in the other.
func (o *side) same(p *side) bool {
	both, fewer, _ := o.names.Shared(&p.names)
	return both > 0 && 2*both >= fewer
}

// pairedBare reports whether two folders hold parts of the same samples whose names differ in a suffix.
func (o *side) pairedBare(p *side) bool {
	both, fewer, _ := o.bare.Shared(&p.bare)
	return both > 0 && 2*both >= fewer && o.suffixed() != p.suffixed() && o.even() && p.even()
}

func (o *side) suffixed() bool { return len(o.suffixes) > 0 }

// even reports whether all names have a suffix, or none.
func (o *side) even() bool {
	n := int64(0)
	for _, k := range o.suffixes {
		n += k
	}
	return o.suffixes != nil && (n == 0 || n == o.samples)
}

// Find looks for folders with parts of the same samples. classes is the level of folders
// that would be classes, -1 if none are wanted.
func (r *Sides) Find(classes int) []*side {
	if r.prefix && classes >= 0 {
		classes++
	}
	for l := range r.levels {
		x := &r.levels[l]
		if x.over || len(x.sides) < 2 || walk.OnlySplits(func(yield func(string) bool) {
			for _, o := range x.sides {
				if !yield(o.name) {
					return
				}
			}
		}) {
			continue
		}
		for i := range x.sides {
			if together := x.together(i, l == classes); len(together) > 1 {
				return together
			}
		}
	}
	return nil
}

// together are the folders with parts of the samples of folder i, or of one of theirs: two of them
// may hold files of one type, as calib and label_2 beside image_2.
func (l *level) together(i int, classes bool) (out []*side) {
	in := make([]bool, len(l.sides))
	in[i] = true
	for more := []int{i}; len(more) > 0; more = more[1:] {
		for k := i + 1; k < len(l.sides); k++ {
			if !in[k] && l.sides[more[0]].paired(l.sides[k], classes) {
				in[k] = true
				more = append(more, k)
			}
		}
	}
	for k, o := range l.sides {
		if in[k] {
			out = append(out, o)
		}
	}
	return out
}

// Refuse is the error about files of arrays in folders that hold parts of the same samples, unless
// --labels says what they are. classes: the folders give samples their classes. named: the names of
// the folders must say so, as images and masks do.
func Refuse(a *format.OpenArgs, classes, named bool) error {
	if v := a.Options["labels"]; v != "" && v != labels.Auto {
		return nil
	}
	level := -1
	if classes {
		level = 0
	}
	var sides Sides
	names, exts := labels.NewPaths(a.Table, labels.First), []string{""}
	for i := range a.Table.Len() {
		sides.Add(names, i, &exts)
	}
	form := formOf(a.Table)
	list := sides.Find(level)
	if form != nil && !areParts(list) {
		if doubt := refuseEnds(a.Table, !form.any, nil); doubt != nil {
			if list != nil && !named {
				doubt.Ways = append(doubt.Ways, format.With("labels", labels.Always, "classes of the folders"))
			}
			parsed(doubt, form)
			return doubt
		}
	}
	if list == nil || named && !areParts(list) {
		return nil
	}
	err := Doubt(list, true)
	if doubt, ok := errors.AsType[*format.Ambiguous](err); ok {
		if named { // they are no classes, and no samples of one kind
			doubt.Ways = slices.DeleteFunc(doubt.Ways, func(w format.Way) bool { return w.Options["pair"] == "" })
		}
		parsed(doubt, form)
	}
	return err
}

// parsed adds to ways of pairs that their fields are read as arrays, in a form that may be nil.
func parsed(doubt *format.Ambiguous, form *arrayForm) {
	for i := range doubt.Ways {
		w := &doubt.Ways[i]
		fields, _ := Parse(w.Options["pair"])
		for k := range fields {
			w.Without = "sample" // which files of any kind do not have
			if form != nil {
				w.Parse = append(w.Parse, fields[k].Field+"="+form.name)
			}
		}
	}
}

// arrayForm is a form of --parse, and the ends of its files.
type arrayForm struct {
	name string
	ends []string
	// any: what differs at the ends of names may say which part of a sample a file is, not words such as _mask alone.
	any bool
}

var arrayForms = []arrayForm{{"npy", []string{".npy"}, false}, {"nifti", []string{".nii", ".nii.gz"}, true}}

// formOf is the form that reads all the files; nil if no form does.
func formOf(t *format.Table) (form *arrayForm) {
	for i := range t.Len() {
		name := strings.ToLower(string(t.NameBytes(i)))
		k := slices.IndexFunc(arrayForms, func(f arrayForm) bool {
			return slices.ContainsFunc(f.ends, func(end string) bool { return strings.HasSuffix(name, end) })
		})
		if k < 0 || form != nil && form != &arrayForms[k] {
			return nil
		}
		form = &arrayForms[k]
	}
	return form
}

// areParts reports whether names of folders say what part of a sample is in them: those are no classes.
func areParts(list []*side) bool {
	return slices.ContainsFunc(list, func(o *side) bool { return sideNames[strings.ToLower(o.name)] })
}

// Doubt is the error about folders that hold parts of the same samples. alike: all
// files could be samples of one kind.
func Doubt(list []*side, alike bool) error {
	var named, alone []string
	for _, o := range list {
		named = append(named, walk.Quote(o.name))
		in := o.at
		if strings.Contains(o.at, "*") {
			in = o.at + "/**"
		}
		alone = append(alone, fmt.Sprintf("shardify convert %s -o %s", printable.Quote(in), printable.Quote(o.name+"-shards")))
	}
	perhaps := alike && !areParts(list)
	are := "parts of the same samples, and no classes"
	if perhaps {
		are = "classes, or parts of the same samples"
	}
	text := fmt.Sprintf("the folders %s hold files of the same names: %s", strings.Join(named, " and "), are)
	cure := "convert each by itself: " + strings.Join(alone, "; ")
	doubt := &format.Ambiguous{Text: text, Facts: []string{text, cure}}
	doubt.Ways = pairWays(list)
	paired := doubt.Ways != nil
	if alike {
		at := len(doubt.Ways)
		if perhaps {
			at = 0
		}
		doubt.Ways = slices.Insert(doubt.Ways, at, format.With("labels", labels.Always, "classes of the folders"))
		doubt.Ways = append(doubt.Ways, format.With("labels", labels.Never, "samples of one kind of all files"))
	}
	if doubt.Ways == nil {
		return shardify.Hint(shardify.Mismatch("%s", text), cure)
	}
	if !paired {
		return shardify.Hint(doubt, cure)
	}
	return doubt
}

// pairWays are the ways to make a sample of files in several folders.
func pairWays(list []*side) (ways []format.Way) {
	add := func(value, missing, makes string) {
		w := format.With("pair", value, makes)
		if missing != "" {
			w.Options["missing"] = missing
		}
		ways = append(ways, w)
	}
	value, whole := pairsOf(list)
	switch {
	case value == "":
		return nil
	case whole:
		add(value, "", "samples of a file in each folder")
		return ways
	}
	add(value, "drop", "samples of a file in each folder, without those that lack one")
	add(value, "fill", "samples of all names, where a missing file is marked")
	most, least := list[0], list[0].samples
	for _, o := range list {
		if least = min(least, o.samples); o.samples > most.samples {
			most = o
		}
	}
	full := slices.DeleteFunc(slices.Clone(list), func(o *side) bool {
		both, _, more := o.bare.Shared(&most.bare)
		return o.samples < most.samples || both < more
	})
	if value, whole = pairsOf(full); len(full) < 2 || !whole {
		return ways
	}
	add(value, "", "samples of a file in each of the folders that have all")
	if 3*least < most.samples { // few samples have the others
		slices.Reverse(ways)
		slices.Reverse(ways[1:])
	}
	return ways
}

// fieldNames are the fields that are proposed for folders: others keep their names.
var fieldNames = map[string]string{
	"images": "image", "imgs": "image", "jpegimages": "image", "imagestr": "image", "pictures": "image", "photos": "image",
	"masks": "mask", "labels": "label", "labelstr": "label", "annotations": "annotation", "annots": "annotation", "anns": "annotation",
	"segmentations": "segmentation", "segmentationclass": "segmentation", "depths": "depth", "normals": "normal", "edges": "edge",
	"inputs": "input", "targets": "target", "captions": "caption", "texts": "text", "boxes": "box", "bboxes": "bbox", "poses": "pose",
}

// pairsOf is the value of --pair for folders; "" if one cannot be a part of it. whole: no sample
// lacks a file, as far as is known.
func pairsOf(list []*side) (value string, whole bool) {
	var out []string
	taken := map[string]bool{}
	whole = true
	samples := int64(-1) // of the first field
	for _, o := range list {
		if strings.ContainsAny(o.name, ",:=") || strings.TrimSpace(o.name) != o.name {
			return "", false
		}
		field := strings.ToLower(o.name)
		if short := fieldNames[field]; short != "" && !taken[short] {
			field = short
		}
		taken[field] = true
		suffixes := map[string]int64{"": o.samples}
		if o.suffixed() && slices.ContainsFunc(list, func(p *side) bool { return !o.same(p) }) {
			suffixes = o.suffixes
		}
		for _, suffix := range slices.Sorted(maps.Keys(suffixes)) {
			pair := field + "=" + o.name
			if len(suffixes) > 1 {
				pair = field + suffix + "=" + o.name
			}
			if suffix != "" {
				pair += ":" + suffix
			}
			if samples < 0 {
				samples = suffixes[suffix]
			}
			out, whole = append(out, pair), whole && suffixes[suffix] == samples
		}
		both, _, more := o.bare.Shared(&list[0].bare)
		whole = whole && both == more
	}
	value = strings.Join(out, ",")
	if _, err := Parse(value); err != nil {
		return "", false
	}
	return value, whole
}
