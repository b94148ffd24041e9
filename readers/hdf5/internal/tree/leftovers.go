package tree

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// Leave notes what is no field: damage is an error, anything else has a form that is not read.
func (t *Tree) Leave(p string, err error) {
	if !t.File.Fault(p, err) {
		t.unread(p, err)
	}
}

// unread notes what has values in a form that is not read.
func (t *Tree) unread(name string, err error) {
	t.Left = append(t.Left, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: Reason(err), Unreadable: true, Err: err})
}

// Omit notes what is no column.
func (t *Tree) Omit(name, why string) {
	t.Left = append(t.Left, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: why})
}

// Reason is an error as a line of a list that names the object itself.
func Reason(err error) string {
	var e *shardify.Error
	s := err.Error()
	if errors.As(err, &e) {
		if s = e.Err.Error(); e.Offset >= 0 {
			s += fmt.Sprintf(" (at byte %d)", e.Offset)
		}
	}
	return strings.Replace(s, ": "+shardify.ErrUnsupported.Error(), "", 1)
}
