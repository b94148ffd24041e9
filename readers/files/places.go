package files

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify/storage/walk"
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

// merge adds what was counted later.
func (p *places) merge(q *places) {
	p.count += q.count
	p.examples = append(p.examples, q.examples[:min(len(q.examples), 3-len(p.examples))]...)
}

// problem is an error about many samples. It has a method Join: where the inputs
// are looked at in parts, the problems of one kind are one error.
type problem struct {
	kind  string
	total int64 // samples that there are
	more  int   // findings that are not listed
	found []finding
	text  func(p *problem) error
}

// finding is samples that share a fault.
type finding struct {
	name string
	places
}

func (p *problem) Error() string { return p.text(p).Error() }

func (p *problem) Unwrap() error { return p.text(p) }

func (p *problem) Join(more error) bool {
	var q *problem
	if !errors.As(more, &q) || q.kind != p.kind {
		return false
	}
	p.more = max(p.more, q.more)
	for i := range q.found {
		f := &q.found[i]
		k := slices.IndexFunc(p.found, func(x finding) bool { return x.name == f.name })
		if k < 0 {
			p.found = append(p.found, *f)
			continue
		}
		p.found[k].merge(&f.places)
	}
	return true
}

func quote(name []byte) string { return walk.Quote(string(name)) }
