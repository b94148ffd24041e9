package arrays

import "github.com/shardify/shardify/readers/internal/arrays/shelf"

// little is which part of a row of parts a span has at most that takes it from a shelf.
const little = 4

// shelved copies rows [lo, hi) of the row of parts [start, end) from the shelf; false if there is no room
// on it. first is the target's first row.
func (w *work) shelved(in *input, g *grid, t *target, first, lo, hi, start, end int64) (bool, error) {
	if t.take(w.shelf, g, first, lo, hi) {
		return true, nil
	}
	bytes := (end - start) * g.elems * t.size
	room := shelf.Room{Arena: w.mem, Share: slabBytes, Bytes: bytes, Decoding: bytes}
	if t.leaf.text() {
		n := (end - start) * g.elems * t.leaf.values()
		room.Bytes, room.Decoding = max(bytes, 12*n)+4*n, max(bytes, 12*n)+20*n
	}
	if w.mem != nil {
		room.Share = w.scratch.Share()
	}
	err := w.shelf.Put(w.ctx, room, t.leaf, start, end, func(r *shelf.Row) error {
		one := []target{{leaf: t.leaf, size: t.size}}
		x, tmp := &one[0], work{ctx: w.ctx}
		err := x.room(g, end-start, func(n int64) ([]byte, error) { return make([]byte, n), nil })
		if err == nil {
			err = tmp.some(in, g, start, start, end, one)
		}
		w.decoded += tmp.decoded
		if r.Data = x.data; x.leaf.text() {
			r.Pack(len(x.vals), func(i int) []byte { return x.text[x.vals[i].lo:x.vals[i].hi] })
		}
		return err
	})
	return err == nil && t.take(w.shelf, g, first, lo, hi), err
}

// take copies rows [lo, hi) from a shelf to a target whose first row is first; false if they are not there.
func (t *target) take(s *shelf.Shelf, g *grid, first, lo, hi int64) bool {
	return s.Take(t.leaf, lo, hi, func(r *shelf.Row, from int64) {
		if !t.leaf.text() {
			per := g.elems * t.size
			copy(t.data[(lo-first)*per:(hi-first)*per], r.Data[from*per:])
			return
		}
		per := g.elems * t.leaf.values()
		r.Texts(from*per, (hi-lo)*per, func(i int64, text []byte) { t.put((lo-first)*per+i, text) })
	})
}
