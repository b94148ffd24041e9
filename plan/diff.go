package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Diff lists how another plan differs from this one, a line each: "option:
// mine / theirs".
func (p *Plan) Diff(q *Plan) []string {
	var out []string
	add := func(what, a, b string) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: %s / %s", what, a, b))
		}
	}
	add("input format", p.Input, q.Input)
	add("output format", p.Output, q.Output)
	add("columns", fmt.Sprint(p.Columns), fmt.Sprint(q.Columns))
	add("on-error", p.OnError, q.OnError)
	add("operations", opsText(p.Ops), opsText(q.Ops))
	add("shuffle", cmp.Or(p.Shuffle, ShuffleNone), cmp.Or(q.Shuffle, ShuffleNone))
	if p.Shuffle != "" || len(p.Ops) > 0 || p.Split != nil {
		add("seed", fmt.Sprint(p.Seed), fmt.Sprint(q.Seed))
	}
	add("split", splitText(p.Split), splitText(q.Split))
	add("provenance", fmt.Sprint(p.Provenance), fmt.Sprint(q.Provenance))
	for _, m := range []struct{ a, b map[string]string }{
		{p.InputOptions, q.InputOptions}, {p.OutputOptions, q.OutputOptions}, {p.Recipe, q.Recipe},
	} {
		keys := maps.Clone(m.a)
		if keys == nil {
			keys = map[string]string{}
		}
		maps.Copy(keys, m.b)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			add(k, m.a[k], m.b[k])
		}
	}
	text := func(p *Plan) string { return fmt.Sprintf("%d files, %d bytes", p.Listed.Count, p.Listed.Bytes) }
	add("inputs", text(p), text(q))
	add("samples", fmt.Sprint(p.Samples), fmt.Sprint(q.Samples))
	if len(out) == 0 && p.Digest() != q.Digest() {
		out = append(out, "the input files: names, sizes or layout have changed")
	}
	return out
}

func opsText(ops []Op) string {
	var out []string
	for _, o := range ops {
		out = append(out, strings.TrimSpace("--"+o.Name+" "+o.Text))
	}
	return strings.Join(out, " ")
}

func splitText(s *Split) string {
	if s == nil {
		return ""
	}
	text := s.String()
	for _, o := range []struct{ name, value string }{
		{"identity", strings.Join(s.Identity, ",")}, {"stratify", s.Stratify}, {"group-by", s.GroupBy},
	} {
		if o.value != "" {
			text += " --" + o.name + " " + o.value
		}
	}
	return text
}
