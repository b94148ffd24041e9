package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/internal/host"
	"github.com/shardify/shardify/internal/inspect"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type inspectFlags struct {
	s      pipeline.Settings
	sample *sampleValue
	stats  *statsFlags
}

func inspectCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect INPUT...",
		Short: "tell what is in inputs or in a data set",
		Long: `Prints the fields, sizes and samples of inputs, what would be left out and why, and a convert line ready to paste. Inputs
that do not fit together are compared. Of a data set of shards it prints what the manifest says. With --stats, --html or --duplicates all
data are read once.`,
		Example: `shardify inspect photos/
shardify inspect train.npz test.npz
shardify inspect photos-shards --sample 12
shardify inspect events.root --stats --html report.html`,
	}
	f := &inspectFlags{}
	fs := c.Flags()
	cli.Grouped(fs, "Input", func(fs *pflag.FlagSet) { cli.AddKeys(fs, &f.s, "from", "follow-symlinks", "columns") })
	f.stats = addStats(fs)
	f.s.Options = map[string]string{}
	cli.AddFormatFlags(fs, readers.Formats, nil, f.s.Options)
	f.sample = addSample(fs)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 && f.s.From != "synth" {
			return shardify.Hint(shardify.Usage("no input"), "for example: shardify inspect photos/")
		}
		return p.inspect(c.Context(), f, args)
	}
	return c
}

func (p *program) inspect(ctx context.Context, f *inspectFlags, inputs []string) error {
	src, why, err := pipeline.ChooseInput(ctx, f.s.From, inputs)
	if errors.Is(err, shardify.ErrUnsupported) && len(inputs) == 1 && f.sample.number < 0 && !f.stats.wanted() && writtenOnly(inputs[0]) {
		return p.inspectSet(inputs[0])
	}
	if err != nil {
		return err
	}
	given := f.s.Options
	if f.sample.option && !slices.ContainsFunc(src.Options, func(o shardify.Option) bool { return o.Name == "sample" }) {
		return shardify.Usage("--sample %q: want the number of a sample, counted from 0", given["sample"])
	}
	if !f.sample.option {
		delete(given, "sample")
	}
	if err := pipeline.Belong(given, &src); err != nil {
		return err
	}
	options, err := pipeline.Pick(given, src.Options)
	if err != nil {
		return err
	}
	jobs, _ := host.This().Jobs(0)
	r := inspect.Request{Inputs: inputs, Format: src, Why: why, Columns: f.s.Columns, Options: options, Jobs: jobs, Asked: f.s.From != "", Follow: f.s.FollowSymlinks}
	switch {
	case f.sample.number >= 0:
		return p.inspectSample(ctx, r, f.sample.number)
	case f.stats.wanted():
		return p.stats(ctx, f.stats, r)
	case len(inputs) == 1 && len(f.s.Columns) == 0 && readers.IsSet(src.Name):
		return p.inspectSet(inputs[0])
	}
	rep, err := inspect.Inputs(ctx, r)
	if err != nil {
		return err
	}
	return p.inspected(rep, r, given)
}

// inspected prints a report and the command that converts.
func (p *program) inspected(rep *inspect.Report, r inspect.Request, given shardify.Options) error {
	command, choices := convertLine(r, given), convertLines(r, given, rep.Choose)
	if choices != nil {
		command = ""
	}
	p.Object("inputs", struct {
		*inspect.Report
		Command  string   `json:"command"`
		Commands []string `json:"commands,omitempty"` // to choose from
	}{rep, command, choices})
	if p.JSON {
		return nil
	}
	rep.WriteText(p.Out)
	if rep.Inputs == 1 && rep.Problems != nil {
		choose := "--columns chooses"
		if slices.ContainsFunc(r.Format.Options, func(o shardify.Option) bool { return o.Name == "object" }) {
			choose = "--object and --columns choose"
		}
		p.Result("\nnext: %s from what is there", choose)
		return nil
	}
	if rep.Differences != nil || rep.Problems != nil {
		p.Result("\nnext: inspect or convert those that fit together, or take the fields they share with --columns")
		return nil
	}
	format, why := writers.Default(fieldsOnly(rep.Fields), rep.Keyed, rep.HasFiles)
	if choices != nil {
		p.Result("\nnext: one of")
		for _, c := range choices {
			p.Result("      %s", c)
		}
	} else {
		p.Result("\nnext: %s", command)
	}
	p.Result("      writes %s (%s); another with --format", format, why)
	return nil
}

func fieldsOnly(fields []inspect.Field) []shardify.Field {
	out := make([]shardify.Field, len(fields))
	for i := range fields {
		out[i] = fields[i].Field
	}
	return out
}

// convertLines are the commands for each way to read the inputs; nil if there is one.
func convertLines(r inspect.Request, given shardify.Options, d *shardify.Doubt) (lines []string) {
	if d == nil {
		return nil
	}
	for _, v := range d.Values {
		o := maps.Clone(given)
		o[d.Option] = v
		lines = append(lines, convertLine(r, o))
	}
	return lines
}

// convertLine is the command that converts what was inspected.
func convertLine(r inspect.Request, given shardify.Options) string {
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

// writtenOnly tells a set of shards that are written and not read back. Its manifest says
// as much as any.
func writtenOnly(dir string) bool {
	_, m, err := manifestOf(dir)
	return err == nil && m.Format != "" && !readers.IsSet(m.Format)
}

// manifestOf reads the manifest of a set, named by its folder or itself.
func manifestOf(dir string) (string, *index.Manifest, error) {
	if filepath.Base(dir) == index.ManifestName {
		dir = filepath.Dir(dir)
	}
	b, err := dataset.ReadManifest(filepath.Join(dir, index.ManifestName))
	if err != nil {
		return dir, nil, err
	}
	m, err := index.DecodeManifest(b)
	return dir, m, err
}

func (p *program) inspectSet(dir string) error {
	dir, m, err := manifestOf(dir)
	if err != nil {
		return shardify.Hint(err, "verify "+printable.Quote(dir)+" tells more")
	}
	s := inspect.Describe(dir, m)
	p.Object("dataset", s)
	if !p.JSON {
		s.WriteText(p.Out)
	}
	p.Result("")
	p.Next(dir, m)
	return nil
}

func (p *program) inspectSample(ctx context.Context, r inspect.Request, n int64) error {
	o, err := readers.Open(ctx, r.Format, readers.Request{Inputs: r.Inputs, Columns: r.Columns, Options: r.Options, Jobs: r.Jobs, Asked: r.Asked, Follow: r.Follow})
	if err != nil {
		return err
	}
	defer o.Source.Close()
	s, err := inspect.Sample(ctx, o.Source, o.Args.Table, n)
	if err != nil {
		return err
	}
	p.Object("sample", s)
	if !p.JSON {
		s.WriteText(p.Out)
	}
	return nil
}
