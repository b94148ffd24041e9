package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify/plan/splits"
)

// Diff lists how two plans differ, a line each: "option: that of p / that of q".
func Diff(p, q *Plan) []string {
	var out []string
	add := func(what, a, b string) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: %s / %s", what, a, b))
		}
	}
	add("input format", p.In.Format, q.In.Format)
	add("output format", p.Out.Format, q.Out.Format)
	add("columns", fmt.Sprint(p.In.Columns), fmt.Sprint(q.In.Columns))
	add("on-error", p.OnError, q.OnError)
	add("operations", opsText(p.Steps.Ops), opsText(q.Steps.Ops))
	add("shuffle", cmp.Or(p.Order.Shuffle, ShuffleNone), cmp.Or(q.Order.Shuffle, ShuffleNone))
	if p.Order.Shuffle != "" || len(p.Steps.Ops) > 0 || p.Splits.Rule != nil {
		add("seed", fmt.Sprint(p.Seed), fmt.Sprint(q.Seed))
	}
	add("split", splitText(p.Splits.Rule), splitText(q.Splits.Rule))
	add("provenance", fmt.Sprint(p.Asked.Provenance), fmt.Sprint(q.Asked.Provenance))
	for _, m := range []struct{ a, b map[string]string }{
		{p.In.Options, q.In.Options}, {p.Out.Options, q.Out.Options}, {p.Recipe, q.Recipe},
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
	text := func(p *Plan) string { return fmt.Sprintf("%d files, %d bytes", p.In.Listed.Count, p.In.Listed.Bytes) }
	add("inputs", text(p), text(q))
	add("samples", fmt.Sprint(p.Pack.Samples), fmt.Sprint(q.Pack.Samples))
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

func splitText(s *splits.Rule) string {
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
