package augment

import (
	"encoding/binary"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/images/moves"
	"github.com/shardify/shardify/images/png"
	"github.com/shardify/shardify/transform/op"
)

// load is the class numbers of sample i, of t.size bytes each.
func (t *target) load(src, shape *shardify.Column, i int, s *buffers) (w, h int, pix []byte, err error) {
	lo, hi := src.Range(i, i+1)
	b := src.Data[lo:hi]
	switch {
	case src.Media != "":
		return t.decode(b, src.Name, s)
	case shape != nil:
		row := shape.Data[16*i:]
		x, y := binary.LittleEndian.Uint64(row[8:]), binary.LittleEndian.Uint64(row)
		if x > maxPixels || y > maxPixels || x*y*uint64(t.size) != uint64(len(b)) {
			return 0, 0, nil, shardify.Corrupt(-1, "shape [%d, %d] for %d bytes of class numbers", y, x, len(b))
		}
		return int(x), int(y), b, nil
	}
	return src.Shape[1], src.Shape[0], b, nil
}

func (t *target) decode(b []byte, name string, s *buffers) (w, h int, pix []byte, err error) {
	if len(b) == 0 {
		return 0, 0, nil, shardify.Corrupt(-1, "an image of 0 bytes")
	}
	if what := notDecoded(b); what != "" || isJPEG(b) {
		return 0, 0, nil, shardify.Mismatch("no PNG: class numbers are read of grey or palette PNG")
	}
	head, err := s.png.Open(b)
	switch {
	case err != nil:
		return 0, 0, nil, err
	case head.W > maxPixels/head.H:
		return 0, 0, nil, tooLarge("png", head.W, head.H)
	case !head.Index:
		return 0, 0, nil, shardify.Mismatch("a PNG of colours: class numbers are read of grey or palette PNG; --augment 'targets,mask=%s:colours' says that they are pictures", name)
	case head.Bits > 8 && t.size == 1:
		return 0, 0, nil, shardify.Mismatch("a PNG of 16 bits: --augment 'targets,mask=%s:u16' in front keeps its class numbers", name)
	}
	n := head.W * head.H
	pix = grow(&s.masks[0], t.size*n)
	if head.Bits > 8 {
		return head.W, head.H, pix, s.png.Decode(pix, png.Options{Deep: true})
	}
	if err = s.png.Decode(pix[:n], png.Options{Index: true}); err == nil && t.size == 2 {
		for k := n - 1; k >= 0; k-- {
			pix[2*k], pix[2*k+1] = pix[k], 0
		}
	}
	return head.W, head.H, pix, err
}

// mask makes the column of a mask and returns its shapes.
func (m *images) mask(t *target, dst, src, shape *shardify.Column, b *shardify.Batch, s *buffers, mem *shardify.Arena) (shapes []int64, err error) {
	fixed, each := dst.Levels == 0, dst.ElemBytes()
	var offsets []int64
	if fixed {
		dst.Data = mem.Alloc(each * b.Samples)
	} else {
		offsets, shapes = mem.Int64s(b.Samples+1), mem.Int64s(2*b.Samples)
		offsets[0] = 0
		dst.Offsets = [][]int64{offsets}
		s.out = s.out[:0]
	}
	for i := range b.Samples {
		var pix []byte
		var w, h int
		if present(src, i) {
			if pix, w, h, err = m.moved(t, src, shape, i, s); err == nil && fixed && len(pix) != each {
				err = shardify.Mismatch("made %d x %d pixels of a mask without an image", w, h)
			}
			if err != nil {
				return nil, shardify.Amend(err, func(e *shardify.Error) {
					e.Op, e.Field, e.Sample, e.At = "augment", src.Name, b.ID(i).Sample, new(b.ID(i))
				})
			}
		}
		if fixed {
			to := dst.Data[each*i : each*(i+1)]
			clear(to[copy(to, pix):])
			continue
		}
		s.out = append(s.out, pix...)
		offsets[i+1] = int64(len(s.out) / each)
		shapes[2*i], shapes[2*i+1] = int64(h), int64(w)
	}
	if !fixed {
		dst.Data = mem.Alloc(len(s.out))
		copy(dst.Data, s.out)
	}
	return shapes, nil
}

