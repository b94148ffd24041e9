package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/pipeline"
	"github.com/shardify/shardify/pipeline/inspect"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
)

// planLines is a plan for people.
func planLines(p *pipeline.Prepared) []string {
	f := p.Facts()
	var out []string
	line := func(label, format string, args ...any) {
		out = append(out, fmt.Sprintf("%-8s ", label)+fmt.Sprintf(format, args...))
	}
	if readers.IsSet(f.Input) { // InputBytes are those of the manifests
		line("input", "%s, %s (%s)", f.Input, printable.Of(f.Inputs, "data set"), p.FromWhy)
	} else {
		line("input", "%s, %s in %s (%s)", f.Input, shardify.FormatSize(f.InputBytes), printable.Of(f.Inputs, "file"), p.FromWhy)
	}
	line("samples", "%s of %s, %s decoded", printable.Count(f.Samples), printable.Of(visible(p), "field"), shardify.FormatSize(f.DecodedBytes))
	for _, c := range f.Dropped {
		line("dropped", "%s: %s", printable.Of(c.N, "sample"), plan.Reason(c))
	}
	if f.Parts > 0 {
		line("parts", "the inputs are planned in %s: a shard ends where a part does", printable.Of(int64(f.Parts), "part"))
	}
	if t := largest(f); t != "" {
		line("largest", "%s", t)
	}
	for _, l := range inspect.Leftovers(f.LeftOut) {
		line("left out", "%s", l)
	}
	for _, s := range f.Skipped[:min(len(f.Skipped), maxShown)] {
		line("skipped", "%s", skipped(s))
	}
	if n := len(f.Skipped) - maxShown; n > 0 {
		line("skipped", "and %s", printable.Of(int64(n), "further damaged input"))
	}
	for _, n := range f.Notes {
		line("note", "%s", n)
	}
	if dir := classesAbove(p); dir != "" {
		line("note", "the INPUTs are folders side by side, so they are not classes: %s as the one INPUT gives the field cls", printable.Quote(dir))
	}
	for _, op := range operations(p) {
		line(op[0], "%s", op[1])
	}
	orderLines(p, line)
	free := "free space unknown"
	if f.FreeBytes >= 0 {
		free = shardify.FormatSize(f.FreeBytes) + " free"
	}
	line("output", "%s (%s): about %s in %s, %s in %s", f.Output, p.FormatWhy, shardify.FormatSize(f.OutputBytes), printable.Of(f.Shards, "shard"), free, f.Folder)
	if each, ok := larger(p, f); ok {
		line("note", "shards of about %s are larger than asked for: what is read in one piece is not divided; --shard-samples N makes smaller ones", shardify.FormatSize(each))
	}
	for _, q := range f.Quotas {
		line("quota", "%s", q)
	}
	if p.Local != "" {
		line("scratch", "%s: shards are made there, then copied out", p.Local)
	}
	line("jobs", "%d (%s)", f.Jobs, p.JobsWhy)
	line("memory", "%s (%s)", shardify.FormatSize(f.Memory), p.MemoryWhy)
	if p.Sync == string(local.SyncNone) {
		line("sync", "none: a power cut may lose or empty what was written; for scratch only")
	}
	if h := halves(p); h != "" {
		line("smaller", "%s", h)
	}
	for _, h := range f.Hints {
		line("smaller", "%s", h)
	}
	return out
}

// classesAbove is the folder that holds all inputs, where these are what becomes classes
// if it is the input: photos for photos/*, which the shell has expanded.
func classesAbove(p *pipeline.Prepared) string {
	x := p.Plan
	in, _ := readers.Lookup(x.In.Format)
	if !in.Whole || x.Pack.InParts() || x.In.Table == nil || len(x.In.Table.Roots) < 2 || len(x.Steps.Ops) > 0 || x.Splits.Rule != nil || x.In.Options["labels"] != "auto" || x.In.Options["pair"] != "" ||
		shardify.FieldIndex(x.Sample.Schema, "cls") >= 0 {
		return ""
	}
	dir := filepath.Dir(x.In.Table.Roots[0])
	for _, r := range x.In.Table.Roots {
		if filepath.Dir(r) != dir {
			return ""
		}
	}
	return dir
}

// larger reports whether shards are much larger than --shard-size wants, and how large.
func larger(p *pipeline.Prepared, f pipeline.Facts) (each int64, ok bool) {
	want, err := strconv.ParseInt(p.Plan.Recipe["shard-size"], 10, 64)
	if err != nil || f.Shards == 0 {
		return 0, false
	}
	each = f.OutputBytes / f.Shards
	return each, each/2 > want
}

// visible counts the fields that users see.
func visible(p *pipeline.Prepared) (n int64) {
	for i := range p.Plan.Sample.Schema {
		if !shardify.Companion(p.Plan.Sample.Schema, i) {
			n++
		}
	}
	return n
}

func largest(f pipeline.Facts) string {
	var out []string
	for _, c := range f.Fields[:min(len(f.Fields), 3)] {
		if c.Bytes > 0 {
			out = append(out, c.Name+" "+shardify.FormatSize(c.Bytes))
		}
	}
	return strings.Join(out, ", ")
}

// maxShown is how many skipped inputs the plan names.
const maxShown = 20

// unreadLines is the lines of a plan that are shown whatever is asked for: fields that have
// values and are not in the data set.
func unreadLines(p *pipeline.Prepared) (out []string) {
	unreadable := slices.DeleteFunc(slices.Clone(p.Plan.In.LeftOut), func(l format.Leftover) bool { return !l.Unreadable })
	for _, l := range inspect.Leftovers(unreadable) {
		out = append(out, fmt.Sprintf("%-9s%s", "left out", l))
	}
	return out
}

// skipped is a damaged input that is left out, in words.
func skipped(s format.Skip) string {
	if s.Object == "" {
		return s.Input + ": " + s.Reason
	}
	return s.Input + " " + s.Object + ": " + s.Reason
}
