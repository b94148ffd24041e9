package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/writers"
)

// Inspected prints a report and the commands that convert.
func (o *IO) Inspected(rep *inspect.Report) {
	var command string
	var lines []string
	for _, r := range rep.Ways {
		lines = append(lines, convertLine(r))
		if r.OutputWhy != "" && !slices.Contains(rep.Facts, r.OutputWhy) {
			rep.Facts = append(rep.Facts, r.OutputWhy)
		}
	}
	if len(lines) == 1 {
		command, lines = lines[0], nil
	}
	o.Object("inputs", struct {
		*inspect.Report
		Command  string   `json:"command"`
		Commands []string `json:"commands,omitempty"` // to choose from
	}{rep, command, lines})
	if o.JSON {
		return
	}
	rep.WriteText(o.Out)
	switch {
	case rep.Ways == nil:
		return
	case lines == nil:
		o.Result("\nnext: %s", command)
	default:
		o.Result("\nnext: one of")
		for _, line := range lines {
			o.Result("      %s", line)
		}
	}
	if rep.Ways[0].Output != "" {
		return
	}
	format, why := writers.Default(fieldsOnly(rep.Fields), rep.Keyed, rep.HasFiles)
	o.Result("      writes %s (%s); another with --format", format, why)
}

func fieldsOnly(fields []inspect.Field) []shardify.Field {
	out := make([]shardify.Field, len(fields))
	for i := range fields {
		out[i] = fields[i].Field
	}
	return out
}

// convertLine is the command that converts what was inspected.
func convertLine(r inspect.Request) string {
	words := []string{"shardify", "convert"}
	for _, in := range r.Inputs {
		if strings.HasPrefix(in, "-") { // no flag
			in = "./" + in
		}
		words = append(words, printable.Quote(in))
	}
	if r.Asked {
		words = append(words, "--from", r.Format.Name)
	}
	if r.Follow {
		words = append(words, "--follow-symlinks")
	}
	if r.SplitFrom != "" {
		words = append(words, "--split-from", r.SplitFrom)
	}
	if r.Skip {
		words = append(words, "--on-error", "skip")
	}
	if len(r.Columns) > 0 {
		words = append(words, "--columns", printable.Quote(strings.Join(r.Columns, ",")))
	}
	for _, o := range r.Format.Options {
		if v, ok := r.Given[o.Name]; ok {
			words = append(words, fmt.Sprintf("--%s=%s", o.Name, printable.Quote(v)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Settings)) {
		for v := range strings.SplitSeq(r.Settings[name], "\n") { // a flag that is given several times
			words = append(words, "--"+name, printable.Quote(v))
		}
	}
	if r.Output != "" {
		words = append(words, "--format", r.Output)
	}
	return strings.Join(append(words, "-o", printable.Quote(inspect.Output(r.Inputs))), " ")
}

// Shown prints what has an object for programs and a text for people.
func (o *IO) Shown(kind string, v interface{ WriteText(w io.Writer) }) {
	o.Object(kind, v)
	if !o.JSON {
		v.WriteText(o.Out)
	}
}
