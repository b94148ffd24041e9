package sets

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/convert"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/internal/cli"
	"github.com/shardify/shardify/readers"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/transform"
	"github.com/shardify/shardify/writers"
)

// Settings is what the set was converted with, without inputs and output: as its
// manifest tells, and its plan where that is still there.
func (e *Extension) Settings() (cli.Settings, error) {
	m := e.Base.Manifest
	refuse := func(format string, args ...any) (cli.Settings, error) {
		return cli.Settings{}, shardify.Annotate(shardify.Unsupported(format, args...), "extend", e.dir, "")
	}
	parts := m.AsParts()
	for i := range parts[1:] {
		p, q := &parts[0], &parts[1+i]
		if !sameRecipe(p.Recipe, q.Recipe) || p.Inputs.Format != q.Inputs.Format || !slices.Equal(shownOps(p.Operations), shownOps(q.Operations)) {
			return refuse("its parts were made in several ways, so that there is no one way for further inputs: convert them and use merge-sets")
		}
	}
	r := parts[0].Recipe
	s := cli.Settings{From: parts[0].Inputs.Format, Format: m.Format, OnError: r["on-error"], Shuffle: r["shuffle"], Provenance: r["provenance"] == "true", Options: shardify.Options{}}
	src, ok := readers.Lookup(s.From)
	if !ok {
		return refuse("input format %q", s.From)
	}
	sink, ok := writers.Lookup(s.Format)
	if !ok {
		return refuse("format %q", s.Format)
	}
	for _, list := range [][]shardify.Option{src.Options, sink.Options} {
		for i := range list {
			if v, ok := r[list[i].Name]; ok && v != list[i].Default {
				s.Options[list[i].Name] = v
			}
		}
	}
	if i := shardify.FieldIndex(m.Schema, "cls"); s.From == "files" && i >= 0 && m.Schema[i].Labels() != nil && s.Options["labels"] == "" {
		s.Options["labels"] = "folder" // however few of the classes there are this time
	}
	if s.Shuffle == "" {
		s.Shuffle = convert.ShuffleNone
	}
	for _, name := range []string{"limit", "range"} {
		if r[name] != "" {
			return refuse("it was made with --%s %s, which says nothing about further inputs: convert them and use merge-sets", name, r[name])
		}
	}
	var err error
	number := func(name string) (n int64) {
		if v := r[name]; v != "" && err == nil {
			n, err = strconv.ParseInt(v, 10, 64)
		}
		return n
	}
	s.ShardSize, s.ShardSamples = number("shard-size"), number("shard-samples")
	if v := r["seed"]; v != "" && err == nil {
		s.Seed, err = strconv.ParseUint(v, 10, 64)
	}
	if err != nil {
		return refuse("its recipe: %v", err)
	}
	split := cli.SplitFlags{Split: r["split"], From: r["split-from"], Stratify: r["stratify"], GroupBy: r["group-by"], Identity: words(r["identity"])}
	if s.Split, err = split.Parse(); err != nil {
		return s, err
	}
	s.Shape = transform.Settings{}
	for _, o := range parts[0].Operations {
		if o.Op == transform.Set && transform.HasTotals(o.Text) {
			return refuse("--set %s is a sum over all its inputs, which further ones would change: convert all of them together", transform.Shown(convert.Op{Text: o.Text})[0])
		}
		s.Shape[o.Op] = append(s.Shape[o.Op], transform.Shown(convert.Op{Name: o.Op, Text: o.Text})...)
	}
	s.Columns = words(r["columns"])
	if p, err := convert.LoadPlan(local.NewDir(e.dir, local.SyncNone)); err == nil { // columns that were read for operations alone
		s.Columns = slices.DeleteFunc(s.Columns, func(c string) bool { return slices.Contains(p.Helpers, c) })
	}
	return s, nil
}

// sameRecipe compares recipes. That labels come from folders is what auto found out.
func sameRecipe(a, b map[string]string) bool {
	found := func(m map[string]string) map[string]string {
		if m["labels"] != "folder" {
			return m
		}
		m = maps.Clone(m)
		m["labels"] = "auto"
		return m
	}
	return maps.Equal(found(a), found(b))
}

// shownOps is the operations without what they found among the inputs.
func shownOps(list []index.Operation) (out []string) {
	for _, o := range list {
		out = append(out, o.Op+" "+strings.Join(transform.Shown(convert.Op{Name: o.Op, Text: o.Text}), "\n"))
	}
	return out
}

func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
