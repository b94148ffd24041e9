package arrays

import (
	"fmt"
	"slices"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/internal/arrays/node"
	"github.com/shardify/shardify/readers/internal/arrays/store"
	sel "github.com/shardify/shardify/readers/internal/grid"
)

// grid is how an array is divided into parts that are decoded at once: chunks, or those in
// shards. Lists are by dimension, that of the samples first.
type grid struct {
	*store.Array
	order  []int   // which dimension of the array each is
	shape  []int64 // of the array; a single value has one row
	part   []int64 // of a part
	count  []int64 // of parts
	from   []int64 // elements from one coordinate to the next, in a part
	to     []int64 // the same, in rows
	rows   int64
	elems  int64        // of a row
	across int64        // parts of one row of parts
	whole  bool         // the elements of a part follow each other in the rows
	all    bool         // the plan has found all chunks
	must   bool         // a chunk that is missing is damage
	taken  []sel.Places // of each dimension, where a part of some is taken; shape is of that then
}

// gridOf is an array with the dimension of the samples first, then front, if there is one
// (0: none).
func gridOf(a *store.Array, axis, front int) *grid {
	g := &grid{Array: a, rows: 1, elems: 1, across: 1}
	if rank := len(a.Shape); rank > 0 {
		if axis < 0 || axis >= rank {
			axis = 0
		}
		g.order = append(g.order, axis)
		if front > 0 && front < rank && front != axis {
			g.order = append(g.order, front)
		}
		for d := range rank {
			if !slices.Contains(g.order, d) {
				g.order = append(g.order, d)
			}
		}
	}
	grid := (&node.Array{Shape: a.Shape, Chunk: a.Inner}).Grid()
	inner := make([]int64, len(a.Inner))
	for d, n := len(inner)-1, int64(1); d >= 0; d-- {
		inner[d] = n
		n *= a.Inner[d]
	}
	for _, d := range g.order {
		g.shape, g.part, g.count, g.from = append(g.shape, a.Shape[d]), append(g.part, a.Inner[d]), append(g.count, grid[d]), append(g.from, inner[d])
	}
	if len(g.order) == 0 {
		g.shape, g.part, g.count, g.from = []int64{1}, []int64{1}, []int64{1}, []int64{1}
	}
	g.whole = slices.IsSorted(g.order)
	g.locate()
	return g
}

// locate finds where the elements of rows are.
func (g *grid) locate() {
	g.elems, g.across = 1, 1
	g.to = make([]int64, len(g.shape))
	for d := len(g.shape) - 1; d > 0; d-- {
		g.to[d] = g.elems
		g.elems *= g.shape[d]
		g.across *= g.count[d]
		g.whole = g.whole && g.part[d] == g.shape[d]
	}
	g.to[0], g.rows = g.elems, g.shape[0]
}

// selectParts leaves of each dimension, that of the samples first, what is taken of it.
func (g *grid) selectParts(picks []sel.Pick) error {
	if len(picks) == 0 {
		return nil
	}
	if len(picks) != len(g.shape) || len(g.order) == 0 {
		return shardify.Corrupt(-1, "state of arrays: a selection of %d dimensions of %s", len(picks), g.Path)
	}
	for d, p := range picks {
		if err := p.Check(g.shape[d]); err != nil {
			return shardify.Amend(err, func(e *shardify.Error) { e.Object = g.Path })
		}
		g.taken = append(g.taken, p.Places(g.shape[d]))
		g.shape[d] = g.taken[d].Len
	}
	g.locate()
	g.whole = false
	return nil
}

// block is the rows that are in the row of parts of row n.
func (g *grid) block(n int64) (start, end int64) {
	if g.taken != nil {
		return g.taken[0].Block(n, g.part[0])
	}
	start = n / g.part[0] * g.part[0]
	return start, min(start+g.part[0], g.rows)
}

// parts calls f for the numbers of the parts that hold a part of rows [lo, hi).
func (g *grid) parts(lo, hi int64, f func(n int64)) {
	if g.taken == nil {
		for n := lo / g.part[0] * g.across; n < ((hi-1)/g.part[0]+1)*g.across; n++ {
			f(n)
		}
		return
	}
	axes := make([][]int64, len(g.shape))
	for d := range axes {
		from, to := int64(0), g.shape[d]
		if d == 0 {
			from, to = lo, hi
		}
		axes[d] = g.taken[d].Blocks(from, to, g.part[d])
	}
	var each func(d int, n int64)
	each = func(d int, n int64) {
		if d == len(axes) {
			f(n)
			return
		}
		for _, k := range axes[d] {
			each(d+1, n*g.count[d]+k)
		}
	}
	each(0, 0)
}

