package survey

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
)

// Inputs are some inputs of a table: how many, and the first of them, for messages.
type Inputs struct {
	count int64
	first []uint32 // in order, at most shown
}

// Add counts an input, which must not have been counted before.
func (in *Inputs) Add(input uint32) { in.join(1, []uint32{input}) }

// First is the first of them.
func (in *Inputs) First() uint32 { return in.first[0] }

func (in *Inputs) join(count int64, first []uint32) {
	in.count += count
	if len(in.first) == shown && first[0] > in.first[shown-1] {
		return
	}
	in.first = append(in.first, first...)
	slices.Sort(in.first)
	in.first = in.first[:min(len(in.first), shown)]
}

// text says "4 inputs (a, b, c, ...)".
func (in *Inputs) text(t *format.Table) string {
	var names []string
	for _, i := range in.first {
		names = append(names, t.Shown(int(i)))
	}
	return printable.Of(in.count, "input") + " (" + examples(names, int(in.count)) + ")"
}

// Empty is the note about inputs without samples, which do not affect the fields; nil if there are
// no such inputs.
func Empty(t *format.Table, in *Inputs) []string {
	if in.count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("no samples in %s", in.text(t))}
}
