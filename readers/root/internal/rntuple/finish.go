package rntuple

import (
	"math"

	"github.com/shardify/shardify"
)

// finish checks what was decoded and converts it to offsets. more is true if there is still
// something to ask for.
func (r *Reader) finish() (more bool, err error) {
	for i := 1; i < len(r.nodes); i++ {
		n, st := &r.s.nodes[i], &r.nodes[i]
		parent := &r.nodes[n.parent]
		if st.done {
			continue
		}
		if !st.asked || !parent.done {
			more = true
			continue
		}
		if err := r.finishNode(n, st, parent); err != nil {
			return false, err
		}
		st.done, st.known = true, true
	}
	for i := range r.items {
		more = more || !r.items[i].asked
	}
	return more, nil
}

func (r *Reader) finishNode(n *node, st, parent *nodeState) error {
	at, base := int64(0), int64(0)
	for p, in := range parent.in {
		items := in.hi - in.lo
		var got span
		var err error
		off := st.off[at : at+items+1]
		switch n.kind {
		case array:
			got, err = ofArray(off, n.n, in, base)
		case alt:
			got, err = ofSwitch(off, st.tags[12*at:], n, in.lo, base)
		default:
			got, err = ofIndex(off, in.lo, base, n.kind == maybe)
		}
		if err == nil && st.known && got != st.in[p] {
			err = shardify.Corrupt(-1, "%d items, their column has %d in the cluster", got.hi, st.in[p].hi)
		} else if err == nil && n.kind != array {
			err = r.s.stored(n, &r.s.n.Clusters[r.parts[p].cluster], got.hi)
		}
		if err != nil {
			return r.nodeError(n, err)
		}
		st.in[p] = got
		base += got.hi - got.lo
		at += items
	}
	st.count = base
	st.tags = nil
	return r.shape(n, st, parent)
}

func (r *Reader) nodeError(n *node, err error) error {
	if n.kind == array {
		return shardify.Annotate(err, "", "", "")
	}
	return r.s.n.columnError(r.s.n.slots[n.slot].columns[0], err)
}

// ofIndex makes the end offsets of a cluster, off[1:], into those of the read, which
// begin at base. off[0] is set, unless the elements begin inside of the cluster: then
// it is the end offset of the one before, and this is the first part.
func ofIndex(off []int64, lo, base int64, single bool) (span, error) {
	begin := int64(0)
	if lo > 0 {
		begin = off[0]
		off[0] = 0
	}
	if begin < 0 {
		return span{}, shardify.Corrupt(-1, "end offset %d of element %d", uint64(begin), lo-1)
	}
	last := begin
	shift := base - begin
	most := int64(math.MaxInt64)
	if single {
		most = 1
	}
	for i, v := range off[1:] {
		if v < last || v-last > most {
			return span{}, shardify.Corrupt(-1, "end offset %d of element %d, the one before ends at %d", uint64(v), lo+int64(i), last)
		}
		last = v
		off[1+i] = v + shift
	}
	if last > maxElements {
		return span{}, shardify.Corrupt(-1, "end offset %d", last)
	}
	return span{begin, last}, nil
}

func ofArray(off []int64, n int64, in span, base int64) (span, error) {
	if in.hi > maxElements/n || base > maxElements {
		return span{}, shardify.Corrupt(-1, "%d arrays of %d", in.hi, n)
	}
	for i := range off {
		off[i] = base + int64(i)*n
	}
	return span{in.lo * n, in.hi * n}, nil
}

// ofSwitch makes offsets of the elements that are of one alternative. Their indexes
// count up from the first, which in a whole cluster is 0.
func ofSwitch(off []int64, tags []byte, n *node, lo, base int64) (span, error) {
	var first, count int64
	for i := range off[1:] {
		index, tag := le.Uint64(tags[12*i:]), le.Uint32(tags[12*i+8:])
		if int64(tag) > n.n {
			return span{}, shardify.Corrupt(-1, "element %d has tag %d, the variant has %d alternatives", lo+int64(i), tag, n.n)
		}
		if tag == n.tag {
			if count == 0 && lo > 0 && index <= maxElements {
				first = int64(index)
			}
			if index != uint64(first+count) {
				return span{}, shardify.Corrupt(-1, "element %d has index %d of its alternative, %d is next", lo+int64(i), index, first+count)
			}
			count++
		}
		off[1+i] = base + count
	}
	return span{first, first + count}, nil
}

