package files

import (
	"slices"

	"github.com/shardify/shardify/internal/labels"
)

// labelField is the field with the class of a sample.
const labelField = labels.ClassField

// classesTaken is why folders are not classes beside files cls.
const classesTaken = "there are files *.cls already"

// findLabels decides about the field cls and lists the classes.
func (b *builder) findLabels() error {
	mode := b.options[optLabels]
	if mode == labels.Never || isTable(mode) || !b.labelled {
		return nil
	}
	if b.hasClasses() {
		return b.settle(mode, nil, classesTaken, b.m.samples)
	}
	var c labels.Classes
	for s := range int64(b.m.samples) {
		if !c.Add(b.names, b.m.named(s)) {
			break
		}
	}
	found, reason := c.List()
	return b.settle(mode, found, reason, b.m.samples)
}

// hasClasses tells whether there are files cls.
func (b *builder) hasClasses() bool {
	return slices.ContainsFunc(b.all, func(m member) bool { return m.Field == labelField })
}

// settle decides whether the classes that were found are labels of so many samples.
func (b *builder) settle(mode string, found []string, reason string, samples int) error {
	if mode == labels.Auto && reason == "" {
		reason = b.unlikely(found, samples)
	}
	classes, left, err := labels.Settle(mode, found, reason)
	b.labels, b.left = classes, append(b.left, left...)
	return err
}

// unlikely says why the first folders are probably no classes.
func (b *builder) unlikely(found []string, samples int) string {
	image := slices.ContainsFunc(b.all, func(m member) bool { return m.varies() || imageTypes[media(m.Exts[0])] })
	if len(found) > 1 && !image {
		return "folders without images are not taken for classes"
	}
	return labels.Unlikely(found, samples)
}
