package load

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/dataset"
	"github.com/shardify/shardify/index"
)

// tarFormat is how the tars of one input store the wanted fields.
type tarFormat struct {
	*dataset.Tar
	targets []target            // by member
	wanted  int                 // members that are wanted
	key     index.ColumnTensors // of the names
}

// target is the wanted tensors that a member fills; -1 for none.
type target struct {
	wanted int // its number among the wanted members, or -1
	at     index.ColumnTensors
	// leads: the field decides the lengths in at.Offsets; others of the counter are
	// compared.
	leads      bool
	shape, ext int
}

func newTarFormat(in *dataset.Set, layout *index.Layout) (*tarFormat, error) {
	tar, err := in.Tar()
	if err != nil {
		return nil, err
	}
	f := &tarFormat{Tar: tar, key: layout.Key}
	for i := range tar.Members {
		t := newTarget(in.Schema, &tar.Members[i], layout)
		if t.wanted >= 0 || t.shape >= 0 || t.ext >= 0 {
			t.wanted = f.wanted
			f.wanted++
		}
		f.targets = append(f.targets, t)
	}
	return f, nil
}

func newTarget(schema []shardify.Field, m *dataset.Member, layout *index.Layout) target {
	t := target{wanted: -1, shape: -1, ext: -1}
	t.at = index.ColumnTensors{Values: -1, Offsets: -1, Offsets1: -1, Valid: -1}
	if i := shardify.FieldIndex(layout.Schema, m.Of.Name); i >= 0 {
		t.wanted, t.at = 0, layout.Columns[i]
		t.leads = t.at.Offsets >= 0 && layout.Tensors[t.at.Offsets].Column == i
	}
	companion := func(i int) int {
		if i < 0 {
			return -1
		}
		j := shardify.FieldIndex(layout.Schema, schema[i].Name)
		if j < 0 {
			return -1
		}
		return layout.Columns[j].Values
	}
	t.shape, t.ext = companion(m.Shape), companion(m.Ext)
	return t
}
