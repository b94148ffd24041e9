package shardify

import "fmt"

// Take returns a batch of the given samples of b, in their order; a sample may be
// named again. The result lists its IDs, shares nothing with b, and lives in mem. It
// has neither proofs nor counts. Batches with streams or frames cannot be taken from.
func (b *Batch) Take(rows []int32, mem *Arena) (*Batch, error) {
	out := &Batch{Samples: len(rows), IDs: mem.ids(len(rows))}
	if len(rows) > 0 {
		out.First = b.ID(int(rows[0]))
	}
	if b.IDs != nil {
		for i, r := range rows {
			out.IDs[i] = b.IDs[r]
		}
	} else {
		for i, r := range rows {
			out.IDs[i] = ID{b.First.Input, b.First.Sample + int64(r), b.First.Copy}
		}
	}
	t := taker{rows: rows, mem: mem, runs: runs(rows)}
	var err error
	if out.Columns, err = t.columns(b); err != nil {
		return nil, err
	}
	if b.Keys != nil {
		out.Keys = new(Column)
		if err := t.column(out.Keys, b.Keys); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// TakeColumns is the columns of Take.
func (b *Batch) TakeColumns(rows []int32, mem *Arena) ([]Column, error) {
	t := taker{rows: rows, mem: mem, runs: runs(rows)}
	return t.columns(b)
}

// runs counts the stretches of neighbours.
func runs(rows []int32) int {
	n := min(len(rows), 1)
	for i := 1; i < len(rows); i++ {
		if rows[i] != rows[i-1]+1 {
			n++
		}
	}
	return n
}

// taker gathers columns of one batch.
type taker struct {
	rows []int32
	runs int
	mem  *Arena
	// The offsets taken last, for the next field with the same counter.
	from, to []int64
}

func (t *taker) columns(b *Batch) ([]Column, error) {
	out := make([]Column, len(b.Columns))
	for i := range b.Columns {
		if err := t.column(&out[i], &b.Columns[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *taker) column(dst, src *Column) error {
	if src.Stream != nil || src.Framed || len(src.Offsets) != src.Levels {
		return fmt.Errorf("samples of field %s cannot be taken one by one: %w", src.Name, ErrUnsupported)
	}
	dst.Field = src.Field
	if src.Valid != nil {
		dst.Valid = t.mem.Alloc(len(t.rows))
		gather1(dst.Valid, src.Valid, t.rows)
	}
	if src.Levels == 0 {
		t.fixed(dst, src)
		return nil
	}
	dst.Offsets = make([][]int64, src.Levels)
	dst.Offsets[0] = t.offsets(src.Offsets[0])
	if src.Levels == 1 {
		t.lists(dst, src)
		return nil
	}
	t.nested(dst, src)
	return nil
}

// fixed takes a field of fixed size.
func (t *taker) fixed(dst, src *Column) {
	size := src.ElemBytes()
	dst.Data = t.mem.Alloc(len(t.rows) * size)
	switch {
	case size == 0:
	case t.runs*8 <= len(t.rows) || size > 16 || size&(size-1) != 0:
		at := 0
		for i := 0; i < len(t.rows); {
			k := t.run(i)
			lo := int(t.rows[i]) * size
			at += copy(dst.Data[at:], src.Data[lo:lo+(k-i)*size])
			i = k
		}
	case size == 1:
		gather1(dst.Data, src.Data, t.rows)
	case size == 2:
		gather(View[uint16](dst.Data), View[uint16](src.Data), t.rows)
	case size == 4:
		gather(View[uint32](dst.Data), View[uint32](src.Data), t.rows)
	case size == 8:
		gather(View[uint64](dst.Data), View[uint64](src.Data), t.rows)
	default:
		d, s := dst.Data, src.Data
		for _, r := range t.rows {
			*(*[16]byte)(d) = *(*[16]byte)(s[int(r)*16:])
			d = d[16:]
		}
	}
}

// run is the end of the stretch of neighbours that begins at i.
func (t *taker) run(i int) int {
	for i++; i < len(t.rows) && t.rows[i] == t.rows[i-1]+1; i++ {
	}
	return i
}

func gather1(dst, src []byte, rows []int32) {
	for i, r := range rows {
		dst[i] = src[r]
	}
}

func gather[T Number](dst, src []T, rows []int32) {
	dst = dst[:len(rows)]
	for i, r := range rows {
		dst[i] = src[r]
	}
}

// offsets is those of the samples taken.
func (t *taker) offsets(src []int64) []int64 {
	if len(t.from) == len(src) && &t.from[0] == &src[0] {
		return t.to
	}
	out := t.mem.Int64s(len(t.rows) + 1)
	out[0] = 0
	var n int64
	for i, r := range t.rows {
		n += src[r+1] - src[r]
		out[i+1] = n
	}
	t.from, t.to = src, out
	return out
}

// lists takes a field of one level.
func (t *taker) lists(dst, src *Column) {
	size := int64(src.ElemBytes())
	o := src.Offsets[0]
	dst.Data = t.mem.Alloc(int(dst.Offsets[0][len(t.rows)] * size))
	at := 0
	for i := 0; i < len(t.rows); {
		k := t.run(i)
		r := t.rows[i]
		at += copy(dst.Data[at:], src.Data[o[r]*size:o[int(r)+k-i]*size])
		i = k
	}
}

// nested takes a field of two levels.
func (t *taker) nested(dst, src *Column) {
	outer, inner := src.Offsets[0], src.Offsets[1]
	lists := t.mem.Int64s(int(dst.Offsets[0][len(t.rows)]) + 1)
	lists[0] = 0
	var n int64
	at := 1
	for _, r := range t.rows {
		from := inner[outer[r]]
		for _, end := range inner[outer[r]+1 : outer[r+1]+1] {
			lists[at] = n + end - from
			at++
		}
		n += inner[outer[r+1]] - from
	}
	dst.Offsets[1] = lists
	size := int64(src.ElemBytes())
	dst.Data = t.mem.Alloc(int(n * size))
	done := 0
	for i := 0; i < len(t.rows); {
		k := t.run(i)
		lo, hi := outer[t.rows[i]], outer[int(t.rows[i])+k-i]
		done += copy(dst.Data[done:], src.Data[inner[lo]*size:inner[hi]*size])
		i = k
	}
}
