package inspect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// What is decoded of the images that are looked at, and how many damaged ones are named.
const (
	mostPixels   = 64 << 20
	namedDamaged = 4
)

// images decodes some images, to find damaged ones.
type images struct {
	table           *format.Table
	files           bool // of one image each
	left            int  // pixels that may still be decoded
	looked, damaged int
	names           []string
}

// look decodes the image of sample k; one of 0 bytes is damaged. Kinds without a decoder and
// images beyond the limit are not counted.
func (m *images) look(b *shardify.Batch, c *shardify.Column, k int) {
	lo, hi := c.Range(k, k+1)
	if c.Valid != nil && c.Valid[k] == 0 {
		return
	}
	pixels, err := augment.CheckImage(c.Data[lo:hi], m.left)
	if errors.Is(err, shardify.ErrUnsupported) {
		return
	}
	m.left -= pixels
	if m.looked++; err == nil {
		return
	}
	if m.damaged++; m.damaged <= namedDamaged {
		m.names = append(m.names, m.name(b, k)+": "+format.Reason(err))
	}
}

// name says where an image is: its input, and its key or which sample of it it is. Keys of
// files are their names.
func (m *images) name(b *shardify.Batch, k int) string {
	id, key := b.ID(k), string(b.Key(k))
	if key == "" {
		key = fmt.Sprintf("sample %d", id.Sample)
	} else if m.files {
		return key
	}
	if int(id.Input) < m.table.Len() {
		return m.table.Shown(int(id.Input)) + " " + key
	}
	return key
}

// fact is "" where no image is damaged.
func (m *images) fact() string {
	if m.damaged == 0 {
		return ""
	}
	verb, more := "are", ""
	if m.damaged == 1 {
		verb = "is"
	}
	if n := m.damaged - len(m.names); n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return fmt.Sprintf("%d of %s looked at %s damaged: %s%s; convert --check-images looks at all",
		m.damaged, printable.Of(int64(m.looked), "image"), verb, strings.Join(m.names, "; "), more)
}