// shape brings offsets and presence to the entries: below presences, elements are
// for present entries only.
func (r *Reader) shape(n *node, st, parent *nodeState) (err error) {
	if n.presence {
		if st.valid, err = r.alloc(r.nodes[0].count, 1); err != nil {
			return err
		}
		k := 0
		for i := range st.valid {
			st.valid[i] = 0
			if parent.valid == nil || parent.valid[i] != 0 {
				if st.off[k+1] > st.off[k] {
					st.valid[i] = 1
				}
				k++
			}
		}
		st.off = nil
		return nil
	}
	if parent.valid == nil {
		return nil
	}
	wide, err := r.int64s(r.nodes[0].count + 1)
	if err != nil {
		return err
	}
	k := 0
	wide[0] = 0
	for i, v := range parent.valid {
		if v != 0 {
			k++
		}
		wide[i+1] = st.off[k]
	}
	st.off = wide
	return nil
}

// assemble appends the columns.
func (r *Reader) assemble(columns []shardify.Column) ([]shardify.Column, error) {
	all := columns
	for i, f := range r.s.flats {
		c := shardify.Column{Field: f.Field}
		if err := r.column(&c, i); err != nil {
			return columns, r.s.n.annotate(err)
		}
		all = append(all, c)
	}
	return all, nil
}

func (r *Reader) column(c *shardify.Column, i int) (err error) {
	it := &r.s.items[i]
	at := it.node
	c.Data = r.items[i].data
	n, st := &r.s.nodes[at], &r.nodes[at]
	switch {
	case it.leaf.kind == counts:
		if c.Data, err = r.lengths(st.off, c.DType); err != nil {
			return r.nodeError(n, err)
		}
		at = n.parent
	case n.presence:
		if c.Data, err = r.expand(c.Data, st.valid, int64(c.ElemBytes())); err != nil {
			return err
		}
	}
	for k := c.Levels - 1; k >= 0; k-- {
		if c.Offsets == nil {
			c.Offsets = make([][]int64, c.Levels)
		}
		c.Offsets[k] = r.nodes[at].off
		at = r.s.nodes[at].parent
		if k == 0 && r.s.flats[i].Deep {
			if c.Offsets[0], err = r.joined(r.nodes[at].off, c.Offsets[0]); err != nil {
				return err
			}
			at = r.s.nodes[at].parent
		}
	}
	c.Valid = r.nodes[at].valid
	return nil
}

// joined are the ends of lists of lists in what the inner lists hold.
func (r *Reader) joined(outer, inner []int64) ([]int64, error) {
	off, err := r.int64s(int64(len(outer)))
	if err != nil {
		return nil, err
	}
	for i, n := range outer {
		off[i] = inner[n]
	}
	return off, nil
}

// lengths makes counts of offsets.
func (r *Reader) lengths(off []int64, dt shardify.DType) ([]byte, error) {
	b, err := r.alloc(int64(len(off)-1), int64(dt.Size()))
	if err != nil {
		return nil, err
	}
	if dt != shardify.U32 {
		v := shardify.View[int64](b)
		for i := range v {
			v[i] = off[i+1] - off[i]
		}
		return b, nil
	}
	v := shardify.View[uint32](b)
	for i := range v {
		d := off[i+1] - off[i]
		if d > math.MaxUint32 {
			return nil, shardify.Corrupt(-1, "list of %d items, its counter has 32 bits", d)
		}
		v[i] = uint32(d)
	}
	return b, nil
}

// expand puts the values of present entries at their places, and zeros between.
func (r *Reader) expand(data, valid []byte, size int64) ([]byte, error) {
	b, err := r.alloc(int64(len(valid)), size)
	if err != nil {
		return nil, err
	}
	to := b
	for _, v := range valid {
		if v != 0 {
			copy(to[:size], data)
			data = data[size:]
		} else {
			clear(to[:size])
		}
		to = to[size:]
	}
	return b, nil
}
