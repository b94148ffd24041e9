package format

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
)

// Ambiguous is the error of inputs that can be read in several ways, of which only the user
// knows the right one. Commands print a command for each way.
type Ambiguous struct {
	Text string `json:"text"`
	Ways []Way  `json:"ways"` // inspect shows the first that it can
	// Facts are what else inspect says of the inputs.
	Facts []string `json:"facts,omitempty"`
	// Differ: the inputs are not alike, so that inspect opens them one by one to say how.
	Differ bool `json:"-"`
}

func (d *Ambiguous) Error() string { return d.Text }

// Unwrap is ErrSchema.
func (d *Ambiguous) Unwrap() error { return shardify.ErrSchema }

// Cured is an error that other settings avoid. Commands print a command for each way.
type Cured struct {
	Err  error
	Ways []Way
}

func (c *Cured) Error() string { return c.Err.Error() }

// Unwrap is Err.
func (c *Cured) Unwrap() error { return c.Err }

// Cure says which settings avoid an error.
func Cure(e *shardify.Error, ways ...Way) *shardify.Error {
	e.Err = &Cured{e.Err, ways}
	return e
}

// With is the way of one setting.
func With(option, value, makes string) Way {
	return Way{Options: Options{option: value}, Makes: makes}
}

// Way is one way to read inputs: the settings that choose it, which replace those given.
type Way struct {
	Options Options  `json:"options,omitempty"` // of the format, SplitFrom and OutputFormat
	Columns []string `json:"columns,omitempty"` // nil: those given
	Without string   `json:"without,omitempty"` // a setting that is left out
	Parse   []string `json:"parse,omitempty"`   // values of --parse, for commands that have it
	// Makes says what the samples are then: "300 entries of Events".
	Makes string `json:"makes"`
	// Bytes of the input that are in the samples, decoded. Only Decide uses it.
	Bytes int64 `json:"-"`
	// Kind is equal for ways whose samples have the same fields; "" is unlike any other.
	Kind string `json:"-"`
}

// SplitFrom is the option of a Way with the value "objects" or "dirs": each split that an
// input holds, or each first folder, becomes a data set.
const SplitFrom = "split-from"

// OutputFormat is the option of a Way that names the output format.
const OutputFormat = "format"

// flags are the settings of a way as flags.
func (w *Way) flags() string {
	var out []string
	for name, v := range w.Set() {
		out = append(out, "--"+name+" "+printable.Quote(v))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Set are all settings of a way by the names of flags.
func (w *Way) Set() Options {
	all := Options{}
	maps.Copy(all, w.Options)
	if w.Columns != nil {
		all["columns"] = strings.Join(w.Columns, ",")
	}
	return all
}

// mostWays is how many ways an error lists.
const mostWays = 8

// NewAmbiguous lists ways to read inputs, and why none of them is taken.
func NewAmbiguous(why string, ways []Way) *Ambiguous {
	var text []string
	for i := range ways[:min(len(ways), mostWays)] {
		w := &ways[i]
		text = append(text, w.flags()+" makes "+w.Makes)
	}
	if more := len(ways) - mostWays; more > 0 {
		text = append(text, fmt.Sprintf("and %d more", more))
		ways = ways[:mostWays]
	}
	return &Ambiguous{Text: why + ": " + strings.Join(text, "; "), Ways: ways}
}

// Decide takes the way that has the most bytes. It is a Doubt if that is less than half of
// all bytes, or if another way has samples of the same fields: those are parts of one set.
// what names the kind of things to choose from: "trees".
func Decide(what string, ways []Way, total int64) (Way, error) {
	ways = slices.Clone(ways)
	slices.SortStableFunc(ways, func(a, b Way) int { return cmp.Compare(b.Bytes, a.Bytes) })
	best := ways[0]
	if len(ways) == 1 && 2*best.Bytes >= total {
		return best, nil
	}
	for i := range ways {
		if total > 0 {
			ways[i].Makes += ", " + share(ways[i].Bytes, total) + " of the bytes"
		}
	}
	why := ""
	switch {
	case 2*best.Bytes < total:
		why = "none has half of the bytes"
	case best.Kind != "" && slices.ContainsFunc(ways[1:], func(w Way) bool { return w.Kind == best.Kind }):
		why = "of the same fields"
	default:
		return ways[0], nil
	}
	return Way{}, NewAmbiguous("several "+what+", "+why, ways)
}

// share is a part of a whole for people.
func share(n, total int64) string {
	switch p := 100 * float64(n) / float64(total); {
	case n > 0 && p < 1:
		return "less than 1%"
	case n < total && p > 99:
		return "more than 99%"
	default:
		return fmt.Sprintf("%.0f%%", p)
	}
}
