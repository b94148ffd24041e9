package files

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify/internal/walk"
)

// places counts something and keeps three examples.
type places struct {
	count    int64
	examples []string
}

func (p *places) add(name func() string) {
	p.count++
	if len(p.examples) < 3 {
		p.examples = append(p.examples, name())
	}
}

// list says "4 samples (a, b, c, ...)".
func (p *places) list(one, many string) string {
	what := many
	if p.count == 1 {
		what = one
	}
	dots := ""
	if p.count > int64(len(p.examples)) {
		dots = ", ..."
	}
	return fmt.Sprintf("%d %s (%s%s)", p.count, what, strings.Join(p.examples, ", "), dots)
}

func quote(name []byte) string { return walk.Quote(string(name)) }
