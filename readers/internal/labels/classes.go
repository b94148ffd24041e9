package labels

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage/walk"
)

// ClassField is the field with the class of a sample.
const ClassField = "cls"

// Ways to decide about the class, as the option labels says them.
const (
	Auto   = "auto"
	Never  = "none"
	Always = "folder"
)

// maxClasses bounds the classes: more folders than this hold something else.
const maxClasses = 1 << 16

// fewClasses is a number of folders that count as classes even if each holds one
// sample.
const fewClasses = 1000

// Classes collects the folders of samples that may be classes: the first of each, or the
// second where the first ones are splits.
type Classes struct {
	// Splits: the first folders are splits, whatever their names.
	Splits bool
	levels [2]folders
	other  bool // a first folder is not a split
}

// folders is those at one level.
type folders struct {
	bare Listed // samples without
	set  map[string]bool
	last string
	many bool // more than can be
	// own: a file does not begin with the number that its folder is, as in 00012/000120003.jpg.
	own bool
}

// Add takes a file of the next sample. It is false when no further one matters.
func (c *Classes) Add(p *Paths, file int) bool {
	top := &c.levels[0]
	first := p.folder(file, 0)
	before := len(top.set)
	more := top.add(p, file, first)
	c.other = c.other || len(top.set) > before && !walk.IsSplit(top.last)
	if c.Splits || !c.other || len(top.set) < 2 {
		c.levels[1].add(p, file, p.folder(file, 1))
	}
	return more || c.Splits
}

func (f *folders) add(p *Paths, file int, class []byte) bool {
	if class == nil {
		f.bare.add(func() string { return walk.Quote(string(p.Stem(file))) })
		return !f.many
	}
	f.own = f.own || !numbered(class, p.Stem(file))
	if string(class) == f.last || f.many {
		return !f.many
	}
	f.last = string(class)
	if f.set == nil {
		f.set = map[string]bool{}
	}
	if !f.set[f.last] && len(f.set) == maxClasses {
		f.many = true
		return false
	}
	f.set[f.last] = true
	return true
}

// numbered reports whether a folder and a file in it are numbers, and that of the file goes on from
// that of the folder.
func numbered(folder, stem []byte) bool {
	const least = 4 // digits: shorter numbers are classes, as those of MNIST
	base := stem[bytes.LastIndexByte(stem, '/')+1:]
	return len(folder) >= least && len(base) > len(folder) && bytes.HasPrefix(base, folder) && Digits(base)
}

// Merge adds what was collected of other samples.
func (c *Classes) Merge(o *Classes) {
	c.other = c.other || o.other
	for i := range c.levels {
		a, b := &c.levels[i], &o.levels[i]
		a.many, a.own = a.many || b.many, a.own || b.own
		a.bare.Count += b.bare.Count
		a.bare.First = append(a.bare.First, b.bare.First[:min(len(b.bare.First), shown-len(a.bare.First))]...)
		for f := range b.set {
			if a.set == nil {
				a.set = map[string]bool{}
			}
			if a.set[f] = true; len(a.set) > maxClasses {
				a.many = true
				break
			}
		}
	}
}

// inSplits reports whether the first folders are splits and those in them may be classes.
func (c *Classes) inSplits() bool {
	return (c.Splits || !c.other) && len(c.levels[0].set) > 0 && c.levels[0].bare.Count == 0 && len(c.levels[1].set) > 0
}

// Found is what the folders of samples say about classes.
type Found struct {
	Classes []string // sorted
	Reason  string   // why there are no classes
	// Second: classes are the second folders, since the first are splits.
	Second bool
	// Above: the only folder, where those in it may be classes; else "".
	Above   string
	splits  []string // first folders, some of which may be splits
	several bool     // there is more than one folder
	series  bool     // numbers of files go on from those of their folders
	// Table: labels come from a table, so that notes about folders are not needed.
	Table bool
}

