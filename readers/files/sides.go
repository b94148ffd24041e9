package files

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/walk"
	"github.com/zeebo/xxh3"
)

// sides finds folders that are side by side and hold parts of the same samples, such as
// images/1.jpg and masks/1.png: without the name of the folder, both have one name.
type sides struct {
	levels [maxLevels]level
	prefix bool // of several INPUTs: the first level is that of the INPUTs
	path   []byte
}

const (
	// maxLevels is how deep folders are looked at.
	maxLevels = 8
	// maxSides: more folders than this at one level are no parts of samples.
	maxSides = 32
	// sketchSize is how many names of a folder are compared: those with the smallest hashes.
	sketchSize = 1 << 10
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
	at      string // the folder as an input: its path, or a pattern where there are several
	nested  bool   // it holds folders
	kinds   map[*kind]int64
	samples int64
	hashes  []uint64 // of paths without the folder, the smallest
	limit   uint64   // they are all there up to this
}

// sideNames are folders of parts of samples: where two of them hold files of the same
// names, these belong together whatever their types are.
var sideNames = func() map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(`image images img imgs jpegimages picture pictures photo photos rgb color colour gray grey input inputs source src
		mask masks label labels annotation annotations annot annots ann anns segmentation segmentations segmentationclass seg segs gt groundtruth ground_truth
		target targets depth depths disparity normal normals flow edge edges left right hr lr clean noisy before after caption captions text texts bbox bboxes boxes keypoints pose poses`) {
		m[n] = true
	}
	return m
}()

// add takes in a sample, by one of its files.
func (r *sides) add(n *names, file int, k *kind) {
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
			o.add(mix(xxh3.Hash(r.path[:at])+uint64(l))^xxh3.Hash(rest), k)
		}
		at += slash + 1
	}
}

// placeOf names, as an input, the folders at the place of that of a file before rest.
func placeOf(n *names, file int, rest []byte) string {
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
	l.last = &side{name: string(name), kinds: map[*kind]int64{}, limit: math.MaxUint64}
	l.sides = append(l.sides, l.last)
	return l.last
}

func (o *side) add(hash uint64, k *kind) {
	o.kinds[k]++
	o.samples++
	if hash > o.limit {
		return
	}
	if o.hashes = append(o.hashes, hash); len(o.hashes) == 2*sketchSize {
		o.cut()
	}
}

// cut leaves the smallest hashes, in order.
func (o *side) cut() {
	slices.Sort(o.hashes)
	if o.hashes = slices.Compact(o.hashes); len(o.hashes) > sketchSize {
		o.hashes = o.hashes[:sketchSize]
		o.limit = o.hashes[sketchSize-1]
	}
}

// exts are the extensions that more than half of the samples have, or all.
func (o *side) exts() map[string]bool {
	most, all := map[string]bool{}, map[string]int64{}
	for k, n := range o.kinds {
		for _, ext := range slices.Compact(slices.Clone(k.exts)) {
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

// shared counts the names that two folders have, and those that the smaller one has, as
// far as they are compared.
func (o *side) shared(p *side) (both, fewer, more int) {
	limit := min(o.limit, p.limit)
	a, b := o.hashes, p.hashes
	upto := func(h []uint64) int {
		n, found := slices.BinarySearch(h, limit)
		if found {
			n++
		}
		return n
	}
	a, b = a[:upto(a)], b[:upto(b)]
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			both, i, j = both+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return both, min(len(a), len(b)), max(len(a), len(b))
}

// paired reports whether two folders hold parts of the same samples; classes: they would be
// two classes else.
func (o *side) paired(p *side, classes bool) bool {
	both, fewer, more := o.shared(p)
	if 2*both < fewer || both == 0 {
		return false
	}
	if sideNames[strings.ToLower(o.name)] && sideNames[strings.ToLower(p.name)] || classes && both == more {
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

// find looks for folders with parts of the same samples. classes is the level of folders
// that would be classes, -1 if none are wanted.
func (r *sides) find(classes int) []*side {
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
		for _, o := range x.sides {
			o.cut()
		}
		for i, o := range x.sides {
			together := []*side{o}
			for _, p := range x.sides[i+1:] {
				if o.paired(p, l == classes) {
					together = append(together, p)
				}
			}
			if len(together) > 1 {
				return together
			}
		}
	}
	return nil
}

// pairedError is the error about folders that hold parts of the same samples. alike: all
// files could be samples of one kind.
func pairedError(list []*side, alike bool) error {
	var folders, named, alone []string
	flat := true
	for _, o := range list {
		named = append(named, quote([]byte(o.name)))
		folders = append(folders, printable.Quote(o.at))
		in := o.at
		if flat = flat && !o.nested; strings.Contains(o.at, "*") {
			in, flat = o.at+"/**", false
		}
		alone = append(alone, fmt.Sprintf("shardify convert %s -o %s", printable.Quote(in), printable.Quote(o.name+"-shards")))
	}
	cures := []string{"convert each by itself: " + strings.Join(alone, "; ")}
	if flat {
		cures = append([]string{fmt.Sprintf(`pair them by name in one folder: mkdir pairs && for d in %s; do for f in "$d"/*; do b=${f##*/}; cp "$f" "pairs/${b%%.*}.${d##*/}.${b##*.}"; done; done && shardify convert pairs -o pairs-shards`,
			strings.Join(folders, " "))}, cures...)
	}
	way := func(labels, makes string) format.Way {
		return format.Way{Options: format.Options{optLabels: labels}, Makes: makes}
	}
	text := fmt.Sprintf("the folders %s hold files of the same names: parts of the same samples, and no classes; no option pairs folders yet", strings.Join(named, " and "))
	if !alike {
		return shardify.Hint(shardify.Mismatch("%s", text), cures...)
	}
	return shardify.Hint(&format.Ambiguous{
		Text: text, Facts: append([]string{text}, cures...),
		Ways: []format.Way{way(labels.Always, "if the folders are classes"), way(labels.Never, "if all files are samples of one kind")},
	}, cures...)
}