// inner is the shape of a row.
func (g *grid) inner() []int64 { return g.shape[1:] }

// coord is where part n is.
func (g *grid) coord(n int64, at []int64) []int64 {
	at = append(at[:0], g.count...)
	for d := len(at) - 1; d >= 0; d-- {
		at[d], n = n%g.count[d], n/g.count[d]
	}
	return at
}

// place is the chunk that a part is in, by its name, and which of its parts it is.
func (g *grid) place(coord []int64) (key string, inside int64) {
	index := make([]int64, len(g.order))
	for k, d := range g.order {
		index[d] = coord[k]
	}
	if g.Sharded() {
		for d := range index {
			per := g.Chunk[d] / g.Inner[d]
			inside = inside*per + index[d]%per
			index[d] /= per
		}
	}
	return join(g.Path, g.Key(index)), inside
}

// tile is separate runs of elements: count of them, of n elements each.
type tile struct{ to, from, count, toStep, fromStep, n int64 }

// tiles calls f for the elements of the part at coord that are in rows [a, b); the rows
// begin with row lo.
func (g *grid) tiles(coord []int64, lo, a, b int64, f func(t *tile)) {
	if g.taken != nil {
		g.takenTiles(coord, lo, a, b, f)
		return
	}
	var n, at [65]int64
	rank := len(g.shape)
	t := tile{count: 1, n: 1}
	for d := range rank {
		origin := coord[d] * g.part[d]
		n[d] = min(g.part[d], g.shape[d]-origin)
		if d == 0 {
			n[d] = b - a
			t.to, t.from = (a-lo)*g.to[0], (a-origin)*g.from[0]
			continue
		}
		t.to += origin * g.to[d]
	}
	last := rank - 1 // the dimensions up to it are not joined to runs
	for ; last >= 0 && (n[last] == 1 || g.to[last] == t.n && g.from[last] == t.n); last-- {
		t.n *= n[last]
	}
	if last >= 0 {
		t.count, t.toStep, t.fromStep = n[last], g.to[last], g.from[last]
	}
	for {
		f(&t)
		d := last - 1
		for ; d >= 0; d-- {
			at[d]++
			t.to, t.from = t.to+g.to[d], t.from+g.from[d]
			if at[d] < n[d] {
				break
			}
			t.to, t.from, at[d] = t.to-n[d]*g.to[d], t.from-n[d]*g.from[d], 0
		}
		if d < 0 {
			return
		}
	}
}

// takenTiles is tiles of what is taken; rows are counted among those taken.
func (g *grid) takenTiles(coord []int64, lo, a, b int64, f func(t *tile)) {
	axes := make([][]sel.Portion, len(g.shape))
	for d := range axes {
		from, to := int64(0), g.shape[d]
		if d == 0 {
			from, to = a, b
		}
		origin := coord[d] * g.part[d]
		if axes[d] = g.taken[d].Portions(origin, origin+g.part[d], from, to); len(axes[d]) == 0 {
			return
		}
	}
	last := len(axes) - 1
	var t tile
	var each func(d int, to, from int64)
	each = func(d int, to, from int64) {
		for _, p := range axes[d] {
			x, y := to+p.To*g.to[d], from+p.From*g.from[d]
			switch {
			case d < last:
				for range p.N {
					each(d+1, x, y)
					x, y = x+g.to[d], y+p.Step*g.from[d]
				}
				continue
			case p.Step == 1 && g.from[d] == 1 && g.to[d] == 1:
				t = tile{x, y, 1, 0, 0, p.N}
			default:
				t = tile{x, y, p.N, g.to[d], p.Step * g.from[d], 1}
			}
			f(&t)
		}
	}
	each(0, (a-lo)*g.to[0], 0)
}

// copy puts the elements of a tile, of size bytes, where they belong.
func (t *tile) copy(dst, src []byte, size int64) {
	sel.Copy(dst[t.to*size:], src[t.from*size:], t.count, t.n*size, t.toStep*size, t.fromStep*size)
}

func (g *grid) String() string {
	s := fmt.Sprintf("chunks %v", g.Chunk)
	if g.Sharded() {
		s = fmt.Sprintf("shards %v of chunks %v", g.Chunk, g.Inner)
	}
	return s
}
