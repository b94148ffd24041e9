package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/inspect"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/writers"
)

// Inspected prints a report and the command that converts.
func (o *IO) Inspected(rep *inspect.Report, r inspect.Request, given format.Options) {
	command, choices := convertLine(r, given), convertLines(r, given, rep.Choose)
	if choices != nil {
		command = ""
	}
	o.Object("inputs", struct {
		*inspect.Report
		Command  string   `json:"command"`
		Commands []string `json:"commands,omitempty"` // to choose from
	}{rep, command, choices})
	if o.JSON {
		return
	}
	rep.WriteText(o.Out)
	if rep.Inputs == 1 && rep.Problems != nil {
		choose := "--columns chooses"
		if slices.ContainsFunc(r.Format.Options, func(o format.Option) bool { return o.Name == "object" }) {
			choose = "--object and --columns choose"
		}
		o.Result("\nnext: %s from what is there", choose)
		return
	}
	if rep.Differences != nil || rep.Problems != nil {
		o.Result("\nnext: inspect or convert those that fit together, or take the fields they share with --columns")
		return
	}
	format, why := writers.Default(fieldsOnly(rep.Fields), rep.Keyed, rep.HasFiles)
	if choices != nil {
		o.Result("\nnext: one of")
		for _, c := range choices {
			o.Result("      %s", c)
		}
	} else {
		o.Result("\nnext: %s", command)
	}
	o.Result("      writes %s (%s); another with --format", format, why)
}

func fieldsOnly(fields []inspect.Field) []shardify.Field {
	out := make([]shardify.Field, len(fields))
	for i := range fields {
		out[i] = fields[i].Field
	}
	return out
}

// convertLines are the commands for each way to read the inputs; nil if there is one.
func convertLines(r inspect.Request, given format.Options, d *format.Doubt) (lines []string) {
	if d == nil {
		return nil
	}
	for i := range d.Ways {
		o := maps.Clone(given)
		maps.Copy(o, d.Ways[i].Options)
		lines = append(lines, convertLine(r.By(&d.Ways[i]), o))
	}
	return lines
}

// convertLine is the command that converts what was Inspected.
func convertLine(r inspect.Request, given format.Options) string {
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
	if len(r.Columns) > 0 {
		words = append(words, "--columns", printable.Quote(strings.Join(r.Columns, ",")))
	}
	for _, o := range r.Format.Options {
		if v, ok := given[o.Name]; ok {
			words = append(words, fmt.Sprintf("--%s=%s", o.Name, printable.Quote(v)))
		}
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
