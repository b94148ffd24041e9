package inspect

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert/flow"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/printable"
	"github.com/shardify/shardify/tokenize"
)

// Set describes a data set by its manifest.
type Set struct {
	Folder   string           `json:"folder"`
	ID       string           `json:"id"`
	Manifest *index.Manifest  `json:"-"`
	Format   string           `json:"format"`
	Samples  int64            `json:"samples"`
	Bytes    int64            `json:"bytes"`
	Shards   []shardify.Shard `json:"shards"`
	Fields   []Field          `json:"fields"`
	// Samples of the inputs that are in no shard, and why; of all parts of the set.
	Dropped int64             `json:"dropped,omitempty"`
	Counts  []shardify.Count  `json:"counts,omitempty"`
	Skipped []index.Skip      `json:"skipped,omitempty"`
	LeftOut []format.Leftover `json:"left_out,omitempty"`
	Digest  string            `json:"xxh3"`
}

// Describe sums up a manifest, and has the id of the set.
func Describe(folder, id string, m *index.Manifest) *Set {
	s := &Set{Folder: folder, ID: id, Manifest: m, Format: m.Format, Samples: m.Samples, Bytes: m.Bytes, Shards: m.Shards,
		Fields: fieldsOf(m.Schema, m.Samples, m.Bytes), Digest: m.Digest}
	for _, p := range m.AsParts() {
		s.Dropped += p.Dropped
		s.Counts = flow.AddCounts(s.Counts, p.Counts...)
		s.Skipped, s.LeftOut = append(s.Skipped, p.Skipped...), append(s.LeftOut, p.LeftOut...)
	}
	return s
}

// shownShards is how many shards are listed.
const shownShards = 10

// WriteText writes the facts for people.
func (s *Set) WriteText(w io.Writer) {
	m := s.Manifest
	shards := int64(len(m.Shards))
	for _, x := range m.Splits {
		shards += x.Shards
	}
	printable.Fprintf(w, "%s: data set of %s shards, %s in %s, %s\n", s.Folder, m.Format, printable.Of(m.Samples, "sample"), printable.Of(shards, "shard"), shardify.FormatSize(m.Bytes))
	printable.Fprintf(w, "made from %s of %s, %s\n", printable.Of(m.Inputs.Count, "file"), m.Inputs.Format, shardify.FormatSize(m.Inputs.Bytes))
	printable.Fprintf(w, "%s\n\n", s.ID)
	for _, name := range slices.Sorted(maps.Keys(m.Splits)) {
		x := m.Splits[name]
		printable.Fprintf(w, "  %s/  %s in %s\n", name, printable.Of(x.Samples, "sample"), printable.Of(x.Shards, "shard"))
	}
	if len(s.Fields) > 0 {
		writeFields(w, s.Fields, 0)
	}
	var lines []string
	for i, x := range m.Shards {
		if i == shownShards {
			lines = append(lines, fmt.Sprintf("... and %d more", len(m.Shards)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s  %s, %s", x.Name, printable.Of(x.Samples, "sample"), shardify.FormatSize(x.Bytes)))
	}
	section(w, "shards:", lines)
	section(w, "coordinates:", coordLines(m))
	section(w, "static fields, once in the set:", staticLines(m))
	section(w, "windows:", windowLines(m))
	section(w, "operations, in order:", operationLines(m))
	section(w, "recipe:", recipeLines(m))
	section(w, "counts:", countLines(s.Counts))
	section(w, "left out:", Leftovers(s.LeftOut))
	section(w, "skipped:", skippedLines(s.Skipped))
}

func coordLines(m *index.Manifest) (lines []string) {
	for _, key := range slices.Sorted(maps.Keys(m.Coords)) {
		c := m.Coords[key]
		text := fmt.Sprintf("%s  %s: %s", key, printable.Of(int64(c.Len()), c.DType+" value"), index.CoordText(&c))
		if unit := c.Attrs["unit"]; unit != "" {
			text += "  (" + unit + ")"
		}
		lines = append(lines, text)
	}
	return lines
}

func staticLines(m *index.Manifest) (lines []string) {
	if m.Static == nil {
		return nil
	}
	for i := range m.Static.Schema {
		f := &m.Static.Schema[i]
		size := ""
		if f.Levels == 0 {
			size = ", " + shardify.FormatSize(int64(f.ElemBytes()))
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s  %s%s  %s", f.Name, TypeOf(f), size, notes(f))))
	}
	return lines
}

func windowLines(m *index.Manifest) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(m.Windows)) {
		v := m.Windows[name]
		lo, hi := v.Span()
		lines = append(lines, fmt.Sprintf("%s  %s of %d+%d rows, from %d to %+d of the anchor, in %s  (%s)", name, printable.Of(v.Len(), "window"), len(v.In), len(v.Out), lo, hi, printable.Of(int64(len(v.Anchors)), "run"), v.Window))
	}
	return lines
}

func operationLines(m *index.Manifest) (lines []string) {
	for _, o := range m.Operations {
		lines = append(lines, strings.TrimSpace(o.Op+" "+o.Text))
	}
	return lines
}

func recipeLines(m *index.Manifest) (lines []string) {
	for _, k := range slices.Sorted(maps.Keys(m.Recipe)) {
		if v := m.Recipe[k]; v != "" { // else it is as if it were not set
			lines = append(lines, k+" "+v)
		}
	}
	return lines
}

// countLines is what operations did, of all parts of the set.
func countLines(all []shardify.Count) (lines []string) {
	for _, c := range all {
		lines = append(lines, c.Name+": "+printable.Count(c.N))
	}
	return append(lines, tokenize.RatesOf(all)...)
}

func skippedLines(all []index.Skip) (lines []string) {
	for _, k := range all {
		lines = append(lines, fmt.Sprintf("%s %s samples [%d, %d): %s", k.Input, k.Object, k.Lo, k.Hi, k.Reason))
	}
	return lines
}

// WriteText writes the sample for people.
func (s *Shown) WriteText(w io.Writer) {
	if s.Key != "" {
		printable.Fprintf(w, "sample %d %q\n", s.Sample, s.Key)
	} else {
		printable.Fprintf(w, "sample %d (sample %d of %s)\n", s.Sample, s.In, s.Input)
	}
	if s.Origin != nil {
		printable.Fprintf(w, "from %s\n", s.Origin)
	}
	name, typ := 0, 0
	for _, v := range s.Values {
		name, typ = max(name, len(printable.Name(v.Field))), max(typ, len(v.Type))
	}
	for _, v := range s.Values {
		printable.Fprintf(w, "  %-*s  %-*s  %s\n", name, v.Field, typ, v.Type, v.Text)
	}
}
