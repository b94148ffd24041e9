// Package dims finds which dimension of many arrays is that of the samples, by the names
// of dimensions: what the readers of HDF5 and of Zarr have in common. It knows no format.
package dims

import (
	"cmp"
	"slices"
)

// Array is what counts of an array.
type Array struct {
	Shape []int64
	Names []string // of the dimensions, "" for one without; may be nil
	Bytes int64
	Coord bool // gives the values of a dimension
	Grows bool // the first dimension can grow
	Skip  bool // it is not data
}

func (a *Array) first() string {
	if len(a.Names) == 0 {
		return ""
	}
	return a.Names[0]
}

// Lead is a named dimension that comes first in arrays which are not coordinates.
type Lead struct {
	Name  string
	Rows  int64 // of those that hold most of the bytes
	bytes int64 // of all of these, and of those without names that have as many rows as no other
	sets  int   // the same, and its coordinates
	grows bool
	inner bool // it comes behind another dimension somewhere
}

// Leads is what is known of the named dimensions that may be the samples'.
type Leads struct {
	list  []*Lead
	bytes int64 // of all arrays that are not coordinates
	sets  int   // all arrays
}

// Find lists the named dimensions that come first; nil where names say too little: arrays
// without names hold half of the bytes, or can grow.
func Find(arrays []Array) *Leads {
	all := &Leads{}
	byName := map[string]*Lead{}
	sizes := map[string]map[int64]int64{} // bytes by rows
	var named int64
	for i := range arrays {
		o := &arrays[i]
		if len(o.Shape) == 0 || o.Skip {
			continue
		}
		if all.sets++; o.Coord {
			continue
		}
		all.bytes += o.Bytes
		name := o.first()
		if name == "" {
			if o.Grows {
				return nil
			}
			continue
		}
		named += o.Bytes
		l := byName[name]
		if l == nil {
			l = &Lead{Name: name}
			byName[name], sizes[name] = l, map[int64]int64{}
			all.list = append(all.list, l)
		}
		l.grows = l.grows || o.Grows
		sizes[name][o.Shape[0]] += o.Bytes
		if b, most := sizes[name][o.Shape[0]], sizes[name][l.Rows]; b > most || b == most && o.Shape[0] > l.Rows {
			l.Rows = o.Shape[0]
		}
	}
	if len(all.list) == 0 || named <= all.bytes/2 {
		return nil
	}
	byRows := map[int64]*Lead{}
	for _, l := range all.list {
		if _, several := byRows[l.Rows]; several {
			byRows[l.Rows] = nil
		} else {
			byRows[l.Rows] = l
		}
	}
	for i := range arrays {
		o := &arrays[i]
		if len(o.Shape) == 0 {
			continue
		}
		l := byName[o.first()]
		if o.first() == "" {
			l = byRows[o.Shape[0]]
		}
		if l != nil && o.Shape[0] == l.Rows {
			if l.sets++; !o.Coord {
				l.bytes += o.Bytes
			}
		}
		for k := 1; k < len(o.Names); k++ {
			if l := byName[o.Names[k]]; l != nil {
				l.inner = true
			}
		}
	}
	return all
}

// keep filters, unless nothing would be left.
func keep(list []*Lead, in func(*Lead) bool) []*Lead {
	var out []*Lead
	for _, l := range list {
		if in(l) {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		return list
	}
	return out
}

// Choose finds the dimension of the samples among those that come first wherever they
// are used, and says why: the one that grows, the one of nearly all bytes, the one that counts
// time, and for a single input, or if rows are asked for (firm), the one of most bytes. alone is
// that case. nil: none.
func (all *Leads) Choose(time map[string]bool, firm, alone bool) (*Lead, string) {
	list := keep(all.list, func(l *Lead) bool { return !l.inner })
	grow := keep(list, func(l *Lead) bool { return l.grows })
	if len(grow) == 1 && grow[0].grows {
		return grow[0], "which can grow (unlimited)"
	}
	list = grow
	best := slices.MaxFunc(list, func(a, b *Lead) int { return cmp.Compare(a.bytes, b.bytes) })
	switch {
	case best.Rows == 1 && !firm: // rather the file is the sample
	case best.sets == all.sets:
		return best, "which leads all data sets"
	case best.bytes >= all.bytes-all.bytes/10 && best.sets > 1:
		return best, "which leads the data sets that hold nearly all bytes"
	}
	counts := keep(list, func(l *Lead) bool { return time[l.Name] })
	switch {
	case len(counts) == 1 && time[counts[0].Name]:
		return counts[0], "which counts time"
	case (best.Rows > 1 || firm) && alone && best.bytes > all.bytes/2:
		return best, "which leads the data sets that hold most bytes"
	}
	return nil, ""
}
