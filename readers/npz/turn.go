package npz

import (
	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/npz/internal/members"
)

// The file has an array in Fortran order with its axes reversed: for every index of the
// inner dimensions (a column here), the values of all rows. An array whose samples are
// along another axis is stored as [before][rows][after]. Rows are made from a slab of
// either, of the rows of a span.

// gapBytes is what is rather read along than skipped by a read of its own.
const gapBytes = 4 << 10

// scattered reads the rows [lo, hi) of each column.
func (j *job) scattered(c int, r *region, lo, hi int64, out []output) error {
	if lo == 0 && r.flags&hasSum != 0 && hi < r.rows && !j.file.whole[c] {
		if err := j.sumWhole(r); err != nil {
			return err
		}
		j.file.whole[c] = true
	}
	src := &inPlace{ctx: j.ctx, f: j.file.f, pos: r.off + int64(r.head)}
	if lo == 0 && hi == r.rows {
		src.sum, src.sums = r.headSum, r.flags&hasSum != 0
		if err := j.turnWhole(src, r, lo, hi, out); err != nil {
			return err
		}
		if src.sums && src.sum != r.crc {
			return members.BadSum(src.sum, r.crc)
		}
		return nil
	}
	slab := j.mem.Alloc(int((hi - lo) * r.rowBytes))
	piece, stride := (hi-lo)*r.after, r.rows*r.after
	src.pos += lo * r.after
	if stride-piece <= gapBytes && piece < chunkBytes/2 {
		return j.sieve(src, slab, piece, stride, r, hi-lo, out)
	}
	for at := int64(0); at < int64(len(slab)); at += piece {
		if err := src.fill(slab[at : at+piece]); err != nil {
			return err
		}
		src.pos += stride - piece
	}
	return j.turn(slab, r, hi-lo, out)
}

// sieve reads pieces that are close together with what is between them.
func (j *job) sieve(src *inPlace, slab []byte, piece, stride int64, r *region, rows int64, out []output) error {
	buf := j.buffer(0)
	for to := int64(0); to < int64(len(slab)); {
		n := min((int64(len(buf))-piece)/stride+1, (int64(len(slab))-to)/piece)
		if err := src.fill(buf[:(n-1)*stride+piece]); err != nil {
			return err
		}
		src.pos += stride - piece
		for k := range n {
			to += int64(copy(slab[to:to+piece], buf[k*stride:]))
		}
	}
	return j.turn(slab, r, rows, out)
}

// sumWhole checks the CRC of an array that is read in scattered pieces.
func (j *job) sumWhole(r *region) error {
	src := &inPlace{ctx: j.ctx, f: j.file.f, pos: r.off + int64(r.head), sum: r.headSum, sums: true}
	buf := j.buffer(0)
	for left := r.rows * r.rowBytes; left > 0; {
		p := buf[:min(left, int64(len(buf)))]
		if err := src.fill(p); err != nil {
			return err
		}
		left -= int64(len(p))
	}
	if src.sum != r.crc {
		return members.BadSum(src.sum, r.crc)
	}
	return nil
}

// turnWhole reads all of an array and makes rows [lo, hi).
func (j *job) turnWhole(src feed, r *region, lo, hi int64, out []output) error {
	slab := j.mem.Alloc(int((hi - lo) * r.rowBytes))
	var err error
	if hi-lo == r.rows {
		err = src.fill(slab)
	} else {
		err = j.pick(src, r, lo, hi, slab)
	}
	if err != nil {
		return err
	}
	return j.turn(slab, r, hi-lo, out)
}

// pick reads all of an array and keeps rows [lo, hi).
func (j *job) pick(src feed, r *region, lo, hi int64, slab []byte) error {
	buf := j.buffer(0)
	piece, stride, all := (hi-lo)*r.after, r.rows*r.after, r.rows*r.rowBytes
	for pos := int64(0); pos < all; {
		n := min(all-pos, int64(len(buf)))
		if err := src.fill(buf[:n]); err != nil {
			return err
		}
		for k := pos / stride; k*stride < pos+n; k++ {
			at := k*stride + lo*r.after // of the piece
			if from, to := max(at, pos), min(at+piece, pos+n); from < to {
				copy(slab[k*piece+from-at:], buf[from-pos:to-pos])
			}
		}
		pos += n
	}
	return nil
}

// turn makes rows of a slab and converts them.
func (j *job) turn(slab []byte, r *region, rows int64, out []output) error {
	if r.item.Plain() {
		r.turning(int(rows)).run(out[0].data, slab)
		out[0].leaf.Scalar.Repair(out[0].data)
		out[0].pos = len(out[0].data)
		return nil
	}
	turned := j.mem.Alloc(len(slab))
	r.turning(int(rows)).run(turned, slab)
	return takeItems(out, turned, r.item.Size, rows*r.perRow)
}

func (r *region) turning(rows int) *turning {
	if r.flags&inFortran == 0 { // the other axes keep their order: what is together moves as one
		return &turning{rows: rows, size: int(r.after), dims: []int64{r.before}, row: 1, steps: []int{rows}}
	}
	t := &turning{rows: rows, size: r.item.Size, dims: r.inner, steps: make([]int, len(r.inner))}
	step := 1
	for k := range len(r.inner) + 1 {
		switch {
		case k < r.axis:
			t.steps[k] = step
			step *= int(r.inner[k])
		case k == r.axis:
			t.row = step
			step *= rows
		default:
			t.steps[k-1] = step
			step *= int(r.inner[k-1])
		}
	}
	return t
}

var _ shardify.Reader = (*reader)(nil)