// Find lists the classes.
func (c *Classes) Find() (f Found) {
	f.Second = c.inSplits()
	level := &c.levels[0]
	if f.Second {
		level = &c.levels[1]
	} else if len(level.set) == 1 && level.bare.Count == 0 && c.levels[1].bare.Count == 0 && len(c.levels[1].set) > 1 {
		f.Above = level.last
	}
	f.splits, f.several = slices.Sorted(maps.Keys(c.levels[0].set)), len(level.set) > 1
	f.series = !level.own
	if level.many {
		f.Reason = "more folders than classes can have"
		return f
	}
	if n := level.bare.Count; n > 0 {
		f.Reason = level.bare.of("sample", "samples") + " in no folder"
		return f
	}
	for _, l := range slices.Sorted(maps.Keys(level.set)) {
		if strings.Contains(l, shardify.LabelSeparator) || !utf8.ValidString(l) {
			f.Reason = fmt.Sprintf("the folder %q has a name that is not UTF-8 or has a line feed", l)
			return f
		}
		f.Classes = append(f.Classes, l)
	}
	if c.Splits && !f.Second {
		f.Reason = reasonSplits
	}
	return f
}

// reasonSplits needs no report: the folders become splits, or the user has asked for one set.
const reasonSplits = "the folders are splits"

// several reports whether samples are in different folders that are more than splits.
func (c *Classes) several() bool {
	f := &c.levels[0]
	return f.many || len(f.set) > 1 && !walk.OnlySplits(maps.Keys(f.set)) || c.inSplits()
}

// Unlikely says why the folders of so many samples are probably not classes.
func (f *Found) Unlikely(samples int) string {
	n := len(f.Classes)
	switch {
	case n < 2:
		return "one folder only"
	case f.series:
		return "the folders are numbers with which those of their files begin"
	case n > fewClasses && 2*n > samples:
		return "almost every sample has a folder of its own"
	case !f.Second && walk.OnlySplits(slices.Values(f.Classes)):
		return reasonSplits
	}
	return ""
}

// Settle takes the classes that were found, unless a reason speaks against them. What is
// left out for it is reported, or an error where classes are asked for.
func (f *Found) Settle(mode, reason string) ([]string, []format.Leftover, error) {
	if reason = cmp.Or(f.Reason, reason); f.Table && reason == "" && walk.MixedSplits(f.splits) {
		reason = "some folders are named like splits, others are not"
	}
	switch {
	case mode == Auto && walk.MixedSplits(f.splits) && !f.Table:
		way := func(option, value, makes string) format.Way {
			return format.Way{Options: format.Options{option: value}, Makes: makes}
		}
		return nil, nil, format.NewAmbiguous(fmt.Sprintf("of the folders %s some are named like splits, and others are not", some(f.splits)), []format.Way{
			way(optLabels.Name, Always, fmt.Sprintf("classes of %d folders", len(f.splits))), way(format.SplitFrom, "dirs", "a data set of each folder"), way(optLabels.Name, Never, "one set without the field cls"),
		})
	case reason == "":
		return f.Classes, nil, nil
	case mode == Always:
		return nil, nil, shardify.Mismatch("--labels folder: %s; --labels none leaves the field cls out", reason)
	case reason == reasonSplits:
		return nil, nil, nil
	case f.Above != "":
		return nil, []format.Leftover{{Name: ClassField, Reason: "all files are in one folder, " + walk.Quote(f.Above) + "; with that as INPUT, the folders in it are classes"}}, nil
	case f.Reason != "" && f.several:
		return nil, []format.Leftover{{Name: ClassField, Reason: reason}}, nil
	case len(f.Classes) > 1 && f.Table:
		return nil, []format.Leftover{{Name: ClassField, Reason: reason}}, nil
	case len(f.Classes) > 1:
		return nil, []format.Leftover{{Name: ClassField, Reason: reason + " (--labels folder adds it all the same)"}}, nil
	}
	return nil, nil, nil
}

// Judged reports that the option labels has an effect, where Settle has anything to report about the
// folders.
func (f *Found) Judged(u *format.Used, reason string) {
	if classes, left, err := f.Settle(Auto, reason); classes != nil || left != nil || err != nil {
		u.Mark(optLabels.Name)
	}
}

// ClassesField is the field cls of these classes.
func ClassesField(classes []string) shardify.Field {
	return shardify.Field{Name: ClassField, DType: shardify.I64, Attrs: NamesOf(classes)}
}

// NamesOf are the attributes of a field of codes, by the names of the codes.
func NamesOf(names []string) map[string]string {
	return map[string]string{"labels": strings.Join(names, shardify.LabelSeparator)}
}

// Codes numbers the classes.
func Codes(classes []string) map[string]int64 {
	codes := make(map[string]int64, len(classes))
	for i, l := range classes {
		codes[l] = int64(i)
	}
	return codes
}
