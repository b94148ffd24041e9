package transform

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/augment"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/transform/cast"
	"github.com/shardify/shardify/transform/fields"
	"github.com/shardify/shardify/transform/op"
)

// Split is the key of Settings of the text of splits, whose conditions name fields, too.
const Split = "split"

// Settings are the values that are given for each kind of operation, in their order, by
// the kind's name.
type Settings map[string][]string

// Empty reports whether there are no operations.
func (s Settings) Empty() bool {
	for _, v := range s {
		if len(v) > 0 {
			return false
		}
	}
	return true
}

// Rounds is cast.Rounds.
func Rounds(casts []string) func(field string) bool { return cast.Rounds(casts) }

// Orients reports whether images are turned by their EXIF tag.
func (s Settings) Orients() bool {
	return slices.ContainsFunc(s[Augment], func(text string) bool {
		spec, err := augment.Parse(text)
		return err == nil && spec.Op.Name == "orient"
	})
}

// Lines of an operation's text that are found when the plan is made, and hold wherever the
// inputs are later.
const (
	runsLine   = "\ninputs: " // which line of the value each input has
	openedLine = "\ntable: "  // what was in the file beside the inputs
)

// Opened is an operation that reads a file beside the inputs, which must be the same whenever
// it is carried out.
func Opened(o plan.Op, digest string) plan.Op { o.Text += openedLine + digest; return o }

// Ops lists the operations in their order. The globs of set and fraction are looked up
// among the inputs.
func (s Settings) Ops(table *format.Table) ([]plan.Op, error) {
	var out []plan.Op
	for i := range Table {
		k := &Table[i]
		texts, err := s.texts(k)
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			if k.ByInput {
				made, err := k.New(&op.Env{Table: table}, t)
				if err != nil {
					return nil, err
				}
				t += runsLine + made.Transform.(op.Lines).Runs().String()
			}
			out = append(out, plan.Op{Name: k.Name, Text: t})
		}
	}
	return out, nil
}

// texts are the texts of the operations of one kind.
func (s Settings) texts(k *op.Kind) ([]string, error) {
	given := s[k.Name]
	if len(given) == 0 {
		return nil, nil
	}
	for _, g := range given {
		if strings.Contains(g, "\n") {
			return nil, fmt.Errorf("--%s %q has a line feed", k.Name, g)
		}
	}
	if k.Texts == nil {
		return given, nil
	}
	return k.Texts(given)
}

// WithTotals completes the sums over other tables of the inputs in --set: they are read
// from a source of that format.
func (s Settings) WithTotals(ctx context.Context, src format.Input, table *format.Table, pool *shardify.Pool, jobs int) (Settings, error) {
	if !slices.ContainsFunc(s[Set], fields.HasTotals) {
		return s, nil
	}
	texts, err := s.texts(Lookup(Set))
	if err != nil {
		return nil, err
	}
	out := maps.Clone(s)
	out[Set] = nil
	t := fields.NewTotals(src, table, pool, jobs)
	for _, text := range texts {
		if text, err = t.Complete(ctx, text); err != nil {
			return nil, err
		}
		out[Set] = append(out[Set], strings.Split(text, "\n")...)
	}
	return out, nil
}

// Shown is an operation's text as it was given: a line for each value.
func Shown(o plan.Op) []string { return strings.Split(shown(o.Text), "\n") }

// shown is a text without the lines that were found.
func shown(text string) string {
	text, _, _ = strings.Cut(text, runsLine)
	text, _, _ = strings.Cut(text, openedLine)
	return text
}
