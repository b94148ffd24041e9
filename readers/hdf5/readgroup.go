package hdf5

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/hdf5/internal/array"
	"github.com/shardify/shardify/readers/hdf5/internal/column"
	"github.com/shardify/shardify/readers/hdf5/internal/element"
	"github.com/shardify/shardify/readers/hdf5/internal/h5"
	"github.com/shardify/shardify/readers/hdf5/internal/look"
	"github.com/shardify/shardify/readers/hdf5/internal/naming"
)

// listGroups finds the sample groups again, in natural order.
func (i *input) listGroups() ([]sampleGroup, error) {
	b := &i.blob
	found, err := i.H5.Lookup(naming.Rooted(b.Parent))
	if err != nil {
		return nil, err
	}
	groups := []sampleGroup{{"", found.Addr}}
	for stem := range strings.SplitSeq(b.Stem, "/") {
		all := groups
		groups = nil
		for _, g := range all {
			if groups, err = i.children(groups, g, stem); err != nil {
				return nil, err
			}
		}
	}
	if b.Each != "" {
		return i.rowGroups(groups)
	}
	if int64(len(groups)) != i.samples && len(b.Objects) > 0 { // others are among them
		groups = slices.DeleteFunc(groups, func(g sampleGroup) bool {
			_, err := i.within(g, b.Parent, b.Objects[0].Path)
			return err != nil && !errors.Is(err, shardify.ErrCorrupt)
		})
	}
	if int64(len(groups)) != i.samples {
		return nil, errChanged("%d sample groups, had %d", len(groups), i.samples)
	}
	slices.SortFunc(groups, func(a, b sampleGroup) int { return naming.Natural(a.name, b.name) })
	return groups, nil
}

// rowGroups are the groups that have rows, which are the samples.
func (i *input) rowGroups(all []sampleGroup) (groups []sampleGroup, err error) {
	slices.SortFunc(all, func(a, b sampleGroup) int { return naming.Natural(a.name, b.name) })
	end := int64(0)
	for _, g := range all {
		a, err := i.within(g, i.blob.Parent, i.blob.Each)
		if err != nil && !errors.Is(err, shardify.ErrCorrupt) { // another group is among them
			continue
		}
		if err != nil {
			return nil, err
		}
		if a.Rows > i.samples-end {
			return nil, errChanged("more rows than %d", i.samples)
		}
		end += a.Rows
		groups, i.ends = append(groups, g), append(i.ends, end)
	}
	if end != i.samples {
		return nil, errChanged("%d rows in groups, had %d", end, i.samples)
	}
	return groups, nil
}

// children appends the groups in one that may be samples, or hold them.
func (i *input) children(groups []sampleGroup, of sampleGroup, stem string) ([]sampleGroup, error) {
	b := &i.blob
	o, err := i.H5.Object(of.addr, naming.Join(b.Parent, of.name))
	if err != nil {
		return nil, err
	}
	if o.Kind != h5.KindGroup {
		return groups, nil
	}
	links, err := o.Children()
	if err != nil {
		return nil, err
	}
	for k := range links {
		s, numbered := naming.Stem(links[k].Name)
		name := naming.Join(of.name, links[k].Name)
		if i.want.Excluded(naming.Ways(b.Parent+"/"+name, "")...) {
			continue
		}
		if links[k].Kind == h5.HardLink && links[k].Err == nil && (!b.Number || numbered && s == stem) {
			groups = append(groups, sampleGroup{name, links[k].Addr})
		}
	}
	return groups, nil
}

// within opens a data set of a sample group. It starts at the group, as the group
// that holds a hundred thousand of them should not be searched for each.
func (i *input) within(g sampleGroup, parent, member string) (*column.Dataset, error) {
	p := parent + "/" + g.name
	o, err := i.H5.Object(g.addr, p)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.Split(member, "/") {
		if o.Kind != h5.KindGroup {
			return nil, shardify.Mismatch("%s is no group", p)
		}
		l, ok, err := o.Child(name)
		if err != nil {
			return nil, err
		}
		p += "/" + name
		if !ok || l.Kind != h5.HardLink || l.Err != nil {
			return nil, shardify.Mismatch("there is no %s", p)
		}
		if o, err = i.H5.Object(l.Addr, p); err != nil {
			return nil, err
		}
	}
	return i.DatasetOf(o, p)
}

