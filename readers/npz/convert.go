package npz

import (
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/readers/internal/rows/coltype"
)

// output is one column that is being filled.
type output struct {
	leaf *npy.Leaf
	data []byte
	pos  int // bytes of data that are filled
	// wide is what the values become if they get another type. data is its end.
	wide []byte
	// offs are the ends of texts, with a leading 0; texts counts them.
	offs  []int64
	texts int
}

// badValue is a value that cannot be delivered, in an item that counts from the
// start of the span.
type badValue struct {
	item  int64
	field string
	what  string
}

func (e *badValue) Error() string { return e.what }

// Unwrap makes it damage.
func (e *badValue) Unwrap() error { return shardify.ErrCorrupt }

// outputs allocates what the wanted leaves of so many items become. Texts take
// at most the bytes that they take in the file.
func (j *job) outputs(c int, r *region, items int64) []output {
	out := make([]output, len(j.group.columns[c].wanted))
	for i := range out {
		w := &j.group.columns[c].wanted[i]
		l := &r.item.Leaves[w.leaf]
		values := items * int64(l.Values())
		stored := values * int64(l.Scalar.Size)
		wide := j.mem.Alloc(int(w.wide(l, stored)))
		out[i] = output{leaf: l, data: wide[int64(len(wide))-stored:], wide: wide}
		if l.Scalar.IsText() {
			out[i].offs = j.mem.Int64s(int(values) + 1)
			out[i].offs[0] = 0
		}
	}
	return out
}

// deliver adds the filled outputs to the batch, as the next columns of the
// schema.
func (j *job) deliver(c int, out []output) {
	b := j.batch
	samples := int(j.span.Samples())
	for i := range out {
		o := &out[i]
		col := shardify.Column{Field: j.src.schema[len(b.Columns)], Data: o.data[:o.pos]}
		if from, _ := o.leaf.Scalar.DType(); from != col.DType {
			coltype.Widen(o.wide, col.Data, col.DType, from)
			col.Data = o.wide
		}
		switch {
		case col.Levels == 2:
			col.Offsets = [][]int64{j.even(samples, o.texts), o.offs}
		case o.offs != nil:
			col.Offsets = [][]int64{o.offs}
		case col.Ragged:
			col.Offsets = [][]int64{j.even(samples, len(col.Data)/max(col.ElemBytes(), 1))}
		}
		b.Columns = append(b.Columns, col)
		if col.Ragged {
			b.Columns = append(b.Columns, j.shapeColumn(c))
		}
	}
}

// even gives offsets of so many lists of equal length.
func (j *job) even(lists, elements int) []int64 {
	o := j.mem.Int64s(lists + 1)
	for i := range o {
		o[i] = int64(i) * int64(elements/lists)
	}
	return o
}

// shapeColumn is the companion of a ragged column. Files are samples, so there
// is one.
func (j *job) shapeColumn(c int) shardify.Column {
	shape := j.group.shape(j.fileIndex, c)
	v := j.mem.Int64s(len(shape))
	copy(v, shape)
	return shardify.Column{Field: j.src.schema[len(j.batch.Columns)], Data: shardify.Bytes(v)}
}

// convert reads rows in the order of the file into the outputs.
func (j *job) convert(src feed, r *region, rows int64, out []output) error {
	if r.turned() {
		slab := j.mem.Alloc(int(rows * r.rowBytes))
		if err := src.fill(slab); err != nil {
			return err
		}
		return j.turn(slab, r, rows, out)
	}
	if r.item.Plain() {
		return fillPlain(src, &out[0])
	}
	items, size := rows*r.perRow, int64(r.item.Size)
	if size == 0 {
		return takeItems(out, nil, 0, items)
	}
	buf := j.buffer(0)
	if size > int64(len(buf)) {
		buf = j.mem.Alloc(int(size))
	}
	for items > 0 {
		n := min(items, int64(len(buf))/size)
		if err := src.fill(buf[:n*size]); err != nil {
			return err
		}
		if err := takeItems(out, buf[:n*size], int(size), n); err != nil {
			return err
		}
		items -= n
	}
	return nil
}

// fillPlain reads values straight into their column, and repairs them there
// while they are in the cache.
func fillPlain(src feed, o *output) error {
	step := len(o.data)
	if o.leaf.Scalar.Repairs() {
		step = chunkBytes // a multiple of every value's size
	}
	for o.pos < len(o.data) {
		p := o.data[o.pos:min(o.pos+step, len(o.data))]
		if err := src.fill(p); err != nil {
			return err
		}
		o.leaf.Scalar.Repair(p)
		o.pos += len(p)
	}
	return nil
}

// takeItems appends n items of size bytes to the outputs.
func takeItems(out []output, items []byte, size int, n int64) error {
	for i := range out {
		o := &out[i]
		if o.leaf.Scalar.IsText() {
			if err := o.takeTexts(items, size, int(n)); err != nil {
				return err
			}
			continue
		}
		got := int(n) * len(o.leaf.Runs) * o.leaf.RunBytes
		p := o.data[o.pos : o.pos+got]
		npy.Gather(p, items, size, o.leaf)
		o.leaf.Scalar.Repair(p)
		o.pos += got
	}
	return nil
}

// takeTexts appends the texts of n items.
func (o *output) takeTexts(items []byte, size, n int) error {
	l := o.leaf
	perRun := l.Values() / max(len(l.Runs), 1)
	for i := range n {
		for _, at := range l.Runs {
			at += i * size
			for range perRun {
				v := items[at : at+l.Scalar.Size]
				at += l.Scalar.Size
				if l.Scalar.Kind == 'S' {
					o.pos += copy(o.data[o.pos:], v[:npy.TextEnd(v, 1)])
				} else if r, ok := o.takeUTF32(v); !ok {
					return &badValue{int64(o.texts / l.Values()), l.Name, fmt.Sprintf("text has the code %#x, which is not a character", r)}
				}
				o.texts++
				o.offs[o.texts] = int64(o.pos)
			}
		}
	}
	return nil
}

// takeUTF32 appends a text of 32-bit codes as UTF-8.
func (o *output) takeUTF32(v []byte) (code uint32, ok bool) {
	v = v[:npy.TextEnd(v, 4)]
	for ; len(v) >= 4; v = v[4:] {
		code = le.Uint32(v)
		if o.leaf.Scalar.Big {
			code = bits.ReverseBytes32(code)
		}
		if code < utf8.RuneSelf {
			o.data[o.pos] = byte(code)
			o.pos++
			continue
		}
		if code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
			return code, false
		}
		o.pos += utf8.EncodeRune(o.data[o.pos:], rune(code))
	}
	return 0, true
}
