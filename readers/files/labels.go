package files

import (
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/readers/internal/pairs"
)

// labelField is the field with the class of a sample.
const labelField = labels.ClassField

// classesTaken is why folders are not classes beside files cls.
const classesTaken = "there are files *.cls already"

// findLabels decides about the field cls and lists the classes.
func (b *builder) findLabels() error {
	c := labels.Classes{Splits: b.folders}
	for s := range int64(b.m.samples) {
		if !c.Add(b.names, b.m.named(s)) {
			break
		}
	}
	return b.settle(&c, b.m.samples)
}

// hasClasses reports whether there are files cls.
func (b *builder) hasClasses() bool {
	return slices.ContainsFunc(b.all, func(m member) bool { return m.Field == labelField })
}

// settle decides whether the folders of so many samples are classes.
func (b *builder) settle(c *labels.Classes, samples int) (err error) {
	mode := b.options[optLabels]
	if !b.labelled {
		return nil
	}
	found, reason := c.Find(), ""
	if mode == labels.Never {
		if !b.hasClasses() {
			found.Judged(b.used, b.unlikely(&found, samples))
		}
		return nil
	}
	b.used.Mark(optLabels)
	switch {
	case b.hasClasses():
		found.Reason = classesTaken
	case b.hasColumn():
		found.Reason = "--labels has a column " + labelField + ", which takes the place of the folders"
	case mode != labels.Always:
		mode = labels.Auto // a table says nothing about the folders
		reason = b.unlikely(&found, samples)
	}
	found.Table = labels.Tables(b.options[optLabels])
	level := 0
	if found.Second {
		level = 1
	}
	if found.Table && reason == "" && found.Reason == "" && b.known.sides.Find(level) != nil {
		found.Reason = "folders hold files of the same names"
	}
	var left []format.Leftover
	b.labels, left, err = found.Settle(mode, reason)
	b.left = append(b.left, left...)
	if b.labels == nil || err != nil {
		return err
	}
	b.names.Second = found.Second
	return b.paired(level)
}

// noClasses is the level of classes in folders without classes.
const noClasses = -1

// paired is the error about folders with parts of the same samples, unless the user says
// what they are. Folders at the level of classes are parts if they have the same names.
func (b *builder) paired(level int) error {
	if b.options[optLabels] != labels.Auto || b.pairs != nil {
		return nil
	}
	if list := b.known.sides.Find(level); list != nil {
		return pairs.Doubt(list, b.known.uniform(b.known.strays(b.strange())))
	}
	return nil
}

// ends is the error about pictures whose names say that they are parts of the same samples, as 1.png and 1_mask.png,
// unless the user says what they are.
func (b *builder) ends() error {
	if b.options[optLabels] != labels.Auto || b.pairs != nil {
		return nil
	}
	doubt, strays := b.known.ends, b.known.strays(b.strange())
	if doubt == nil || b.known.many || !slices.ContainsFunc(b.known.kinds, func(k *kind) bool { return !strays[k] && b.picture(k) }) {
		return nil
	}
	if b.labels != nil {
		doubt.Ways = append(doubt.Ways, format.With(optLabels, labels.Always, "classes of the folders"))
	}
	return doubt
}

// picture reports whether samples of a kind are single pictures, and stay.
func (b *builder) picture(k *kind) bool {
	if len(k.exts) != 1 || !imageTypes[media(k.exts[0])] {
		return false
	}
	for i := range b.members {
		if b.options[optMissing] == "drop" && !b.members[i].in(k) {
			return false
		}
	}
	return true
}

// hasColumn reports whether the table of labels has the field cls.
func (b *builder) hasColumn() bool {
	return b.joined != nil && shardify.FieldIndex(b.joined.Fields, labelField) >= 0
}

// unlikely says why the folders are probably no classes.
func (b *builder) unlikely(found *labels.Found, samples int) string {
	image := slices.ContainsFunc(b.all, func(m member) bool { return m.varies() || imageTypes[media(m.Exts[0])] })
	if len(found.Classes) > 1 && !image {
		return "folders without images are not taken for classes"
	}
	return found.Unlikely(samples)
}
