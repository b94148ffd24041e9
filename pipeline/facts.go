package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/writers"
)

// Facts is what a plan says before any work, also as an object of --json.
type Facts struct {
	Input        string            `json:"input_format"`
	Output       string            `json:"output_format"`
	Folder       string            `json:"output"`
	Inputs       int64             `json:"inputs"`
	InputBytes   int64             `json:"input_bytes"` // on disk
	Parts        int               `json:"parts,omitempty"`
	DecodedBytes int64             `json:"decoded_bytes"`
	OutputBytes  int64             `json:"output_bytes"` // estimate
	FreeBytes    int64             `json:"free_bytes"`   // -1 unknown
	FreeInodes   int64             `json:"free_inodes"`  // -1 unknown
	Quotas       []string          `json:"quotas,omitempty"`
	Samples      int64             `json:"samples"`
	Dropped      []shardify.Count  `json:"dropped,omitempty"` // samples that are in no output, as far as known
	Shards       int64             `json:"shards"`
	Units        int64             `json:"units"`
	Jobs         int               `json:"jobs"`
	Memory       int64             `json:"memory"`
	Fields       []FieldBytes      `json:"fields"` // largest first
	LeftOut      []format.Leftover `json:"left_out,omitempty"`
	Skipped      []format.Skip     `json:"skipped,omitempty"` // damaged inputs
	Notes        []string          `json:"notes,omitempty"`   // what was done to make the inputs fit
	Digest       string            `json:"digest"`
	Shuffle      string            `json:"shuffle"`
	Splits       []string          `json:"splits,omitempty"`
	ScratchBytes int64             `json:"scratch_bytes,omitempty"` // of a global shuffle
	Hints        []string          `json:"hints,omitempty"`
}

// FieldBytes is the share of a field, decoded. Fields of variable length are
// known only together.
type FieldBytes struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// Facts sums up the plan.
func (p *Prepared) Facts() Facts {
	x := p.Plan
	inputs, bytes := x.In.Total()
	f := Facts{
		Input: x.In.Format, Output: x.Out.Format, Folder: p.Output, Inputs: inputs, InputBytes: bytes, Parts: x.Pack.Parts(),
		DecodedBytes: x.Pack.DecodedBytes, OutputBytes: x.Pack.OutputBytes, FreeBytes: p.room.space.Bytes, FreeInodes: p.room.space.Inodes, Quotas: p.room.lines(), Samples: x.Pack.Samples, Dropped: plan.Drops(x),
		Shards: int64(x.Outputs() * max(len(x.Splits.Names()), 1)), Units: int64(len(x.Pack.Units)), Jobs: p.Jobs, Memory: p.Memory,
		Fields: p.fields(), LeftOut: slices.Concat(x.In.LeftOut, x.Local.LeftOut, p.Litter), Skipped: x.In.Skipped, Digest: x.Digest(),
	}
	f.Shuffle, f.Splits, f.ScratchBytes = cmp.Or(x.Order.Shuffle, plan.ShuffleNone), x.Splits.Names(), plan.ShuffleBytes(x)
	if n, ok := p.Job.Source.(format.Noter); ok {
		f.Notes = n.Notes()
	}
	f.Notes = append(f.Notes, p.notes...)
	f.Notes = append(f.Notes, p.tight()...)
	if !readers.IsSet(f.Input) && f.OutputBytes > 2*f.InputBytes && f.OutputBytes > 1<<20 && f.InputBytes > 0 {
		f.Hints = p.shrink()
	}
	return f
}

func (p *Prepared) fields() []FieldBytes {
	var out []FieldBytes
	var variable []string
	rest := p.Plan.Pack.DecodedBytes
	schema := p.Plan.Sample.Weighed()
	for i := range schema {
		f := &schema[i]
		if f.Levels > 0 {
			variable = append(variable, f.Name)
			continue
		}
		n := int64(f.ElemBytes()) * p.Plan.Pack.Samples
		rest -= n
		if !shardify.Companion(schema, i) {
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
	if waste := writers.Waste(x.Out.Format, x.Sample.Schema, x.Sample.Keyed, x.Pack.Samples, x.Pack.DecodedBytes); waste != "" {
		out = append(out, waste)
	}
	if f := p.fields(); len(f) > 1 && x.Pack.DecodedBytes > 0 && f[0].Bytes > 0 {
		out = append(out, fmt.Sprintf("%s takes %d %% of the data: --columns takes only the fields you name", f[0].Name, 100*f[0].Bytes/max(x.Pack.DecodedBytes, 1)))
	}
	return out
}