// moved is the mask of sample i after what was done to its image.
func (m *images) moved(t *target, src, shape *shardify.Column, i int, s *buffers) (pix []byte, w, h int, err error) {
	w, h, pix, err = t.load(src, shape, i, s)
	move := &m.moves(t, s)[i]
	if err != nil || move.W == 0 {
		return pix, w, h, err
	}
	if w != move.W || h != move.H {
		return nil, 0, 0, shardify.Mismatch("a mask of %d x %d pixels for an image of %d x %d", w, h, move.W, move.H)
	}
	out := grow(&s.masks[1], t.size*move.NewW*move.NewH)
	move.Mask(out, pix, t.size, t.fill)
	return out, move.NewW, move.NewH, nil
}

// moves are those of the samples of the batch, for the image that t follows.
func (m *images) moves(t *target, s *buffers) []moves.Move { return s.moves[t.image] }

// ready makes place for what is done to the images of n samples.
func (s *buffers) ready(plan []imageColumn, n int) {
	if s.moves == nil {
		s.moves = map[int][]moves.Move{}
	}
	for _, c := range plan {
		if !c.picture {
			continue
		}
		if cap(s.moves[c.from]) < n {
			s.moves[c.from] = make([]moves.Move, n)
		}
		s.moves[c.from] = s.moves[c.from][:n]
		clear(s.moves[c.from])
	}
}

// lead makes what follows the images.
func (m *images) lead(b, out *shardify.Batch, s *buffers, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := m.oneSize(b, s); err != nil {
		return nil, err
	}
	for k, c := range m.plan {
		if c.mask == nil {
			continue
		}
		var shape *shardify.Column
		if c.shape >= 0 {
			shape = &b.Columns[c.shape]
		}
		src := &b.Columns[c.from]
		dst := shardify.Column{Field: m.out[k], Valid: src.Valid}
		shapes, err := m.mask(c.mask, &dst, src, shape, b, s, mem)
		if err != nil {
			return nil, err
		}
		if out.Columns[k] = dst; dst.Levels > 0 {
			out.Columns[k+1] = shardify.Column{Field: m.out[k+1], Data: shardify.Bytes(shapes)}
		}
	}
	return m.places(out, s, mem)
}

// oneSize checks that images which the same fields follow have one size.
func (m *images) oneSize(b *shardify.Batch, s *buffers) error {
	if !m.alike {
		return nil
	}
	for i := range b.Samples {
		var first *moves.Move
		name := ""
		for _, c := range m.plan {
			if !c.picture || s.moves[c.from][i].W == 0 {
				continue
			}
			switch x := &s.moves[c.from][i]; {
			case first == nil:
				first, name = x, b.Columns[c.from].Name
			case x.W != first.W || x.H != first.H:
				return op.AtSample(shardify.Mismatch("%s has %d x %d pixels, %s %d x %d: --augment 'targets,image=%s' in front says which one masks, boxes and points follow",
					name, first.W, first.H, b.Columns[c.from].Name, x.W, x.H, name), b, i)
			}
		}
		if first == nil {
			continue
		}
		for _, c := range m.plan { // what has no image of its own follows another
			if c.picture && s.moves[c.from][i].W == 0 {
				s.moves[c.from][i] = *first
			}
		}
	}
	return nil
}

// drops are lists that share a counter, whose elements go when nothing is left of their boxes.
type drops struct {
	group
	boxes []target
}

// gather finds the lists that go with boxes, once what comes out is known.
func (m *images) gather() error {
	m.groups = nil
next:
	for _, t := range m.targets {
		if t.attr != attrBoxes {
			continue
		}
		for g := range m.groups {
			if m.out[t.at].Counter != "" && m.out[t.at].Counter == m.out[m.groups[g].boxes[0].at].Counter {
				m.groups[g].boxes = append(m.groups[g].boxes, t)
				continue next
			}
		}
		d := drops{group{target: m.out[t.at].Name}, []target{t}}
		if err := d.find(m.out); err != nil {
			return err
		}
		m.groups = append(m.groups, d)
	}
	return nil
}

