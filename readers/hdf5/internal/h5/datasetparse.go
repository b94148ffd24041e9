package h5

import "github.com/shardify/shardify"

func (o *Object) dataset() (*Dataset, error) {
	d, err := o.parseDataset()
	if err != nil {
		return nil, o.f.fail(err, o.Path)
	}
	return d, nil
}

func (o *Object) parseDataset() (*Dataset, error) {
	if o.Kind != KindDataset {
		return nil, shardify.Corrupt(o.Addr, "a %s, not a data set", o.Kind)
	}
	f := o.f
	ds := &Dataset{f: o.f, Addr: o.Addr, Path: o.Path}
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
		committed := Undefined
		var err error
		if m.flags&flagShared != 0 {
			if m, committed, err = f.sharedBody(m); err != nil {
				return nil, err
			}
		}
		switch m.typ {
		case msgType:
			if ds.Type, _, err = f.parseType(m.data, m.at); err == nil {
				ds.Type.Committed = committed
			}
		case msgSpace:
			ds.Space, err = f.parseSpace(m.data, m.at)
		case msgFilters:
			ds.Filters, err = f.parseFilters(m.data, m.at)
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
			ds.Layout, err = f.parseLayout(m.data, m.at)
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
	d := f.decode(layout.data, layout.at, "layout")
	return ds, ds.check(&d)
}

// check compares the layout with type and space.
func (ds *Dataset) check(d *decoder) error {
	need, ok := ds.Space.bytes(ds.Type.Size)
	if !ok {
		return d.corrupt("%v elements of %d bytes overflow", ds.Space.Dims, ds.Type.Size)
	}
	l := &ds.Layout
	switch l.Class {
	case Compact:
		if int64(len(l.Data)) < need {
			return d.corrupt("%d bytes stored, %d needed", len(l.Data), need)
		}
	case Contiguous:
		if len(ds.External) > 0 || l.Addr == Undefined {
			return nil
		}
		if l.Size >= 0 && l.Size != need {
			return d.corrupt("%d bytes stored, %d needed", l.Size, need)
		}
		return ds.f.within(l.Addr, need, "data")
	case Chunked:
		rank := len(l.ChunkDims) - 1
		if rank != ds.Space.Rank() || rank == 0 || ds.Space.Kind != Simple {
			return d.corrupt("chunks of rank %d for a dataspace of rank %d", rank, ds.Space.Rank())
		}
		if l.ChunkDims[rank] != int64(ds.Type.Size) {
			return d.corrupt("chunks hold elements of %d bytes, the type has %d", l.ChunkDims[rank], ds.Type.Size)
		}
		l.ChunkDims = l.ChunkDims[:rank]
	}
	return nil
}

func (o *Object) namedType() (*Type, error) {
	m, ok := o.find(msgType)
	if !ok || o.Kind != KindType {
		return nil, o.f.fail(shardify.Corrupt(o.Addr, "a %s, not a datatype", o.Kind), o.Path)
	}
	t, err := o.f.typeMessage(m)
	return t, o.f.fail(err, o.Path)
}

// typeMessage parses a datatype message, shared or not.
func (f *File) typeMessage(m message) (*Type, error) {
	committed := Undefined
	if m.flags&flagShared != 0 {
		var err error
		if m, committed, err = f.sharedBody(m); err != nil {
			return nil, err
		}
	}
	t, _, err := f.parseType(m.data, m.at)
	if err == nil {
		t.Committed = committed
	}
	return t, err
}
