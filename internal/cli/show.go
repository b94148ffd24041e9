package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/writers"
)

// PlanFacts is what a plan says before any work, also as an object of --json.
type PlanFacts struct {
	Input        string              `json:"input_format"`
	Output       string              `json:"output_format"`
	Folder       string              `json:"output"`
	Inputs       int64               `json:"inputs"`
	InputBytes   int64               `json:"input_bytes"` // on disk
	Parts        int                 `json:"parts,omitempty"`
	DecodedBytes int64               `json:"decoded_bytes"`
	OutputBytes  int64               `json:"output_bytes"` // estimate
	FreeBytes    int64               `json:"free_bytes"`   // -1 unknown
	FreeInodes   int64               `json:"free_inodes"`  // -1 unknown
	Quotas       []string            `json:"quotas,omitempty"`
	Samples      int64               `json:"samples"`
	Shards       int64               `json:"shards"`
	Units        int64               `json:"units"`
	Jobs         int                 `json:"jobs"`
	Memory       int64               `json:"memory"`
	Fields       []FieldBytes        `json:"fields"` // largest first
	LeftOut      []shardify.Leftover `json:"left_out,omitempty"`
	Skipped      []shardify.Skip     `json:"skipped,omitempty"` // damaged inputs
	Notes        []string            `json:"notes,omitempty"`   // what was done to make the inputs fit
	Digest       string              `json:"digest"`
	Shuffle      string              `json:"shuffle"`
	Splits       []string            `json:"splits,omitempty"`
	ScratchBytes int64               `json:"scratch_bytes,omitempty"` // of a global shuffle
	Hints        []string            `json:"hints,omitempty"`
}

// FieldBytes is the share of a field, decoded. Fields of variable length are
// known only together.
type FieldBytes struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Facts sums up the plan.
func (p *Prepared) Facts() PlanFacts {
	x := p.Plan
	inputs, bytes := x.Inputs()
	f := PlanFacts{
		Input: x.Input, Output: x.Output, Folder: p.Output, Inputs: inputs, InputBytes: bytes, Parts: x.Parts(),
		DecodedBytes: x.DecodedBytes, OutputBytes: x.OutputBytes, FreeBytes: p.Room.space.Bytes, FreeInodes: p.Room.space.Inodes, Quotas: p.Room.lines(), Samples: x.Samples,
		Shards: int64(x.Outputs() * max(len(x.SplitNames()), 1)), Units: int64(len(x.Units)), Jobs: p.Jobs, Memory: p.Memory,
		Fields: p.fields(), LeftOut: slices.Concat(x.LeftOut, x.Outside, p.Litter), Skipped: x.Skipped, Digest: x.Digest(),
	}
	f.Shuffle, f.Splits, f.ScratchBytes = cmp.Or(x.Shuffle, convert.ShuffleNone), x.SplitNames(), x.ShuffleBytes()
	if n, ok := p.Job.Source.(shardify.Noter); ok {
		f.Notes = n.Notes()
	}
	if p.turned != "" {
		f.Notes = append(f.Notes, p.turned)
	}
	f.Notes = append(f.Notes, p.tight()...)
	if !readers.IsSet(f.Input) && f.OutputBytes > 2*f.InputBytes && f.OutputBytes > 1<<20 && f.InputBytes > 0 {
		f.Hints = p.shrink()
	}
	return f
}

