package gpuload

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/gpuload/internal/load"
	"github.com/shardify/shardify/gpuload/order"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
)

// window is the views of all inputs as one.
type window struct {
	index.View
	spans []order.Span
	parts []int64 // windows of each input
	// Of Config.Tokens: windows are moved by less than slack rows, others in each epoch.
	slack int64
}

// add is n windows, one every step rows, of an input that end ends.
func (w *window) add(first, n, step int64) {
	w.spans = append(w.spans, order.Span{First: first, N: n, Step: step})
	w.Anchors = append(w.Anchors, index.Anchors{Lo: first, Hi: first + (n-1)*step + 1, Step: step})
}

// end ends an input of n windows.
func (w *window) end(n int64) { w.parts = append(w.parts, n) }

// next is the name of what follows the anchors, of a field.
func (w *samples) next(name string) string {
	if w.stream != nil {
		return labelsName
	}
	return name + index.NextSuffix
}

// Windows are the names of the views that all inputs have.
func (d *Dataset) Windows() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(d.inputs[0].Windows)), func(name string) bool {
		return slices.ContainsFunc(d.inputs, func(in *input) bool { _, ok := in.Windows[name]; return !ok })
	})
}

// window finds the windows that a text asks for. No window goes from one input to the next.
func (d *Dataset) window(text string) (*window, error) {
	spec, err := view.Parse(text)
	if err != nil {
		return nil, err
	}
	w := &window{}
	for i, in := range d.inputs {
		var v *index.View
		if spec.View != "" {
			v, err = spec.Of(in.Windows)
		} else {
			v, err = d.build(in, &spec)
		}
		if err != nil {
			return nil, shardify.Annotate(err, "open", in.Where(), "")
		}
		switch {
		case i == 0 || len(w.Anchors) == 0 && len(v.Anchors) > 0:
			w.In, w.Out = v.In, v.Out
		case len(v.Anchors) > 0 && !view.SameOffsets(&w.View, v):
			err := shardify.Mismatch("window %q is of rows %v and %v from the anchor, but %v and %v in %s", text, v.In, v.Out, w.In, w.Out, d.inputs[0].Path)
			return nil, shardify.Annotate(err, "open", in.Where(), "")
		}
		for _, a := range v.Anchors {
			w.spans = append(w.spans, order.Span{First: in.lo + a.Lo, N: a.Len(), Step: a.Step})
			w.Anchors = append(w.Anchors, index.Anchors{Lo: in.lo + a.Lo, Hi: in.lo + a.Hi, Step: a.Step})
		}
		w.parts = append(w.parts, v.Len())
	}
	if w.Len() == 0 {
		return nil, shardify.Mismatch("window %q: none of %d rows is an anchor of a whole window", text, d.samples)
	}
	return w, nil
}

// build makes a view of an input's rows.
func (d *Dataset) build(in *input, spec *view.Spec) (*index.View, error) {
	r := view.Rows{N: in.Samples}
	at := int64(0)
	for _, p := range in.Parts {
		if at > 0 {
			r.Borders = append(r.Borders, at)
		}
		at += p.Samples
	}
	one := &Dataset{inputs: []*input{{in.Set, 0}}, samples: in.Samples}
	verify := load.VerifyOpen // ranks must not read different values
	if in.BySample() {
		verify = load.VerifyNone // that would be the whole tar
	}
	places, err := view.PatchedBy(in.Manifest)
	if err != nil {
		return nil, err
	}
	if places != nil {
		b, _, err := one.readFixed(places, (*load.Shards).All, in.Samples, verify)
		if err == nil {
			r.Each, err = view.Patches(b, in.Samples)
		}
		if err != nil {
			return nil, err
		}
	}
	if spec.Axis != "" {
		f, err := view.Axis(in.Schema, spec.Axis)
		if err != nil {
			return nil, err
		}
		b, valid, err := one.readFixed(f, (*load.Shards).All, in.Samples, verify)
		if err != nil {
			return nil, err
		}
		r.Values, r.Nanos = view.Values(f, b, valid)
	}
	v, _, err := spec.Build(r)
	return v, err
}

// noteNumbers says where windows are of neighbours in a set whose rows were moved or left out.
func (w *samples) noteNumbers() {
	spec, err := view.Parse(w.cfg.Window)
	if err != nil || spec.View != "" || spec.Axis != "" {
		return
	}
	for _, in := range w.Set.sets() {
		if moved := view.Moved(in.Manifest); moved != "" {
			w.notes.add("window %s takes neighbours by their numbers, and %s was made with %s: rows that follow each other there may not do so in its inputs; AXIS=%s chooses rows by the values of a field", w.cfg.Window, in.Path, moved, w.cfg.Window)
			return
		}
	}
}

// about is what of the windows decides the order.
func (w *window) about() string {
	text := fmt.Sprintf("windows=%016x", w.Digest())
	if w.slack > 0 {
		text += fmt.Sprintf(" offset=%d", w.slack)
	}
	return text
}

// shape makes an order one of windows.
func (w *window) shape(o *order.Config) error {
	o.Spans, o.Parts, o.About = w.spans, w.parts, w.about()
	return w.CheckAnchors(o.Indices)
}

// checkAnchors refuses rows that are no anchors of windows, where there are windows.
func (w *samples) checkAnchors(list []int64) error {
	if w.window == nil {
		return nil
	}
	return w.window.CheckAnchors(list)
}

// projectView chooses the delivered fields of windows, and the fields of rows that they take.
func (w *samples) projectView() (rows []shardify.Field, wanted func(string) bool, err error) {
	schema := w.Set.Schema()
	var all []shardify.Field
	for i := range schema {
		next := schema[i]
		next.Name = w.next(next.Name)
		if all = append(all, schema[i]); len(w.window.Out) > 0 || w.stream == nil {
			all = append(all, next)
		}
	}
	fields, _, err := dataset.Project(all, w.cfg.Columns)
	if err != nil {
		return nil, nil, err
	}
	names, globs := map[string]bool{}, []string{}
	for i := range fields {
		names[fields[i].Name] = true
	}
	for i := range schema {
		if names[schema[i].Name] || len(w.window.Out) > 0 && names[w.next(schema[i].Name)] {
			globs = append(globs, dataset.GlobOf(schema[i].Name))
		}
	}
	if len(globs) == 0 {
		return nil, nil, shardify.Misuse("columns: none of the window's fields is wanted")
	}
	rows, err = w.Set.project(globs)
	return rows, func(name string) bool { return names[name] }, err
}

// windowed lays the batches of windows out.
func (w *samples) windowed(wanted func(string) bool) error {
	var err error
	if w.View, err = load.NewView(w.Out, &w.window.View, w.next, wanted); err != nil {
		return err
	}
	w.View.Slack = max(w.window.slack-1, 0)
	w.Out = w.View.Layout
	w.Columns = w.Columns[:0]
	for i := range w.Out.Schema {
		w.Columns = append(w.Columns, w.Out.Schema[i].Name)
	}
	return nil
}

// slack is by less than how many rows windows are moved.
func (w *samples) slack() int64 {
	if w.window == nil {
		return 0
	}
	return w.window.slack
}

// windowView is what the rows of a window are; nil where each row is a sample.
func (w *samples) windowView() *index.View {
	if w.window == nil {
		return nil
	}
	return &w.window.View
}
