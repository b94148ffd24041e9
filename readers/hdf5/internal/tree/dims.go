package tree

import (
	"cmp"
	"slices"
	"strings"

	"github.com/shardify/shardify/readers/hdf5/internal/datatype"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/heap"
	"github.com/shardify/shardify/readers/hdf5/internal/meta"
	"github.com/shardify/shardify/readers/internal/dims"
)

// A dimension scale is a data set with CLASS = DIMENSION_SCALE; it names a dimension by its
// own path. Other data sets name the scales of their axes by
//
//	DIMENSION_LIST        for each axis a list of references to scales
//	_Netcdf4Coordinates   for each axis the number that a scale has as _Netcdf4Dimid,
//	                      where netCDF was set not to attach scales
//	_Netcdf4Dimid         the same, of the first axis
//
// Lengths are not compared: a variable may be shorter than its dimension that grows, a
// scale of edges is longer.

// scaleClass is the CLASS of a dimension scale.
const scaleClass = "DIMENSION_SCALE"

// maxScales bounds the scales of one axis.
const maxScales = 16

// Axis is a dimension of a data set, as far as the file names it.
type Axis struct {
	Name   string  // path of its scale without the first slash, "" if it has none
	Scales []int64 // where the scales are
	id     int64   // netCDF's number, -1 without
}

// scale is what is known of a dimension scale.
type scale struct {
	id   int64
	time bool // it counts time, as CF's units say
}

// dimensions collects what the data sets of a file say of their axes.
type dimensions struct {
	scales map[int64]scale
	others map[int64]string // paths of what was met and not chosen
	heap   *heap.Heap
	users  []user
	texts  dims.Characters
	Time   map[string]bool     // by name: the dimension counts time
	Also   map[string][]string // by name: the other scales of the dimension, which name it in a part of the data sets
}

// user is a data set that has values, by its axes.
type user struct {
	axes []Axis
	text bool // of texts, and no coordinate
}

// look notes what a data set says of its axes; nil if nothing.
func (d *dimensions) look(f *h5.File, o *h5.Object, list element.Attributes, rank int) []Axis {
	isScale := list.Text(f, "CLASS") == scaleClass
	ids := list.Numbers(f, "_Netcdf4Dimid")
	if isScale {
		sc := scale{id: -1, time: strings.Contains(list.Text(f, "units"), " since ")}
		if len(ids) == 1 {
			sc.id = ids[0]
		}
		d.scales[o.Addr] = sc
	}
	if c := list.Numbers(f, "_Netcdf4Coordinates"); len(c) == rank {
		ids = c
	}
	attached := d.attached(f, list.Find("DIMENSION_LIST"), rank)
	if rank == 0 || len(ids) == 0 && attached == nil && !isScale {
		return nil
	}
	axes := make([]Axis, rank)
	for i := range axes {
		axes[i].id = -1
	}
	for i := range min(len(ids), rank) {
		axes[i].id = ids[i]
	}
	switch {
	case isScale && rank == 1:
		axes[0].Scales = []int64{o.Addr}
	case attached != nil:
		for i := range axes {
			axes[i].Scales = attached[i]
		}
	}
	return axes
}

// attached reads a DIMENSION_LIST; nil for any other attribute. References that lead
// nowhere are those of scales that were deleted.
func (d *dimensions) attached(f *h5.File, a *h5.Attribute, rank int) [][]int64 {
	if a == nil || a.Type.Class != datatype.VarLen || a.Type.VarString || a.Type.Size != f.RefSize() || a.Type.Base == nil ||
		a.Type.Base.Class != datatype.Reference || a.Type.Base.RefKind != 0 || a.Type.Base.Size != f.OffsetSize || a.Space.Elements() != int64(rank) {
		return nil
	}
	if d.heap == nil {
		d.heap = heap.New(f.File, 1<<20)
	}
	out := make([][]int64, rank)
	for i := range out {
		refs, err := d.heap.View(a.Data[i*a.Type.Size:], a.Type.Base.Size)
		if err != nil {
			continue
		}
		for ; len(refs) > 0 && len(out[i]) < maxScales; refs = refs[a.Type.Base.Size:] {
			if addr, err := f.Address(refs); err == nil && addr != meta.Undefined {
				out[i] = append(out[i], addr)
			}
		}
	}
	return out
}

// met keeps the path of what is linked and not chosen: it may be a scale.
func (d *dimensions) met(l *h5.Link, p string) {
	if l.Kind != h5.HardLink || l.Err != nil {
		return
	}
	if _, ok := d.others[l.Addr]; !ok {
		d.others[l.Addr] = p
	}
}

// name gives the axes of all data sets their names: that of the first scale, the same
// to all dimensions that share one.
func (d *dimensions) name(paths map[int64]string) {
	byID := map[int64]int64{}
	for addr, sc := range d.scales {
		if first, ok := byID[sc.id]; sc.id >= 0 && (!ok || addr < first) {
			byID[sc.id] = addr
		}
	}
	nameOf := func(addr int64) string {
		return strings.TrimPrefix(cmp.Or(paths[addr], d.others[addr]), "/")
	}
	joined := map[int64]int64{}
	root := func(addr int64) int64 {
		for {
			next, ok := joined[addr]
			if !ok {
				return addr
			}
			if far, ok := joined[next]; ok {
				joined[addr] = far
			}
			addr = next
		}
	}
	for _, u := range d.users {
		for k := range u.axes {
			a := &u.axes[k]
			if len(a.Scales) == 0 && a.id >= 0 {
				if addr, ok := byID[a.id]; ok {
					a.Scales = []int64{addr}
				}
			}
			a.Scales = slices.DeleteFunc(a.Scales, func(addr int64) bool { return nameOf(addr) == "" })
			for _, addr := range a.Scales {
				if r, first := root(addr), root(a.Scales[0]); r != first {
					joined[r] = first
				}
			}
		}
	}
	d.Time, d.Also = map[string]bool{}, map[string][]string{}
	for addr := range joined {
		d.Also[nameOf(root(addr))] = append(d.Also[nameOf(root(addr))], nameOf(addr))
	}
	for addr, sc := range d.scales {
		if sc.time {
			d.Time[nameOf(root(addr))] = true
		}
	}
	for _, u := range d.users {
		var names []string
		for k := range u.axes {
			a := &u.axes[k]
			if len(a.Scales) > 0 {
				a.Name = nameOf(root(a.Scales[0]))
			}
			names = append(names, a.Name)
		}
		d.texts.Use(names, u.text)
	}
}
