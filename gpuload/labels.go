package gpuload

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
)

// labels are the values of a scalar integer field, of all samples or of indices.
func (d *Dataset) labels(name string, indices []int64) ([]int64, error) {
	f, err := d.labelField(name)
	if err != nil {
		return nil, err
	}
	all, err := d.readLabels(f, allRuns, d.Len())
	if err != nil || indices == nil {
		return all, err
	}
	some := make([]int64, len(indices))
	for i, v := range indices {
		if v < 0 || v >= d.Len() {
			return nil, fmt.Errorf("index %d is %d, there are %d samples", i, v, d.Len())
		}
		some[i] = all[v]
	}
	return some, nil
}

// allRuns is all samples.
func allRuns(s *load.Shards) (runs []load.Run) {
	const step = 64 << 10
	for _, sh := range s.Shards {
		for lo := int64(0); lo < sh.Record.Samples; lo += step {
			runs = append(runs, load.Run{Sh: sh, Lo: lo, Hi: min(lo+step, sh.Record.Samples), Row: sh.Lo + lo})
		}
	}
	return runs
}

func (d *Dataset) labelField(name string) (*shardify.Field, error) {
	schema := d.Schema()
	i := shardify.FieldIndex(schema, name)
	if i < 0 {
		return nil, dataset.NoField("balance", schema, name)
	}
	if !isLabel(&schema[i]) {
		return nil, shardify.Mismatch("balance: field %s is not a scalar integer", name)
	}
	return &schema[i], nil
}

func isLabel(f *shardify.Field) bool {
	return f.Levels == 0 && f.Elem() == 1 && len(f.Shape) == 0 && !f.Nullable && (f.DType.IsInt() || f.DType == shardify.Bool)
}

// readLabels reads a label field of some runs.
func (d *Dataset) readLabels(f *shardify.Field, runs func(*load.Shards) []load.Run, rows int64) ([]int64, error) {
	b, _, err := d.readFixed(f, runs, rows, load.VerifyNone)
	if err != nil {
		return nil, err
	}
	return view.Ints(b, f.DType), nil
}

// readFixed reads a field of fixed size of some runs, and which rows have a value: nil is all.
func (d *Dataset) readFixed(f *shardify.Field, runs func(*load.Shards) []load.Run, rows int64, verify load.Verify) (values, valid []byte, err error) {
	if _, err := d.project([]string{quoteGlob(f.Name)}); err != nil {
		return nil, nil, err
	}
	layout, err := index.NewLayout([]shardify.Field{*f}, false)
	if err != nil {
		return nil, nil, err
	}
	s, err := load.NewShards(d.sets(), layout, verify)
	if err != nil {
		return nil, nil, err
	}
	defer s.Close()
	t := load.NewTable(layout, load.HostMemory{}, nil)
	defer t.Close()
	l := load.Reader{Shards: s, Crew: load.NewCrew(maxWorkers - 1)}
	if err := l.Load(context.Background(), t, rows, runs(s)); err != nil {
		return nil, nil, err
	}
	if i := layout.Columns[0].Valid; i >= 0 {
		valid = slices.Clone(t.Bytes(i))
	}
	return slices.Clone(t.Bytes(layout.Columns[0].Values)), valid, nil
}

// quoteGlob is a glob that matches one name only.
func quoteGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// labelNames are what fields with classes are mostly called.
var labelNames = []string{"cls", "label", "labels", "target", "class", "y"}

// probes is how many samples are looked at to judge how well a window mixes.
const probes = 64

// noteLabels warns when a Block shuffle runs over a set that is sorted: made from
// several inputs and never shuffled. A window then holds what its few blocks hold.
func (w *samples) noteLabels() {
	inputs, shuffled := int64(0), true
	for _, in := range w.Set.sets() {
		inputs += in.Inputs.Count
		switch in.Recipe["shuffle"] {
		case "", "none", "false":
			shuffled = false
		}
	}
	if inputs < 2 || shuffled || !w.Order.Windowed() || w.Order.Items() <= w.Order.Window() {
		return
	}
	text := fmt.Sprintf("block shuffle of a set of %d inputs that was never shuffled: a window of %d samples", inputs, w.Order.Window())
	schema := w.Set.Schema()
	i := slices.IndexFunc(schema, func(f shardify.Field) bool { return isLabel(&f) && slices.Contains(labelNames, f.Name) })
	if i < 0 {
		w.notes.add("%s holds a few blocks of %d neighbours; shuffle=global mixes all", text, w.Order.Block())
		return
	}
	window, set := w.probe(&schema[i])
	if window == "" || window == set {
		return
	}
	w.notes.add("%s holds %s %s, the set %s; shuffle=global mixes all", text, schema[i].Name, window, set)
}

// probe is the mix of labels in the first window and in the whole set.
func (w *samples) probe(f *shardify.Field) (window, set string) {
	o := w.Order
	n := min(o.Window(), o.Items())
	cur := o.Cursor(0)
	labels, err := w.Set.readLabels(f, func(s *load.Shards) []load.Run {
		var runs []load.Run
		for i := range int64(probes) {
			runs = s.Runs(runs, cur.At(i*n/probes), 1, i)
			runs = s.Runs(runs, o.Item(i*o.Items()/probes), 1, probes+i)
		}
		return runs
	}, 2*probes)
	if err != nil {
		return "", "" // Next will say it
	}
	return mixText(labels[:probes]), mixText(labels[probes:])
}

// mixText is the most frequent labels: "3: 81 %, 7: 19 %".
func mixText(labels []int64) string {
	counts := map[int64]int{}
	for _, v := range labels {
		counts[v]++
	}
	keys := slices.SortedFunc(maps.Keys(counts), func(a, b int64) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var b strings.Builder
	for i, k := range keys[:min(len(keys), 4)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d: %d %%", k, 100*counts[k]/len(labels))
	}
	if len(keys) > 4 {
		fmt.Fprintf(&b, " and %d more", len(keys)-4)
	}
	return b.String()
}
