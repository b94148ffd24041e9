package look

import (
	"errors"
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// leftovers collects what is not delivered. Many names with one reason become a
// few lines: a file may hold 100,000 data sets.
type leftovers struct {
	list  []format.Leftover
	count map[string]int // by reason
}

// maxSame is how many names of one reason are listed.
const maxSame = 20

// add notes what has values in a form that is not read.
func (l *leftovers) add(name string, err error) {
	l.list = append(l.list, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: Reason(err), Unreadable: true})
}

// note notes what is no column.

func (l *leftovers) note(name, why string) {
	if l.count == nil {
		l.count = map[string]int{}
	}
	if l.count[why]++; l.count[why] <= maxSame {
		l.list = append(l.list, format.Leftover{Name: strings.TrimPrefix(name, "/"), Reason: why})
	}
}

// all are the leftovers, with a line for those not listed.
func (l *leftovers) all() []format.Leftover {
	out := l.list
	for i := range out {
		if n := l.count[out[i].Reason]; n > maxSame {
			l.count[out[i].Reason] = 0
			out = append(out, format.Leftover{Name: fmt.Sprintf("(%d more)", n-maxSame), Reason: out[i].Reason})
		}
	}
	return out
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
