package split

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/questions/ask"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/zeebo/xxh3"
)

// maxList bounds a list of names.
const maxList = 256 << 20

// nothing marks a name that no sample has.
const nothing = math.MaxUint32

// entry is a name in a list.
type entry struct {
	name   string
	list   int
	score  int
	sample uint32 // an input of it
	rival  uint32 // of another sample whose name is as good
}

// lists are files with the names of the samples of splits, one a line.
type lists struct {
	files   []string
	entries []entry
	names   []int    // in each list
	again   []int    // names that are in their list once more
	classed []string // lists whose lines end with 1, 0 or -1
	index   []hashed
}

// hashed is a name of an entry, or the end of it.
type hashed struct {
	hash  uint64
	entry uint32
}

// listed reports whether the parts of a split are files with names.
func listed(x *splits.Rule) (bool, error) {
	n := 0
	for i := range x.Parts {
		if strings.HasPrefix(x.Parts[i].Glob, "@") {
			n++
		}
	}
	if n > 0 && n < len(x.Parts) {
		return false, shardify.Usage("--split-from %s: want globs, or lists of names as in train=@train.txt, not both", x)
	}
	return n > 0, nil
}

// byLists settles a split by lists of names: each sample that one has.
func byLists(ctx context.Context, c *ask.Conversion, x *splits.Rule) error {
	t := c.Opened.Args.Table
	if t == nil || t.Len() == 0 {
		return shardify.Usage("--split-from %s: the inputs have no names", x)
	}
	l := &lists{names: make([]int, len(x.Parts)), again: make([]int, len(x.Parts))}
	for k := range x.Parts {
		file := x.Parts[k].Glob[1:]
		l.files = append(l.files, file)
		text, err := readList(ctx, storages.Of(t), file)
		if errors.Is(err, fs.ErrNotExist) {
			return missingList(ctx, t, x, err)
		}
		if err == nil {
			err = l.add(k, text)
		}
		if err != nil {
			return shardify.Annotate(err, "read", file, "")
		}
	}
	samples, err := samplesOf(ctx, c.Opened.Source, t)
	if err != nil {
		return err
	}
	l.find(c.Opened.Source, t, samples)
	if err := l.found(c, t); err != nil {
		return err
	}
	x.Inputs, err = l.parts(c, t, samples)
	return err
}

func readList(ctx context.Context, files storage.FS, name string) ([]byte, error) {
	f, err := files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return storage.ReadWhole(f, name, maxList)
}

// missingList is the error about a list that does not exist. It may be below the INPUT.
func missingList(ctx context.Context, t *format.Table, x *splits.Rule, err error) error {
	var below []string
	for k := range x.Parts {
		file := storage.Join(t.Roots[0], x.Parts[k].Glob[1:])
		if _, err := storages.Of(t).Stat(ctx, file); err == nil {
			below = append(below, x.Parts[k].Name+"=@"+file)
		}
	}
	if err = fmt.Errorf("--split-from %s: %w", x, err); len(below) < len(x.Parts) {
		return err
	}
	return shardify.Hint(err, "try --split-from "+printable.Quote(strings.Join(below, ",")))
}

// add takes in the lines of a list. Paths are cleaned, and a name that comes again counts once.
func (l *lists) add(list int, text []byte) error {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	from, classes := len(l.entries), true
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if bytes.IndexByte(line, 0) >= 0 {
			return shardify.Mismatch("no list of names: line %d has a zero byte", n)
		}
		classes = classes && len(withoutClass(line)) < len(line)
		l.entries = append(l.entries, entry{name: string(line), list: list, sample: nothing, rival: nothing})
	}
	mine := l.entries[from:]
	if len(mine) == 0 {
		return shardify.Mismatch("no name in it")
	}
	if classes {
		l.classed = append(l.classed, l.files[list])
	}
	for i := range mine {
		if classes {
			mine[i].name = string(withoutClass([]byte(mine[i].name)))
		}
		mine[i].name = cleaned(mine[i].name)
	}
	slices.SortFunc(mine, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	mine = slices.CompactFunc(mine, func(a, b entry) bool { return a.name == b.name })
	l.again[list] = len(l.entries) - from - len(mine)
	l.names[list] = len(mine)
	l.entries = l.entries[:from+len(mine)]
	return nil
}

