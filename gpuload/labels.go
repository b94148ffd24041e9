package gpuload

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/internal/printable"
)

// labels are the values of a scalar integer field, of all samples or of indices.
func (d *Dataset) labels(name string, indices []int64) ([]int64, error) {
	f, err := d.labelField(name)
	if err != nil {
		return nil, err
	}
	all, err := d.readLabels(f, (*load.Shards).All, d.Len())
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

func (d *Dataset) labelField(name string) (*shardify.Field, error) {
	schema := d.Schema()
	i := shardify.FieldIndex(schema, name)
	if i < 0 {
		return nil, dataset.NoField("balance", schema, name)
	}
	if !load.IsLabel(&schema[i]) {
		return nil, shardify.Mismatch("balance: field %s is not a scalar integer", name)
	}
	return &schema[i], nil
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
	if _, err := d.project([]string{dataset.GlobOf(f.Name)}); err != nil {
		return nil, nil, err
	}
	return load.ReadFixed(d.sets(), f, runs, rows, verify)
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
	i := slices.IndexFunc(schema, func(f shardify.Field) bool { return load.IsLabel(&f) && slices.Contains(labelNames, f.Name) })
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
	return printable.Shares(labels[:probes]), printable.Shares(labels[probes:])
}
