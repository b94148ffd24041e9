package labels

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/walk"
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

// splits are folder names that part a data set and do not classify it.
var splits = []string{"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval"}

// Classes collects the first folders of samples.
type Classes struct {
	bare Listed // samples without
	set  map[string]bool
	last string
	many bool // more than can be
}

// Add takes a file of the next sample. It is false when no further one matters.
func (c *Classes) Add(p *Paths, file int) bool {
	class := p.Class(file)
	if class == nil {
		c.bare.add(func() string { return walk.Quote(string(p.Stem(file))) })
		return !c.many
	}
	if string(class) == c.last || c.many {
		return !c.many
	}
	c.last = string(class)
	if c.set == nil {
		c.set = map[string]bool{}
	}
	if !c.set[c.last] && len(c.set) == maxClasses {
		c.many = true
		return false
	}
	c.set[c.last] = true
	return true
}

// List is the classes, sorted, or why they are none.
func (c *Classes) List() (classes []string, reason string) {
	if c.many {
		return nil, "more folders than classes can have"
	}
	if n := c.bare.Count; n > 0 {
		return nil, c.bare.Of("sample", "samples") + " in no folder"
	}
	for _, l := range slices.Sorted(maps.Keys(c.set)) {
		if strings.Contains(l, shardify.LabelSeparator) || !utf8.ValidString(l) {
			return classes, fmt.Sprintf("the folder %q has a name that is not UTF-8 or has a line feed", l)
		}
		classes = append(classes, l)
	}
	return classes, ""
}

// several tells whether samples stand in different folders that are more than splits.
func (c *Classes) several() bool { return c.many || len(c.set) > 1 && !onlySplits(maps.Keys(c.set)) }

// Unlikely says why the first folders of so many samples are probably not classes.
func Unlikely(classes []string, samples int) string {
	n := len(classes)
	switch {
	case n < 2:
		return "one folder only"
	case n > fewClasses && 2*n > samples:
		return "almost every sample has a folder of its own"
	case onlySplits(slices.Values(classes)):
		return "folders are named like splits: convert each by itself"
	}
	return ""
}

func onlySplits(folders iter.Seq[string]) bool {
	for f := range folders {
		if !slices.Contains(splits, strings.ToLower(f)) {
			return false
		}
	}
	return true
}

// Settle takes the classes that were found, unless a reason speaks against them. What is
// left out for it is reported, or an error where classes are asked for.
func Settle(mode string, classes []string, reason string) ([]string, []format.Leftover, error) {
	switch {
	case reason == "":
		return classes, nil, nil
	case mode == Always:
		return nil, nil, shardify.Mismatch("--labels folder: %s", reason)
	case len(classes) > 1:
		return nil, []format.Leftover{{Name: ClassField, Reason: reason + " (--labels folder adds it all the same)"}}, nil
	}
	return nil, nil, nil
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
