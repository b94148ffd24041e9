// Package window makes windows of rows. Those of a set that was just made become a view of it,
// whichever format its shards have (window.go). For shards of other formats a source makes samples
// of the windows of another source's rows (source.go, read.go).
package window

import (
	"io"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
	"github.com/shardify/shardify/index/view"
	"github.com/shardify/shardify/plan"
	"github.com/shardify/shardify/storage"
)

// Key is the key of a plan's recipe whose lines are the texts of windows.
const Key = "window"

// Specs are a plan's windows, each with a name of its own.
func Specs(p *plan.Plan) ([]view.Spec, error) {
	text := p.Recipe[Key]
	if text == "" {
		return nil, nil
	}
	return view.ParseAll(strings.Split(text, "\n"))
}

// Views adds the plan's windows to the manifest of its set, or of a split, in store.
func Views(p *plan.Plan, store storage.Store, m *index.Manifest) error {
	specs, err := Specs(p)
	if err != nil || len(specs) == 0 || p.Asked.Windowing != nil {
		return err
	}
	m.Windows = map[string]index.View{}
	each, err := patches(store, m)
	if err != nil {
		return err
	}
	axes := map[string]view.Rows{} // an axis of several windows is read once
	for i := range specs {
		s := &specs[i]
		r := view.Rows{N: m.Samples, Each: each}
		if s.Axis == "" {
			var rows int64
			if r.Borders, rows, err = borders(p); err == nil && rows*each != m.Samples {
				err = shardify.Mismatch("window %q: the set has %d of %d rows, and their numbers do not say which: choose rows by a field, such as time=%s", s.Text, m.Samples, rows, s.Text)
			}
			for k := range r.Borders {
				r.Borders[k] *= each
			}
		} else if have, ok := axes[s.Axis]; ok {
			r = have
		} else {
			r.Values, r.Nanos, err = axis(store, m, s.Axis)
			axes[s.Axis] = r
		}
		if err != nil {
			return err
		}
		v, _, err := s.Build(r)
		if err != nil {
			return err
		}
		m.Windows[s.Name] = *v
	}
	return nil
}

// borders are the rows with which the inputs begin, and how many rows there are.
func borders(p *plan.Plan) (list []int64, rows int64, err error) {
	at, last := int64(0), int64(-1)
	first := int64(0) // input of the block
	for k := range max(p.Pack.Parts(), 1) {
		l, err := p.Load(k)
		if err != nil {
			return nil, 0, err
		}
		for _, s := range l.Spans {
			if in := first + int64(s.Input); in != last && at > 0 {
				list = append(list, at)
			}
			last = first + int64(s.Input)
			at += s.Samples()
		}
		first += int64(l.Table.Len())
	}
	return list, at, nil
}

// axis reads a field of all rows of a set of mmap shards.
func axis(store storage.Store, m *index.Manifest, name string) (values []int64, nanos int64, err error) {
	f, err := view.Axis(m.Schema, name)
	if err != nil {
		return nil, 0, err
	}
	b, valid, err := column(store, m, f)
	if err != nil {
		return nil, 0, err
	}
	values, nanos = view.Values(f, b, valid)
	return values, nanos, nil
}

// patches returns how many rows are the patches of one; 1 if rows are not patches.
func patches(store storage.Store, m *index.Manifest) (int64, error) {
	f, err := view.PatchedBy(m)
	if f == nil || err != nil {
		return 1, err
	}
	places, _, err := column(store, m, f)
	if err != nil {
		return 0, err
	}
	return view.Patches(places, m.Samples)
}

// column reads a field of one size of all rows of a set of mmap shards.
func column(store storage.Store, m *index.Manifest, f *shardify.Field) (b, valid []byte, err error) {
	layout, err := index.NewLayout(m.Schema, m.Keyed)
	if err != nil {
		return nil, nil, err
	}
	at := layout.Columns[shardify.FieldIndex(m.Schema, f.Name)]
	b = make([]byte, m.Samples*int64(f.ElemBytes()))
	if at.Valid >= 0 {
		valid = make([]byte, m.Samples)
	}
	row := int64(0)
	for i := range m.Shards {
		r := &m.Shards[i]
		read := func(sh *dataset.Mmap, b []byte, tensor int) error {
			size := layout.Tensors[tensor].Row
			return sh.Read(b[row*size:(row+r.Samples)*size], tensor, 0)
		}
		err := opened(store, r, layout, func(sh *dataset.Mmap) error {
			err := read(sh, b, at.Values)
			if err == nil && valid != nil {
				err = read(sh, valid, at.Valid)
			}
			return err
		})
		if err != nil {
			return nil, nil, shardify.Annotate(err, "read", r.Name, "")
		}
		row += r.Samples
	}
	return b, valid, nil
}

func opened(store storage.Store, r *shardify.Shard, layout *index.Layout, do func(*dataset.Mmap) error) error {
	f, err := store.Open(r.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	sh, err := dataset.OpenMmap(io.NewSectionReader(f, 0, f.Size()), f.Size(), r, layout)
	if err != nil {
		return err
	}
	return do(sh)
}
