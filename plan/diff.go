package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/plan/splits"
	"github.com/shardify/shardify/storage"
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

// Unchanged compares what a file is with what the plan knows of it; SizeUnknown and the
// time 0 are not known.
func Unchanged(now storage.Stamp, planned, plannedTime int64, ignoreTimes bool) error {
	const layout = "2006-01-02 15:04:05.000000000"
	switch {
	case planned != format.SizeUnknown && now.Size != planned:
		return fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, now.Size, planned)
	case plannedTime != 0 && now.ModTime != 0 && now.ModTime != plannedTime && !ignoreTimes:
		return fmt.Errorf("%w: it was modified %s, and %s then", shardify.ErrChanged, time.Unix(0, now.ModTime).UTC().Format(layout), time.Unix(0, plannedTime).UTC().Format(layout))
	}
	return nil
}

// Touched are the inputs that have other times in two plans of equal content. It looks
// into the blocks that have.
func Touched(p, now *Plan) (list []int64, err error) {
	if len(p.Pack.blocks) != len(now.Pack.blocks) {
		return nil, nil
	}
	var first int64
	for k := range p.Pack.blocks {
		if p.Pack.blocks[k].listed != now.Pack.blocks[k].listed {
			a, err := p.Load(k)
			if err != nil {
				return nil, err
			}
			b, err := now.Load(k)
			if err != nil {
				return nil, err
			}
			list = appendTouched(list, first, a.Table, b.Table)
		}
		first += p.Pack.blocks[k].files
	}
	return list, nil
}

func appendTouched(list []int64, first int64, before, now *format.Table) []int64 {
	if before.Len() != now.Len() {
		return list
	}
	for i := range before.Len() {
		if a, b := before.ModTime(i), now.ModTime(i); a != b && a != 0 && b != 0 {
			list = append(list, first+int64(i))
		}
	}
	return list
}
