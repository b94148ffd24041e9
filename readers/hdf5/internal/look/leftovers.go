package look

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// leftovers collects what is not delivered.
type leftovers struct{ list []format.Leftover }

// add notes what has values in a form that is not read.
func (l *leftovers) add(name string, err error) {
	l.list = append(l.list, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: Reason(err), Unreadable: true, Err: err})
}

// note notes what is no column.
func (l *leftovers) note(name, why string) {
	l.list = append(l.list, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: why})
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
