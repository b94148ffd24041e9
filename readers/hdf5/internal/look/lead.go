package look

import (
	"cmp"
	"slices"
)

// otherDimension says why a data set that does not begin with the samples' dimension is
// no column, "" if it may be one.
func (c *Choice) otherDimension(o *object) string {
	if first := o.first(); len(c.dimension) > 0 && first != "" && !slices.Contains(c.dimension, first) {
		return "its first dimension is " + first + ", the samples are " + c.dimension[0]
	}
	return ""
}

// lead is a named dimension that comes first in data sets which are no scales.
type lead struct {
	name  string
	rows  int64 // of those that hold most of the bytes
	bytes int64 // of all of these, and of those without names that have as many rows as no other
	sets  int   // the same, and its scales
	grows bool
	inner bool // it comes behind another dimension somewhere
}

// leads is what is known of the named dimensions that may be the samples'.
type leads struct {
	list  []*lead
	bytes int64 // of all data sets that are no scales
	sets  int   // all data sets
}

// leads lists the named dimensions that come first; nil where names say too little: data
// sets without names hold half of the bytes, or can grow.
func (t *Tree) leads() *leads {
	all := &leads{}
	byName := map[string]*lead{}
	sizes := map[string]map[int64]int64{} // bytes by rows
	var named int64
	for i := range t.objects {
		o := &t.objects[i]
		if len(o.dims) == 0 || o.note != "" {
			continue
		}
		if all.sets++; o.scale {
			continue
		}
		all.bytes += o.bytes
		name := o.first()
		if name == "" {
			if o.unlimited[0] {
				return nil
			}
			continue
		}
		named += o.bytes
		l := byName[name]
		if l == nil {
			l = &lead{name: name}
			byName[name], sizes[name] = l, map[int64]int64{}
			all.list = append(all.list, l)
		}
		l.grows = l.grows || o.unlimited[0]
		sizes[name][o.dims[0]] += o.bytes
		if b, most := sizes[name][o.dims[0]], sizes[name][l.rows]; b > most || b == most && o.dims[0] > l.rows {
			l.rows = o.dims[0]
		}
	}
	if len(all.list) == 0 || named <= all.bytes/2 {
		return nil
	}
	byRows := map[int64]*lead{}
	for _, l := range all.list {
		if _, several := byRows[l.rows]; several {
			byRows[l.rows] = nil
		} else {
			byRows[l.rows] = l
		}
	}
	for i := range t.objects {
		o := &t.objects[i]
		if len(o.dims) == 0 {
			continue
		}
		l := byName[o.first()]
		if o.first() == "" {
			l = byRows[o.dims[0]]
		}
		if l != nil && o.dims[0] == l.rows {
			if l.sets++; !o.scale {
				l.bytes += o.bytes
			}
		}
		for k := 1; k < len(o.axes); k++ {
			if l := byName[o.axes[k].name]; l != nil {
				l.inner = true
			}
		}
	}
	return all
}

// keep filters, unless nothing would be left.
func keep(list []*lead, in func(*lead) bool) []*lead {
	var out []*lead
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

// chooseLead finds the dimension of the samples among those that come first wherever they
// are used: the one that grows, the one of nearly all bytes, the one that counts time, and
// for a single input, or if rows are asked for, the one of most bytes. alone is that case.
func (t *Tree) chooseLead(all *leads, firm, alone bool) *Choice {
	list := keep(all.list, func(l *lead) bool { return !l.inner })
	grow := keep(list, func(l *lead) bool { return l.grows })
	if len(grow) == 1 && grow[0].grows {
		return t.rowsOf(grow[0], "which can grow (unlimited)")
	}
	list = grow
	best := slices.MaxFunc(list, func(a, b *lead) int { return cmp.Compare(a.bytes, b.bytes) })
	switch {
	case best.rows == 1 && !firm: // rather the file is the sample
	case best.sets == all.sets:
		return t.rowsOf(best, "which leads all data sets")
	case best.bytes >= all.bytes-all.bytes/10 && best.sets > 1:
		return t.rowsOf(best, "which leads the data sets that hold nearly all bytes")
	}
	time := keep(list, func(l *lead) bool { return t.dims.time[l.name] })
	switch {
	case len(time) == 1 && t.dims.time[time[0].name]:
		return t.rowsOf(time[0], "which counts time")
	case (best.rows > 1 || firm) && alone && best.bytes > all.bytes/2:
		return t.rowsOf(best, "which leads the data sets that hold most bytes")
	}
	return nil
}

// rowsOf is the choice of the rows of a named dimension.
func (t *Tree) rowsOf(l *lead, why string) *Choice {
	return t.axis(l.rows, append([]string{l.name}, t.dims.also[l.name]...), "dimension "+l.name+", "+why)
}
