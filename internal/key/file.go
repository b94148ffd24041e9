package key

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/shardify/shardify"
)

// blockBytes is how many bytes of rows are read at once, about: samples in no order take a read
// for each of them, those in the order of the table one for each block.
const blockBytes = 16 << 10

// file is a table in a file, in blocks of rows by rising key. A block is the number of its
// rows, where each ends, and the rows: key, number, and the values as appendValue writes them.
type file struct {
	in     io.ReaderAt
	text   bool
	signed bool
	blocks []block
	nums   []uint64 // what blocks begin with, in an order that unsigned numbers have
	texts  []string // or texts
	bufs   sync.Pool
}

type block struct {
	at   int64
	size int32
}

// Writer makes a table in a file of rows that come by rising key.
type Writer struct {
	out    io.Writer
	table  *Table
	by     []string
	cols   []shardify.Column // of the first batch, the keys in front
	digest TableSum
	at     int64
	ends   []uint32
	data   []byte
	last   []byte // key, and the row that had it
	row    int64
	block  []byte
}

// NewWriter makes a writer to a file that is read through in.
func NewWriter(by []string, out io.Writer, in io.ReaderAt) *Writer {
	return &Writer{out: out, by: by, table: &Table{file: &file{in: in}}, row: -1}
}

// Add adds rows. number is that of a row in the table.
func (w *Writer) Add(b *shardify.Batch, number func(i int) int64) error {
	t, x := w.table, w.table.file
	var cols []shardify.Column
	rest := slices.Clone(b.Columns)
	for _, name := range w.by {
		k := slices.IndexFunc(rest, func(c shardify.Column) bool { return c.Name == name })
		if k < 0 {
			return shardify.Misuse("there is no field %s", name)
		}
		cols, rest = append(cols, rest[k]), slices.Delete(rest, k, k+1)
	}
	keys, err := t.keysOf(cols, b.Samples, number)
	if err != nil {
		return err
	}
	cols = append(cols, rest...)
	if w.cols == nil {
		w.cols, x.text = cols, keys.Ends != nil
		for _, c := range rest {
			f := c.Field
			if f.Nullable = false; f.Levels > 1 {
				return shardify.Unsupported("%s has lists of lists, which are read within --memory alone", f.Name)
			}
			t.Fields = append(t.Fields, f)
		}
	}
	for i := range t.Fields {
		t.Fields[i].Nullable = t.Fields[i].Nullable || slices.Contains(rest[i].Valid, 0)
	}
	x.signed = keys.Signed
	if int64(t.Rows)+int64(b.Samples) >= math.MaxInt32 {
		return shardify.Unsupported("a table of more than %d rows", math.MaxInt32-1)
	}
	var this []byte
	for i := range b.Samples {
		this = x.appendKey(this[:0], &keys, i)
		d := bytes.Compare(w.last, this)
		if w.row >= 0 && d == 0 {
			return shardify.Mismatch("%s %v", strings.Join(w.by, ","), &Twice{Key: keys.Shown(i), A: int(min(w.row, number(i))), B: int(max(w.row, number(i)))})
		}
		if w.row >= 0 && d > 0 {
			return fmt.Errorf("row %d of a table that is joined comes after a larger key", number(i))
		}
		if len(w.ends) == 0 {
			x.begin(&keys, i, w.last)
		}
		w.last, w.row = append(w.last[:0], this...), number(i)
		w.digest.Row(cols, i, w.row)
		if x.text {
			w.data = binary.LittleEndian.AppendUint32(w.data, uint32(len(this)))
		}
		w.data = append(w.data, this...)
		w.data = binary.LittleEndian.AppendUint32(w.data, uint32(w.row))
		have := len(w.data)
		for k := range rest {
			w.data = appendValue(w.data, &rest[k], i)
		}
		t.bytes += int64(len(w.data) - have)
		if w.ends = append(w.ends, uint32(len(w.data))); len(w.data) >= blockBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	t.Rows += b.Samples
	return nil
}

// appendKey appends a key as bytes whose order is that of the keys.
func (x *file) appendKey(b []byte, keys *Column, i int) []byte {
	if x.text {
		return append(b, keys.Text(i)...)
	}
	return binary.BigEndian.AppendUint64(b, ordered(keys.Nums[i], keys.Signed))
}

// ordered is a number in an order that unsigned numbers have.
func ordered(n uint64, signed bool) uint64 {
	if signed {
		return n ^ 1<<63
	}
	return n
}

// begin begins a block. Of a text only as much is kept as is needed to sort after the last text of
// the block before.
func (x *file) begin(keys *Column, i int, last []byte) {
	if !x.text {
		x.nums = append(x.nums, ordered(keys.Nums[i], keys.Signed))
		return
	}
	text, n := keys.Text(i), 0
	for n < len(text) && n < len(last) && text[n] == last[n] {
		n++
	}
	x.texts = append(x.texts, string(text[:min(n+1, len(text))]))
}

func (w *Writer) flush() error {
	if len(w.ends) == 0 {
		return nil
	}
	b := binary.LittleEndian.AppendUint32(w.block[:0], uint32(len(w.ends)))
	for _, e := range w.ends {
		b = binary.LittleEndian.AppendUint32(b, e)
	}
	b = append(b, w.data...)
	if len(b) > math.MaxInt32 {
		return shardify.Unsupported("a row of %s in a table that is joined", shardify.FormatSize(int64(len(b))))
	}
	x := w.table.file
	x.blocks = append(x.blocks, block{w.at, int32(len(b))})
	w.at += int64(len(b))
	w.block, w.ends, w.data = b, w.ends[:0], w.data[:0]
	_, err := w.out.Write(b)
	return err
}

// Table is the table, once all rows were added.
func (w *Writer) Table() (*Table, error) {
	err := w.flush()
	w.table.Digest = w.digest.Text(w.cols)
	return w.table, err
}

// find finds the rows of keys, and copies them in the order of their keys.
func (x *file) find(f *Found, keys *Column, never []int32, fields []shardify.Field, mem *shardify.Arena) error {
	own := *keys // whose sign becomes that of the table
	keys = &own
	order := x.order(f.Rows, keys, never, mem)
	for i := range f.Rows {
		f.Rows[i] = -1
	}
	f.Used = shardify.View[int32](mem.Alloc(4 * len(order)))[:0]
	r := reading{x: x, block: -1, cols: make([]shardify.Column, len(fields)), mem: mem}
	most := len(order) + 1 // rows, and the one without values
	for i := range fields {
		c := &r.cols[i]
		c.Field, c.Valid = fields[i], mem.Alloc(most)[:0]
		if c.Levels == 0 {
			c.Data = mem.Alloc(most * c.ElemBytes())[:0]
		} else {
			c.Offsets = [][]int64{append(mem.Int64s(most + 1)[:0], 0)}
		}
	}
	buf, _ := x.bufs.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	defer x.bufs.Put(buf)
	r.buf = *buf
	var this, last []byte
	at := int32(-1)
	for n, i := range order {
		if this = x.appendKey(this[:0], keys, int(i)); n == 0 || !bytes.Equal(this, last) {
			ok, err := r.seek(this)
			if err != nil {
				return err
			}
			if at = -1; ok {
				if at = int32(len(f.Used)); !r.add(f) {
					return r.damaged()
				}
			}
			last = append(last[:0], this...)
		}
		f.Rows[i] = at
	}
	*buf = r.buf
	for i := range r.cols {
		c := &r.cols[i]
		c.Valid = append(c.Valid, 0)
		if c.Levels > 0 {
			c.Offsets[0] = append(c.Offsets[0], c.Offsets[0][len(f.Used)])
		} else {
			n := len(c.Data)
			c.Data = c.Data[:n+c.ElemBytes()]
			clear(c.Data[n:])
		}
	}
	f.From = &shardify.Batch{Samples: len(f.Used) + 1, Columns: r.cols}
	for i := range f.Rows {
		if f.Rows[i] < 0 {
			f.Rows[i] = f.None()
		}
	}
	return nil
}

// order is the keys that may have rows, rising.
func (x *file) order(rows []int32, keys *Column, never []int32, mem *shardify.Arena) []int32 {
	order := shardify.View[int32](mem.Alloc(4 * len(rows)))[:0]
	skip := map[int32]bool{}
	for _, i := range never {
		skip[i] = true
	}
	for i := range rows {
		if skip[int32(i)] || !x.text && keys.Signed != x.signed && int64(keys.Nums[i]) < 0 {
			continue
		}
		order = append(order, int32(i))
	}
	less := func(a, b int32) int { return bytes.Compare(keys.Text(int(a)), keys.Text(int(b))) }
	if !x.text {
		keys.Signed = x.signed
		less = func(a, b int32) int {
			return cmp.Compare(ordered(keys.Nums[a], x.signed), ordered(keys.Nums[b], x.signed))
		}
	}
	if !slices.IsSortedFunc(order, less) {
		slices.SortFunc(order, less)
	}
	return order
}

// reading looks for rising keys.
type reading struct {
	x     *file
	mem   *shardify.Arena
	cols  []shardify.Column // what was found
	block int               // that is in buf
	buf   []byte
	row   int // of the block: those before have smaller keys
	rest  []byte
}

// seek reports whether a key has a row, and puts the row into rest, behind the key.
func (r *reading) seek(want []byte) (bool, error) {
	x := r.x
	k := sort.Search(len(x.blocks), func(k int) bool {
		if x.text {
			return x.texts[k] > string(want)
		}
		return x.nums[k] > binary.BigEndian.Uint64(want)
	}) - 1
	if k < 0 {
		return false, nil
	}
	if k != r.block {
		span := x.blocks[k]
		r.block, r.row = k, 0
		r.buf = slices.Grow(r.buf[:0], int(span.size))[:span.size]
		if n, err := x.in.ReadAt(r.buf, span.at); n < len(r.buf) {
			return false, fmt.Errorf("a scratch file of a join: %w", err)
		}
	}
	if len(r.buf) < 4 {
		return false, r.damaged()
	}
	n := int(binary.LittleEndian.Uint32(r.buf))
	if n < r.row || n > len(r.buf)/4-1 {
		return false, r.damaged()
	}
	bad := false
	at := r.row + sort.Search(n-r.row, func(i int) bool {
		have, _, ok := r.record(n, r.row+i)
		bad = bad || !ok
		return bytes.Compare(have, want) >= 0
	})
	if bad {
		return false, r.damaged()
	}
	r.row = at
	if at == n {
		return false, nil
	}
	have, rest, ok := r.record(n, at)
	r.rest = rest
	if !ok {
		return false, r.damaged()
	}
	return bytes.Equal(have, want), nil
}

// record is row i of the n of a block.
func (r *reading) record(n, i int) (key, rest []byte, ok bool) {
	end := func(i int) int { return int(binary.LittleEndian.Uint32(r.buf[4+4*i:])) }
	lo, hi := 0, end(i)
	if i > 0 {
		lo = end(i - 1)
	}
	data := r.buf[4+4*n:]
	if lo > hi || hi > len(data) {
		return nil, nil, false
	}
	data = data[lo:hi]
	size := 8
	if r.x.text {
		if len(data) < 4 {
			return nil, nil, false
		}
		size = int(binary.LittleEndian.Uint32(data))
		data = data[4:]
	}
	if size < 0 || len(data) < size+4 {
		return nil, nil, false
	}
	return data[:size], data[size:], true
}

// add adds the row that was found.
func (r *reading) add(f *Found) bool {
	b := r.rest
	f.Used = append(f.Used, int32(binary.LittleEndian.Uint32(b)))
	b = b[4:]
	for i := range r.cols {
		c := &r.cols[i]
		n := 1
		if len(b) < 1 {
			return false
		}
		c.Valid = append(c.Valid, b[0])
		if b = b[1:]; c.Levels > 0 {
			if len(b) < 4 {
				return false
			}
			n = int(binary.LittleEndian.Uint32(b))
			b = b[4:]
			c.Offsets[0] = append(c.Offsets[0], c.Offsets[0][len(c.Offsets[0])-1]+int64(n))
		}
		if n *= c.ElemBytes(); n > len(b) {
			return false
		}
		if have := len(c.Data); have+n > cap(c.Data) {
			c.Data = append(r.mem.Alloc(2 * (have + n))[:0], c.Data...)
		}
		c.Data, b = append(c.Data, b[:n]...), b[n:]
	}
	return len(b) == 0
}

func (r *reading) damaged() error {
	return shardify.Corrupt(r.x.blocks[max(r.block, 0)].at, "a scratch file of a join")
}
