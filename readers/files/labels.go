package files

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shardify/shardify"
)

// labelField is the field with the class of a sample.
const labelField = "cls"

// maxLabels bounds the classes: more folders than this hold something else.
const maxLabels = 1 << 16

// fewLabels is a number of folders that count as classes even if each holds one
// sample.
const fewLabels = 1000

// splits are folder names that part a data set and do not classify it.
var splits = []string{"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval"}

// findLabels decides about the field cls and lists the classes.
func (b *builder) findLabels() error {
	mode := b.options[optLabels]
	if mode == "none" || isTable(mode) || !b.labelled {
		return nil
	}
	reason := b.classes()
	var err error
	b.labels, err = b.settle(mode, b.labels, reason, b.m.samples)
	return err
}

// settle decides whether the classes that were found are labels of so many samples.
func (b *builder) settle(mode string, labels []string, reason string, samples int) ([]string, error) {
	if mode == "auto" && reason == "" {
		reason = b.unlikely(labels, samples)
	}
	if reason == "" {
		return labels, nil
	}
	found := len(labels)
	switch {
	case mode == "folder":
		return nil, shardify.Mismatch("--labels folder: %s", reason)
	case found > 1:
		b.left = append(b.left, shardify.Leftover{Name: labelField, Reason: reason + " (--labels folder adds it all the same)"})
	}
	return nil, nil
}

// classes collects the first folders of all samples, or says why they cannot be
// labels.
func (b *builder) classes() string {
	if slices.ContainsFunc(b.all, func(m member) bool { return m.Field == labelField }) {
		return "there are files *.cls already"
	}
	var c classes
	for s := range int64(b.m.samples) {
		if c.add(b.names, b.m.named(s)); c.many {
			break
		}
	}
	var reason string
	b.labels, reason = c.list()
	return reason
}

// classes is the first folders of samples.
type classes struct {
	bare places // samples without
	set  map[string]bool
	last string
	many bool // more than can be
}

// add takes a file of the next sample.
func (c *classes) add(n *names, file int) {
	label := n.label(file)
	if label == nil {
		c.bare.add(func() string { return quote(n.stem(file)) })
		return
	}
	if string(label) == c.last || c.many {
		return
	}
	c.last = string(label)
	if c.set == nil {
		c.set = map[string]bool{}
	}
	if !c.set[c.last] && len(c.set) == maxLabels {
		c.many = true
		return
	}
	c.set[c.last] = true
}

// list is the classes, sorted, or why they are none.
func (c *classes) list() (labels []string, reason string) {
	if c.many {
		return nil, "more folders than classes can have"
	}
	if c.bare.count > 0 {
		return nil, c.bare.list("sample", "samples") + " in no folder"
	}
	for _, l := range slices.Sorted(maps.Keys(c.set)) {
		if strings.Contains(l, shardify.LabelSeparator) || !utf8.ValidString(l) {
			return labels, fmt.Sprintf("the folder %q has a name that is not UTF-8 or has a line feed", l)
		}
		labels = append(labels, l)
	}
	return labels, ""
}

// unlikely says why the first folders are probably no classes.
func (b *builder) unlikely(labels []string, samples int) string {
	n := len(labels)
	image := slices.ContainsFunc(b.all, func(m member) bool { return m.varies() || imageTypes[media(m.Exts[0])] })
	switch {
	case n < 2:
		return "one folder only"
	case !image:
		return "folders without images are not taken for classes"
	case n > fewLabels && 2*n > samples:
		return "almost every sample has a folder of its own"
	case !slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(splits, strings.ToLower(l)) }):
		return "folders are named like splits: convert each by itself"
	}
	return ""
}
