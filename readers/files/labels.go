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
	if mode == "auto" && reason == "" {
		reason = b.unlikely()
	}
	if reason == "" {
		return nil
	}
	found := len(b.labels)
	b.labels = nil
	switch {
	case mode == "folder":
		return shardify.Mismatch("--labels folder: %s", reason)
	case found > 1:
		b.left = append(b.left, shardify.Leftover{Name: labelField, Reason: reason + " (--labels folder adds it all the same)"})
	}
	return nil
}

// classes collects the first folders of all samples, or says why they cannot be
// labels.
func (b *builder) classes() string {
	if slices.ContainsFunc(b.all, func(m member) bool { return m.Field == labelField }) {
		return "there are files *.cls already"
	}
	var bare places
	set := map[string]bool{}
	last := ""
	for s := range int64(b.m.samples) {
		f := b.m.named(s)
		label := b.names.label(f)
		if label == nil {
			bare.add(func() string { return quote(b.names.stem(f)) })
			continue
		}
		if string(label) == last {
			continue
		}
		last = string(label)
		if !set[last] && len(set) == maxLabels {
			return "more folders than classes can have"
		}
		set[last] = true
	}
	if bare.count > 0 {
		return bare.list("sample", "samples") + " in no folder"
	}
	for _, l := range slices.Sorted(maps.Keys(set)) {
		if strings.Contains(l, shardify.LabelSeparator) || !utf8.ValidString(l) {
			return fmt.Sprintf("the folder %q has a name that is not UTF-8 or has a line feed", l)
		}
		b.labels = append(b.labels, l)
	}
	return ""
}

// unlikely says why the first folders are probably no classes.
func (b *builder) unlikely() string {
	n := len(b.labels)
	image := slices.ContainsFunc(b.all, func(m member) bool { return m.varies() || imageTypes[media(m.Exts[0])] })
	switch {
	case n < 2:
		return "one folder only"
	case !image:
		return "folders without images are not taken for classes"
	case n > fewLabels && 2*n > b.m.samples:
		return "almost every sample has a folder of its own"
	case !slices.ContainsFunc(b.labels, func(l string) bool { return !slices.Contains(splits, strings.ToLower(l)) }):
		return "folders are named like splits: convert each by itself"
	}
	return ""
}