// withoutClass is a line of a list of a class without the mark at its end, as in "000012  -1".
func withoutClass(line []byte) []byte {
	at := bytes.LastIndexAny(line, " \t")
	if at < 0 {
		return line
	}
	switch string(line[at+1:]) {
	case "1", "0", "-1":
		return bytes.TrimRight(line[:at], " \t")
	}
	return line
}

// cleaned is a path without what says nothing about samples.
func cleaned(name string) string {
	return strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, "\\", "/")), "/")
}

// samplesOf is the input by which the sample of each input is known; nothing for one of no sample.
func samplesOf(ctx context.Context, src shardify.Source, t *format.Table) ([]uint32, error) {
	out := make([]uint32, t.Len())
	o, owned := src.(format.Owner)
	for i := range out {
		if out[i] = uint32(i); owned {
			out[i] = nothing
		}
	}
	if !owned {
		return out, nil
	}
	for sp, err := range src.Spans(ctx, plan.SpanBytes) {
		if err != nil {
			return nil, t.Locate(err)
		}
		for k := sp.Lo; k < sp.Hi; k++ {
			i := o.Owner(sp.Input, k)
			out[i] = i
		}
	}
	f, ok := src.(format.Foldered)
	if !ok || f.Folders() == nil {
		return out, nil
	}
	known := map[string]uint32{}
	for i, s := range out {
		if name, ok := f.Named(i); ok && s != nothing {
			known[name] = s
		}
	}
	for i := range out {
		if name, ok := f.Named(i); ok {
			if s, ok := known[name]; ok {
				out[i] = s
			}
		}
	}
	return out, nil
}

// maxParts bounds the parts of a path that are compared.
const maxParts = 64

// find gives names to samples: a name is the end of an input's path, or that is the end of the name, each
// with or without its extension. Of several the one with most parts in common is meant.
func (l *lists) find(src shardify.Source, t *format.Table, samples []uint32) {
	var depths [maxParts + 1]bool
	f, _ := src.(format.Foldered)
	each := func(do func(i int, full, rel string)) {
		for i, s := range samples {
			if s == nothing {
				continue
			}
			full, rel := cleaned(t.Path(i)), cleaned(t.Name(i))
			if rel == "" {
				rel = path.Base(full)
			}
			do(i, full, rel)
			if f == nil || f.Folders() == nil {
				continue
			}
			if name, ok := f.Named(i); ok {
				do(i, name, name)
			}
		}
	}
	each(func(_ int, _, rel string) { depths[min(strings.Count(rel, "/")+1, maxParts)] = true })
	for i := range l.entries {
		for _, name := range stems(l.entries[i].name, 2) {
			ends(name, func(end string, parts int) {
				if len(end) == len(name) || depths[parts] {
					l.index = append(l.index, hashed{xxh3.HashString(end), uint32(i)})
				}
			})
		}
	}
	slices.SortFunc(l.index, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.entry, b.entry)) })
	l.index = slices.Compact(l.index)
	each(func(i int, full, rel string) {
		above := len(full) - len(rel)
		last := ""
		for _, name := range stems(full, 3) {
			if name == last || len(name) <= above {
				continue
			}
			last = name
			ends(name, func(end string, _ int) { l.match(samples[i], full, name, end, name[above:]) })
		}
	})
}

// stems are the first of: a path as it is, without its last extension, and without all of them.
func stems(name string, n int) []string {
	out := []string{name, name, name}
	base := min(strings.LastIndexByte(name, '/')+2, len(name)) // a name may begin with a dot
	if at := strings.LastIndexByte(name[base:], '.'); at >= 0 {
		out[1] = name[:base+at]
		out[2] = name[:base+strings.IndexByte(name[base:], '.')]
	}
	return out[:n]
}

// ends gives the ends of a path, and of how many parts they are.
func ends(name string, do func(end string, parts int)) {
	for at, parts := len(name), 1; at > 0 && parts <= maxParts; parts++ {
		at = strings.LastIndexByte(name[:at], '/')
		do(name[at+1:], parts)
	}
}

