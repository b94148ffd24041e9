package files

import (
	"bytes"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/labels"
)

// cutter finds where a part of the inputs may end: in front of a file whose stem no
// earlier file has.
//
// The files of a stem are the stem itself (a file without extension) and names that go
// on with a dot behind it. In the order of a walk, as in that of bytes, all names that
// are between two of them begin with the stem. So it is enough to remember the stems
// that the current name begins with, and of those no more than their lengths.
//
// Stems that go on behind digits begin with those that end at the first dot, so that parts
// which keep these whole keep the others, too.
type cutter struct {
	by     labels.Stem
	sorted bool // names must be in the order of their bytes
	name   []byte
	open   []openStem // by length
	part   int
}

// openStem is a stem and the part that its first file is in.
type openStem struct{ len, part int }

func (c *cutter) Next(name []byte) (begins bool, err error) {
	same := format.CommonPrefix(c.name, name)
	if c.sorted && (same == len(name) || same < len(c.name) && c.name[same] > name[same]) && len(c.name) > 0 {
		return false, format.ErrNotInParts
	}
	c.name = append(c.name[:0], name...)
	n := len(c.open)
	for n > 0 && c.open[n-1].len > same {
		n--
	}
	dir := bytes.LastIndexByte(name, '/') + 1
	stem := dir + c.by.End(name[dir:])
	k := n
	for k > 0 && c.open[k-1].len > stem {
		k--
	}
	if k > 0 && c.open[k-1].len == stem {
		c.open = c.open[:n]
		if c.open[k-1].part != c.part {
			return false, format.ErrNotInParts
		}
		return false, nil
	}
	c.open = append(c.open[:n], openStem{})
	copy(c.open[k+1:], c.open[k:])
	c.open[k] = openStem{stem, c.part}
	return true, nil
}

func (c *cutter) Begin() {
	c.part++
	dir := bytes.LastIndexByte(c.name, '/') + 1
	stem := dir + c.by.End(c.name[dir:])
	for i := range c.open {
		if c.open[i].len == stem {
			c.open[i].part = c.part
		}
	}
}