// places moves points and boxes, and drops what left the image.
func (m *images) places(out *shardify.Batch, s *buffers, mem *shardify.Arena) (*shardify.Batch, error) {
	if !m.moving {
		return out, nil
	}
	for k := range m.targets {
		t := &m.targets[k]
		if t.attr != attrPoints {
			continue
		}
		if err := movePoints(t, &out.Columns[t.at], m.moves(t, s), out, mem); err != nil {
			return nil, err
		}
	}
	for g := range m.groups {
		var err error
		if out, err = m.dropped(&m.groups[g], out, s, mem); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// movePoints keeps points outside the image; those with a visibility become invisible (0), and what is
// invisible already stays as it is.
func movePoints(t *target, c *shardify.Column, moves []moves.Move, b *shardify.Batch, mem *shardify.Arena) error {
	own(c, mem)
	for i := range b.Samples {
		lo, hi := span(c, i)
		if len(c.Shape) == 0 {
			if err := evenLists(c, i, t.size); err != nil {
				return shardify.Amend(err, func(e *shardify.Error) {
					e.Op, e.Field, e.Sample, e.At = "augment", c.Name, b.ID(i).Sample, new(b.ID(i))
				})
			}
		}
		m := &moves[i]
		if m.W == 0 {
			continue
		}
		for ; lo < hi; lo += t.size {
			if t.size == 3 && get(c, lo+2) == 0 {
				continue
			}
			x, y := m.Place(get(c, lo), get(c, lo+1))
			set(c, lo, x)
			set(c, lo+1, y)
			if t.size == 3 && !(x >= 0 && y >= 0 && x <= float64(m.NewW) && y <= float64(m.NewH)) {
				set(c, lo+2, 0)
			}
		}
	}
	return nil
}

// evenLists checks that flat lists of numbers hold whole points.
func evenLists(c *shardify.Column, i, size int) error {
	o := c.Offsets[0][i : i+2]
	if c.Levels == 2 {
		o = c.Offsets[1][o[0] : o[1]+1]
	}
	for k := range len(o) - 1 {
		if n := o[k+1] - o[k]; n%int64(size) != 0 {
			return shardify.Corrupt(-1, "a list of %d numbers, no whole points of %d", n, size)
		}
	}
	return nil
}

// dropped moves the boxes of lists that share a counter.
func (m *images) dropped(g *drops, b *shardify.Batch, s *buffers, mem *shardify.Arena) (*shardify.Batch, error) {
	if err := g.check(b); err != nil {
		return nil, err
	}
	o := b.Columns[g.boxes[0].at].Offsets[0]
	keep := grow(&s.masks[0], int(o[b.Samples]))
	clear(keep)
	for k := range g.boxes {
		t := &g.boxes[k]
		c, moves := &b.Columns[t.at], m.moves(t, s)
		own(c, mem)
		for i := range b.Samples {
			move := &moves[i]
			for k := int(o[i]); k < int(o[i+1]); k++ {
				if move.W == 0 {
					keep[k] = 1
					continue
				}
				v, seen, err := move.Box([4]float64{get(c, 4*k), get(c, 4*k+1), get(c, 4*k+2), get(c, 4*k+3)}, t.form)
				if err != nil {
					return nil, shardify.Amend(err, func(e *shardify.Error) {
						e.Op, e.Field, e.Sample, e.At = "augment", c.Name, b.ID(i).Sample, new(b.ID(i))
					})
				}
				keep[k] |= op.Mark(seen > 0 && seen >= t.visible)
				for j, x := range v {
					set(c, 4*k+j, x)
				}
			}
		}
	}
	n := 0
	for _, k := range keep {
		n += int(k)
	}
	if n == len(keep) {
		return b, nil
	}
	order, ends := shardify.View[int32](mem.Alloc(4 * n))[:0], mem.Int64s(b.Samples+1)
	ends[0] = 0
	for i := range b.Samples {
		for k := o[i]; k < o[i+1]; k++ {
			if keep[k] != 0 {
				order = append(order, int32(k))
			}
		}
		ends[i+1] = int64(len(order))
	}
	out, err := g.pick(b, order, ends, mem)
	if err == nil {
		op.Count(out, int64(len(keep)-n), "%s: boxes that left the image (--augment), dropped with their fields", g.target)
	}
	return out, err
}