func (p *Prepared) fields() []FieldBytes {
	var out []FieldBytes
	var variable []string
	rest := p.Plan.DecodedBytes
	for i := range p.Plan.Schema {
		f := &p.Plan.Schema[i]
		if f.Levels > 0 {
			variable = append(variable, f.Name)
			continue
		}
		n := int64(f.ElemBytes()) * p.Plan.Samples
		rest -= n
		if !shardify.Companion(p.Plan.Schema, i) {
			out = append(out, FieldBytes{f.Name, n})
		}
	}
	if len(variable) > 0 {
		name := strings.Join(variable[:min(len(variable), 3)], " + ")
		if n := len(variable) - 3; n > 0 {
			name += fmt.Sprintf(" + %d more", n)
		}
		out = append(out, FieldBytes{name, max(rest, 0)})
	}
	slices.SortStableFunc(out, func(a, b FieldBytes) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return out
}

// Shrink names what would make the output fit.
func (p *Prepared) Shrink() []string {
	return append(p.shrink(), "--limit N converts the first N samples")
}

// shrink names what would make the same samples smaller.
func (p *Prepared) shrink() []string {
	var out []string
	x := p.Plan
	if waste := writers.Waste(x.Output, x.Schema, x.Keyed, x.Samples, x.DecodedBytes); waste != "" {
		out = append(out, waste)
	}
	if f := p.fields(); len(f) > 1 && x.DecodedBytes > 0 && f[0].Bytes > 0 {
		out = append(out, fmt.Sprintf("%s takes %d %% of the data: --columns takes only the fields you name", f[0].Name, 100*f[0].Bytes/max(x.DecodedBytes, 1)))
	}
	return out
}

// Lines is the plan for people.
func (p *Prepared) Lines() []string {
	f := p.Facts()
	var out []string
	line := func(label, format string, args ...any) {
		out = append(out, fmt.Sprintf("%-9s", label)+fmt.Sprintf(format, args...))
	}
	if readers.IsSet(f.Input) { // InputBytes are those of the manifests
		line("input", "%s, %s (%s)", f.Input, Of(f.Inputs, "data set"), p.FromWhy)
	} else {
		line("input", "%s, %s in %s (%s)", f.Input, shardify.FormatSize(f.InputBytes), Of(f.Inputs, "file"), p.FromWhy)
	}
	line("samples", "%s of %s, %s decoded", Count(f.Samples), Of(p.visible(), "field"), shardify.FormatSize(f.DecodedBytes))
	if f.Parts > 0 {
		line("parts", "the inputs are planned in %d parts: a shard ends where a part does", f.Parts)
	}
	if t := largest(f); t != "" {
		line("largest", "%s", t)
	}
	for _, l := range f.LeftOut {
		line("left out", "%s", Leftover(l))
	}
	for _, s := range f.Skipped[:min(len(f.Skipped), maxShown)] {
		line("skipped", "%s", Skipped(s))
	}
	if n := len(f.Skipped) - maxShown; n > 0 {
		line("skipped", "and %s", Of(int64(n), "further damaged input"))
	}
	for _, n := range f.Notes {
		line("note", "%s", n)
	}
	if dir := p.classesAbove(); dir != "" {
		line("note", "the INPUTs are folders side by side, so they are no classes: %s as the one INPUT gives the field cls", Quote(dir))
	}
	for _, op := range p.operations() {
		line(op[0], "%s", op[1])
	}
	p.orderLines(line)
	free := "free space unknown"
	if f.FreeBytes >= 0 {
		free = shardify.FormatSize(f.FreeBytes) + " free"
	}
	line("output", "%s (%s): about %s in %s, %s in %s", f.Output, p.FormatWhy, shardify.FormatSize(f.OutputBytes), Of(f.Shards, "shard"), free, f.Folder)
	if each, ok := p.larger(f); ok {
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
	if p.Sync == local.SyncNone {
		line("sync", "none: a power cut may lose or empty what was written; for scratch only")
	}
	if h := p.halves(); h != "" {
		line("smaller", "%s", h)
	}
	for _, h := range f.Hints {
		line("smaller", "%s", h)
	}
	return out
}

// classesAbove is the folder that holds all inputs, where these are what becomes classes
// if it is the input: photos for photos/*, which the shell has expanded.
func (p *Prepared) classesAbove() string {
	x := p.Plan
	if x.Input != "files" || x.InParts() || x.Table == nil || len(x.Table.Roots) < 2 || len(x.Ops) > 0 || x.Split != nil || x.InputOptions["labels"] != "auto" ||
		shardify.FieldIndex(x.Schema, "cls") >= 0 {
		return ""
	}
	dir := filepath.Dir(x.Table.Roots[0])
	for _, r := range x.Table.Roots {
		if filepath.Dir(r) != dir {
			return ""
		}
	}
	return dir
}

// larger tells that shards are much larger than --shard-size wants, and how large.
func (p *Prepared) larger(f PlanFacts) (each int64, ok bool) {
	want, err := strconv.ParseInt(p.Plan.Recipe["shard-size"], 10, 64)
	if err != nil || f.Shards == 0 {
		return 0, false
	}
	each = f.OutputBytes / f.Shards
	return each, each/2 > want
}

// visible counts the fields that users see.
func (p *Prepared) visible() (n int64) {
	for i := range p.Plan.Schema {
		if !shardify.Companion(p.Plan.Schema, i) {
			n++
		}
	}
	return n
}

func largest(f PlanFacts) string {
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

// Unread is the lines of the plan that are shown whatever is asked for: fields that have
// values and are not in the data set.
func (p *Prepared) Unread() (out []string) {
	for _, l := range p.Plan.LeftOut {
		if l.Unreadable {
			out = append(out, fmt.Sprintf("%-9s%s", "left out", Leftover(l)))
		}
	}
	return out
}

// Skipped is a damaged input that is left out, in words.
func Skipped(s shardify.Skip) string {
	if s.Object == "" {
		return s.Input + ": " + s.Reason
	}
	return s.Input + " " + s.Object + ": " + s.Reason
}

// Leftover is a left-out field or kind of file in words.
func Leftover(l shardify.Leftover) string {
	if l.Count > 0 {
		return fmt.Sprintf("%s: %s (%s)", l.Name, l.Reason, Of(l.Count, "file"))
	}
	return l.Name + ": " + l.Reason
}
