package h5

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/dataset"
	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
)

// Dataset parses the messages of a data set. A filter this program cannot decode
// is no error here.
func (o *Object) Dataset() (*dataset.Dataset, error) {
	d, err := o.parseDataset()
	if err != nil {
		return nil, o.f.Fail(err, o.Path)
	}
	return d, nil
}

func (o *Object) parseDataset() (*dataset.Dataset, error) {
	if o.Kind != KindDataset {
		return nil, shardify.Corrupt(o.Addr, "a %s, not a data set", o.Kind)
	}
	f := o.f
	ds := &dataset.Dataset{File: f.File, Addr: o.Addr, Path: o.Path}
	var seen [msgLast + 1]bool
	var fill, layout message
	for i := range o.msgs {
		m := o.msgs[i]
		if m.typ > msgLast || seen[m.typ] {
			continue
		}
		seen[m.typ] = true
		switch m.typ {
		case msgType, msgSpace, msgFilters, msgFill, msgFillOld, msgLayout, msgExternal:
		default:
			continue
		}
		committed := meta.Undefined
		var err error
		if m.flags&flagShared != 0 {
			if m, committed, err = f.sharedBody(m); err != nil {
				return nil, err
			}
		}
		switch m.typ {
		case msgType:
			if ds.Type, _, err = datatype.Parse(f.File, m.data, m.at); err == nil {
				ds.Type.Committed = committed
			}
		case msgSpace:
			ds.Space, err = datatype.ParseSpace(f.File, m.data, m.at)
		case msgFilters:
			ds.Filters, err = heap.ParseFilters(f.File, m.data, m.at)
		case msgExternal:
			ds.External, err = f.parseExternal(m.data, m.at)
		case msgFill:
			fill = m
		case msgFillOld:
			if !seen[msgFill] {
				fill = m
			}
		case msgLayout:
			layout = m
			ds.Layout, err = dataset.ParseLayout(f.File, m.data, m.at)
		}
		if err != nil {
			return nil, err
		}
	}
	if !seen[msgType] || !seen[msgSpace] || !seen[msgLayout] {
		return nil, shardify.Corrupt(o.Addr, "data set without datatype, dataspace or layout")
	}
	if fill.data != nil {
		var err error
		if ds.Fill, err = f.parseFill(fill, ds.Type.Size); err != nil {
			return nil, err
		}
	}
	d := f.Decode(layout.data, layout.at, "layout")
	return ds, ds.Check(&d)
}

// typeMessage parses a datatype message, shared or not.
func (f *File) typeMessage(m message) (*datatype.Type, error) {
	committed := meta.Undefined
	if m.flags&flagShared != 0 {
		var err error
		if m, committed, err = f.sharedBody(m); err != nil {
			return nil, err
		}
	}
	t, _, err := datatype.Parse(f.File, m.data, m.at)
	if err == nil {
		t.Committed = committed
	}
	return t, err
}