// match gives a sample to the names that are an end of its path, or that rel is an end of.
func (l *lists) match(sample uint32, full, name, end, rel string) {
	hash := xxh3.HashString(end)
	k, _ := slices.BinarySearchFunc(l.index, hash, func(h hashed, hash uint64) int { return cmp.Compare(h.hash, hash) })
	for ; k < len(l.index) && l.index[k].hash == hash; k++ {
		e := &l.entries[l.index[k].entry]
		for _, n := range stems(e.name, 2) {
			if n != end && (end != rel || !strings.HasSuffix(n, "/"+rel)) {
				continue
			}
			score := 8 * (strings.Count(end, "/") + 1)
			if n == rel {
				score += 4
			}
			if path.Ext(e.name) == path.Ext(full) {
				score += 2
			}
			if n == e.name {
				score++
			}
			switch {
			case score > e.score:
				e.score, e.sample, e.rival = score, sample, nothing
			case score == e.score && e.sample != sample:
				e.rival = sample
			}
		}
	}
}

// found refuses names of two samples, and lists of other samples, and notes names of no sample.
func (l *lists) found(c *ask.Conversion, t *format.Table) error {
	none, first := make([]int, len(l.files)), make([]string, len(l.files))
	for i := range l.entries {
		e := &l.entries[i]
		if e.rival != nothing {
			return shardify.Annotate(shardify.Mismatch("the name %s is that of two samples, %s and %s: more of its path says which is meant",
				printable.Quote(e.name), t.Name(int(e.sample)), t.Name(int(e.rival))), "read", l.files[e.list], "")
		}
		if e.sample == nothing {
			if none[e.list]++; first[e.list] == "" {
				first[e.list] = e.name
			}
		}
	}
	for k, file := range l.files {
		if n := l.names[k]; none[k] == n && c.Splits == nil {
			return shardify.Annotate(shardify.Mismatch("no name in it is that of a sample: the first is %s, and the first of the inputs %s", printable.Quote(first[k]), t.Name(0)), "read", file, "")
		} else if none[k] > 0 {
			c.Note(fmt.Sprintf("%s: %s of %s of no sample; the first is %s", file, printable.Count(int64(none[k])), are(n), printable.Quote(first[k])))
		}
		if n := l.again[k]; n > 0 {
			c.Note(fmt.Sprintf("%s: %s once more; a sample is in the set once", file, are(n)))
		}
	}
	if l.classed != nil {
		c.Note(strings.Join(l.classed, ", ") + ": a list of a class; the split has all names in it, those with 1, 0 and -1 behind them")
	}
	return nil
}

func are(n int) string {
	if n == 1 {
		return "1 name is"
	}
	return printable.Of(int64(n), "name") + " are"
}

// parts is the part of each input; -1 for that of a sample in no list.
func (l *lists) parts(c *ask.Conversion, t *format.Table, samples []uint32) (out []splits.InputPart, err error) {
	part := make([]int32, t.Len())
	for i := range part {
		part[i] = splits.NoList
	}
	for i := range l.entries {
		e := &l.entries[i]
		if e.sample == nothing {
			continue
		}
		if p := part[e.sample]; p != splits.NoList && int(p) != e.list {
			return nil, shardify.Misuse("--split-from: %s is in two lists, %s and %s", t.Name(int(e.sample)), l.files[p], l.files[e.list])
		}
		part[e.sample] = int32(e.list)
	}
	left := 0
	for i, s := range samples {
		p := splits.NoList
		if s != nothing {
			p = int(part[s])
		} else if n := len(out); n > 0 {
			p = out[n-1].Part
		}
		if s == uint32(i) && p == splits.NoList {
			left++
		}
		if n := len(out); n > 0 && out[n-1].Part == p {
			out[n-1].End = uint32(i + 1)
			continue
		}
		out = append(out, splits.InputPart{End: uint32(i + 1), Part: p})
	}
	if left > 0 {
		what := "sample"
		if _, ok := c.Opened.Source.(format.Owner); !ok {
			what = "input"
		}
		if len(out) == 1 && out[0].Part == splits.NoList {
			err := shardify.Mismatch("--split-from: %s, and none is in a list: nothing would be in the set", printable.Of(int64(left), what))
			return nil, shardify.Hint(err, "add the names to one of the lists, and repeat the command: "+strings.Join(l.files, ", "))
		}
		c.Note(fmt.Sprintf("%s in no list: left out", printable.Of(int64(left), what)))
	}
	return out, nil
}
