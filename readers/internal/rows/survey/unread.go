package survey

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// unread is a field that some files have and cannot deliver.
type unread struct {
	leftField
	layouts map[*layout]bool
	files   int64
}

// unreadable leaves out the fields that no file delivers, and refuses those that only some
// do: what the others hold must not get lost unseen.
func (m *merger) unreadable() error {
	var some []*unread
	for _, b := range unreadIn(m.live, &m.cands) {
		why := b.reason
		if m.want.Exact(b.name) {
			err := shardify.Unsupported("%s", why)
			err.Field = b.name
			return m.about(b.input, err)
		}
		if m.cands.byName[b.name] != nil {
			some = append(some, b)
			continue
		}
		if b.files < m.count {
			why = fmt.Sprintf("%s, in %s of %d", why, m.in(b.layouts), m.count)
		}
		m.left = append(m.left, format.Leftover{Name: b.name, Reason: why, Unreadable: b.unreadable, Err: b.err})
	}
	return m.someUnread(some)
}

// unreadIn gathers what layouts cannot deliver, by name.
func unreadIn(live []*layout, cs *candidates) (all []*unread) {
	byName := map[string]*unread{}
	for _, l := range live {
		for _, x := range l.untyped(cs) {
			b := byName[x.name]
			if b == nil {
				b = &unread{leftField: x, layouts: map[*layout]bool{}}
				byName[x.name] = b
				all = append(all, b)
			}
			b.layouts[l] = true
			b.files += l.files
		}
	}
	return all
}

// nothing is why a field is left out that has no value anywhere.
const nothing = "it holds nothing but missing values"

// untyped lists what a layout cannot deliver, but not fields without a type for which other files
// have one: they become missing values.
func (l *layout) untyped(cs *candidates) []leftField {
	left := l.left[:len(l.left):len(l.left)]
	for _, name := range l.void {
		if c := cs.byName[name]; c != nil {
			c.isVoid(l)
		} else {
			left = append(left, leftField{name: name, reason: nothing, input: l.first[0]})
		}
	}
	return left
}

// someUnread is the error about fields that some files deliver and others have, but cannot.
func (m *merger) someUnread(some []*unread) error {
	if len(some) == 0 {
		return nil
	}
	var why, cure []string
	for i, b := range some {
		cure = append(cure, "!"+b.name)
		switch {
		case i < listed:
			why = append(why, fmt.Sprintf("field %s is in the other inputs, not in %s of %d: %s", b.name, m.in(b.layouts), m.count, b.reason))
		case i == listed:
			why = append(why, fmt.Sprintf("and %d more fields", len(some)-listed))
		}
	}
	text := fmt.Sprintf("%s; --columns '%s' leaves out such fields", strings.Join(why, "; "), strings.Join(cure, ","))
	err := shardify.Mismatch("%s", text)
	if some[0].unreadable {
		err = shardify.Unsupported("%s", text)
	}
	return m.about(some[0].input, err)
}