// groups reads one member of the sample groups of the span.
func (j *spanRead) groups(ctx context.Context, o *look.BlobObject, cols []colPlace) error {
	groups, err := j.in.samplesOf(o)
	if err != nil {
		return err
	}
	fixed := make([]int, len(cols)) // bytes of one sample of a fixed column
	for k, c := range cols {
		col := &j.batch.Columns[c.column]
		j.work.Vary[c.column].Reset()
		if col.Levels == 0 && !(o.Ragged && c.leaf < 0) && !o.Bytes {
			fixed[k] = col.ElemBytes()
			col.Data = j.mem.Alloc(int(j.span.Samples()) * fixed[k])
			j.data[c.column] = col.Data
		}
	}
	each := !o.Item && j.in.blob.Each != ""
	if !each && j.span.Hi > int64(len(groups)) || each && j.span.Hi > j.in.samples {
		return errChanged("%d samples", len(groups))
	}
	for i := j.span.Lo; i < j.span.Hi; {
		if err := ctx.Err(); err != nil {
			return err
		}
		g, first, n := int(i), int64(0), int64(1) // a group, and which of its rows
		if each {
			g, _ = slices.BinarySearch(j.in.ends, i+1)
			if g > 0 {
				first = j.in.ends[g-1]
			}
			if first = i - first; !o.Once {
				n = min(j.in.ends[g], j.span.Hi) - i
			}
		}
		if err := j.group(ctx, groups[g], o, cols, first, n); err != nil {
			return j.annotate(&array.RowError{Row: i, Err: err}, j.in.memberPath(groups[g], o))
		}
		for k, c := range cols {
			j.data[c.column] = j.data[c.column][int64(fixed[k])*n:]
		}
		i += n
	}
	for _, c := range cols {
		col := &j.batch.Columns[c.column]
		v := &j.work.Vary[c.column]
		switch {
		case c.leaf < 0:
			col.Data = j.mem.Alloc(len(v.Outer) * 8)
			for i, d := range v.Outer {
				binary.LittleEndian.PutUint64(col.Data[8*i:], uint64(d))
			}
		case col.Levels > 0:
			v.Column(col, j.mem, 1)
		}
	}
	return nil
}

// group reads one member of one sample group, or n rows of it from the first on.
func (j *spanRead) group(ctx context.Context, g sampleGroup, o *look.BlobObject, cols []colPlace, first, n int64) error {
	a, err := j.in.member(g, o)
	if err != nil {
		return err
	}
	if err := a.Usable(); err != nil {
		return err
	}
	if err := a.Backed(a.Rows); err != nil {
		return err
	}
	if o.Bytes {
		return j.bytesOf(ctx, a, cols)
	}
	s, dims := column.Stretch{A: a, Lo: 0, Hi: a.Rows, Per: a.Rows}, a.Dims
	if !o.Item && j.in.blob.Each != "" && !o.Once {
		if len(dims) == 0 || n > a.Rows-first {
			return errChanged("%d rows", a.Rows)
		}
		s.Lo, s.Hi, s.Per, dims = first, first+n, 1, dims[1:]
	}
	if !o.Ragged {
		if err := j.parts(o, &s, cols, dims); err != nil {
			return err
		}
		return s.Read(ctx, &j.work, j.data)
	}
	return j.ragged(ctx, o, &s, cols, dims, n)
}

// ragged appends values of any shape, and the shape, of n samples.
func (j *spanRead) ragged(ctx context.Context, o *look.BlobObject, s *column.Stretch, cols []colPlace, dims []int64, n int64) error {
	leaves, err := s.A.Leaves(&o.Decode)
	if err != nil {
		return err
	}
	if o.Wide {
		leaves, dims, s.Wide = s.A.WideLeaves(leaves), dims[:max(len(dims)-1, 0)], true
	}
	for _, c := range cols {
		k := c.leaf
		v := &j.work.Vary[c.column]
		if k < 0 {
			k = j.shapeOf(c.column, cols)
		}
		if k < 0 || k >= len(leaves) || leaves[k].Err != nil {
			return errChanged("another type")
		}
		l := &leaves[k]
		f, err := l.Field("x", dims)
		want := &j.batch.Columns[c.column]
		switch {
		case err != nil:
			return err
		case c.leaf < 0:
			if len(want.Shape) != 1 || want.Shape[0] != len(f.Shape) {
				return errChanged("rank %d", len(f.Shape))
			}
			for range n {
				for _, d := range f.Shape {
					v.Outer = append(v.Outer, int64(d))
				}
			}
			continue
		case f.DType != want.DType || l.Kind == element.Numbers && want.Levels != 1 || l.Kind != element.Numbers && want.Levels != f.Levels:
			return errChanged("%s %v", f.DType, f.Shape)
		}
		s.Parts = append(s.Parts, column.Part{Column: c.column, Leaf: l, Two: f.Levels == 2})
		if l.Kind == element.Numbers {
			at, size := len(v.Data), f.ElemBytes()
			all := size * int(n)
			v.Data = slices.Grow(v.Data, all)[:at+all]
			j.data[c.column] = v.Data[at:]
			for k := range int(n) {
				v.Outer = append(v.Outer, int64((at+(k+1)*size)/f.DType.Size()))
			}
		}
	}
	if len(s.Parts) == 0 {
		return nil
	}
	return s.Read(ctx, &j.work, j.data)
}

// shapeOf is the leaf whose shape a companion column has.
func (j *spanRead) shapeOf(column int, cols []colPlace) int {
	name := strings.TrimSuffix(j.batch.Columns[column].Name, shardify.ShapeSuffix)
	for _, c := range cols {
		if c.leaf >= 0 && j.batch.Columns[c.column].Name == name {
			return c.leaf
		}
	}
	return -1
}
