package verifycmd

import (
	"fmt"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/cmd/internal/cli"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/verify"
)

// show prints a report. Its verdict is the returned error, with what to do next.
func show(o *cli.IO, args []string, f *flags, r *verify.Report) error {
	shown := int64(0)
	for i := range r.Problems {
		p := &r.Problems[i]
		word := "problem"
		if p.Note {
			word = "note"
		} else {
			shown++
		}
		o.Object(word, p)
		line := p.String()
		if p.Note {
			line = "note: " + line
		}
		if p.Repaired {
			line += " (repaired)"
		}
		o.Result("%s", line)
	}
	if more := r.Total - shown; more > 0 {
		o.Result("... and %s not shown (--show 0 shows all)", printable.Of(more, "problem"))
	}
	for _, d := range r.Done {
		o.Object("repair", struct {
			Done string `json:"done"`
		}{d})
		o.Result("repair: %s", d)
	}
	o.Object("summary", struct {
		Path     string        `json:"path"`
		State    verify.State  `json:"state"`
		Format   string        `json:"format,omitempty"`
		OK       bool          `json:"ok"`
		Problems int64         `json:"problems"`
		Repaired int64         `json:"repaired"`
		Notes    int64         `json:"notes"`
		Unmade   int64         `json:"shards_to_make"`
		Read     string        `json:"read"`
		Seed     uint64        `json:"seed,omitempty"`
		Counts   verify.Counts `json:"checked"`
		Orphans  int64         `json:"shards_without_manifest,omitempty"`
		// Uncompared is why values were not compared.
		Uncompared string `json:"not_compared,omitempty"`
		Signed     string `json:"signed,omitempty"`
		ID         string `json:"id,omitempty"`
		Next       string `json:"next,omitempty"`
	}{r.Path, r.State, r.Format, r.Err() == nil, r.Total, r.Repaired, r.Notes, r.Unmade, f.read, f.seed, r.Counts, r.Orphans, r.Uncompared, r.Signed, r.ID, r.Next})
	o.Line("checked: %s", checked(f, r))
	if r.Signed != "" {
		o.Line("signed: %s", r.Signed)
	}
	if r.ID != "" {
		o.Line("id: %s", r.ID)
	}
	return verdict(o, args, r)
}

// checked says what was looked at.
func checked(f *flags, r *verify.Report) string {
	n := &r.Counts
	if r.State == verify.StateForeign {
		return fmt.Sprintf("%s of %s: %s members or tensors", printable.Of(n.Shards, "file"), shardify.FormatSize(n.Bytes), printable.Count(n.Parts))
	}
	parts := []string{}
	if r.State == verify.StateComplete {
		parts = append(parts, "manifest")
	}
	parts = append(parts, "sizes and structure of "+printable.Of(n.Shards, "shard")+" and "+printable.Of(n.Files, "other file"))
	sums := fmt.Sprintf("checksums of %s of them (%s of %s)", printable.Count(n.ShardsRead), shardify.FormatSize(n.BytesRead), shardify.FormatSize(n.Bytes))
	if strings.HasSuffix(f.read, "%") {
		sums += fmt.Sprintf(" chosen with --seed %d", f.seed)
	}
	parts = append(parts, sums, printable.Of(n.Samples, "sample"))
	if n.Compared > 0 {
		parts = append(parts, fmt.Sprintf("values of %s against the source", printable.Of(n.Compared, "sample")))
	}
	return strings.Join(parts, ", ")
}

// verdict is the outcome in one line: printed when all is well, else an error
// that exits with 3.
func verdict(o *cli.IO, args []string, r *verify.Report) error {
	err := r.Err()
	if err == nil {
		switch {
		case r.State == verify.StateForeign:
			o.Result("ok: every loader reads %s alike", strings.Join(args, " "))
		case r.Repaired > 0:
			o.Result("repaired: %s is as its manifest says", r.Path)
		default:
			o.Result("ok: %s is as its manifest says", r.Path)
		}
		return nil
	}
	err = fmt.Errorf("%s: %w", r.Path, err)
	if r.Next != "" {
		return shardify.Hint(err, r.Next)
	}
	return err
}
