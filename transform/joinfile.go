package transform

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/key"
)

// joinBlock is how many bytes of rows are read at once, about: samples in no order take a read
// for each of them, those in the order of the table one for each block.
const joinBlock = 16 << 10

// joinFile is a table in a file, in blocks of rows by rising key. A block is the number of its
// rows, where each ends, and the rows: key, number, and the values as appendValue writes them.
type joinFile struct {
	in     io.ReaderAt
	text   bool
	signed bool
	blocks []joinSpan
	nums   []uint64 // first keys of blocks, in an order that unsigned numbers have
	texts  []string // or texts
	bufs   sync.Pool
}

type joinSpan struct {
	at   int64
	size int32
}

// JoinWriter makes a table in a file of rows that come by rising key.
type JoinWriter struct {
	out    io.Writer
	table  *JoinTable
	key    string
	cols   []shardify.Column // of the first batch, the key in front
	digest tableDigest
	at     int64
	ends   []uint32
	data   []byte
	last   []byte // key, and the row that had it
	row    int64
	block  []byte
}

// NewJoinWriter makes a writer to a file that is read through in.
func NewJoinWriter(key string, out io.Writer, in io.ReaderAt) *JoinWriter {
	return &JoinWriter{out: out, key: key, table: &JoinTable{file: &joinFile{in: in}}, row: -1}
}

// Add adds rows. number is that of a row in the table.
func (w *JoinWriter) Add(b *shardify.Batch, number func(i int) int64) error {
	t, x := w.table, w.table.file
	k := slices.IndexFunc(b.Columns, func(c shardify.Column) bool { return c.Name == w.key })
	if k < 0 {
		return shardify.Misuse("there is no field %s", w.key)
	}
	c := &b.Columns[k]
	cols := append([]shardify.Column{*c}, slices.Delete(slices.Clone(b.Columns), k, k+1)...)
	if w.cols == nil {
		if err := key.Check(&c.Field); err != nil {
			return err
		}
		w.cols = cols
		x.text = key.IsText(&c.Field)
		t.text = x.text
		for i := range cols[1:] {
			f := cols[i+1].Field
			if f.Nullable = false; f.Levels > 1 {
				return shardify.Unsupported("%s has lists of lists, which are joined within --memory alone", f.Name)
			}
			t.fields = append(t.fields, f)
		}
	}
	for i := range t.fields {
		t.fields[i].Nullable = t.fields[i].Nullable || slices.Contains(cols[i+1].Valid, 0)
	}
	keys := key.Column{Data: c.Data}
	if x.text {
		keys.Ends = c.Offsets[0]
	} else {
		keys.Nums = make([]uint64, b.Samples)
		var err error
		if keys.Signed, err = key.Numbers(keys.Nums, c, func(i int, _ float64) error {
			return shardify.Mismatch("row %d: %s is no whole number, and no key", number(i), w.key)
		}); err != nil {
			return err
		}
		x.signed = keys.Signed
	}
	if int64(t.rows)+int64(b.Samples) >= math.MaxInt32 {
		return shardify.Unsupported("a table of more than %d rows", math.MaxInt32-1)
	}
	var this []byte
	for i := range b.Samples {
		this = x.appendKey(this[:0], &keys, i)
		d := bytes.Compare(w.last, this)
		if w.row >= 0 && d == 0 {
			return shardify.Mismatch("%s %v", w.key, &key.Twice{Key: keys.Shown(i), A: int(min(w.row, number(i))), B: int(max(w.row, number(i)))})
		}
		if w.row >= 0 && d > 0 {
			return fmt.Errorf("row %d of a table that is joined stands behind a larger key", number(i))
		}
		w.last, w.row = append(w.last[:0], this...), number(i)
		if len(w.ends) == 0 {
			x.begin(&keys, i)
		}
		w.digest.row(cols, i, w.row)
		if x.text {
			w.data = binary.LittleEndian.AppendUint32(w.data, uint32(len(this)))
		}
		w.data = append(w.data, this...)
		w.data = binary.LittleEndian.AppendUint32(w.data, uint32(w.row))
		for k := range cols[1:] {
			w.data = appendValue(w.data, &cols[k+1], i)
		}
		if w.ends = append(w.ends, uint32(len(w.data))); len(w.data) >= joinBlock {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	t.rows += b.Samples
	return nil
}

// appendKey appends a key as bytes whose order is that of the keys.
func (x *joinFile) appendKey(b []byte, keys *key.Column, i int) []byte {
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

func (x *joinFile) begin(keys *key.Column, i int) {
	if x.text {
		x.texts = append(x.texts, string(keys.Text(i)))
	} else {
		x.nums = append(x.nums, ordered(keys.Nums[i], keys.Signed))
	}
}

func (w *JoinWriter) flush() error {
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
	x.blocks = append(x.blocks, joinSpan{w.at, int32(len(b))})
	w.at += int64(len(b))
	w.block, w.ends, w.data = b, w.ends[:0], w.data[:0]
	_, err := w.out.Write(b)
	return err
}

// Table is the table, once all rows were added.
func (w *JoinWriter) Table() (*JoinTable, error) {
	err := w.flush()
	w.table.Digest = w.digest.text(w.cols)
	return w.table, err
}

// find finds the rows of keys, and copies them in the order of their keys.
func (x *joinFile) find(f *found, keys *key.Column, never []int32, fields []shardify.Field, mem *shardify.Arena) error {
	order := x.order(f.rows, keys, never)
	for i := range f.rows {
		f.rows[i] = -1
	}
	r := joinRead{x: x, block: -1, fields: fields, cols: make([]shardify.Column, len(fields))}
	for i := range fields {
		r.cols[i].Field = fields[i]
		if r.cols[i].Valid = []byte{}; fields[i].Levels > 0 {
			r.cols[i].Offsets = [][]int64{{0}}
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
				if at = int32(len(f.used)); !r.take(f) {
					return r.damaged()
				}
			}
			last = append(last[:0], this...)
		}
		f.rows[i] = at
	}
	*buf = r.buf
	for i := range r.cols {
		c := &r.cols[i]
		c.Valid = append(c.Valid, 0)
		if c.Levels > 0 {
			c.Offsets[0] = append(c.Offsets[0], c.Offsets[0][len(f.used)])
		} else {
			c.Data = append(c.Data, make([]byte, c.ElemBytes())...)
		}
		data := mem.Alloc(len(c.Data)) // aligned
		copy(data, c.Data)
		c.Data = data
	}
	f.from = &shardify.Batch{Samples: len(f.used) + 1, Columns: r.cols}
	for i := range f.rows {
		if f.rows[i] < 0 {
			f.rows[i] = f.none()
		}
	}
	return nil
}

// order is the keys that may have rows, rising.
func (x *joinFile) order(rows []int32, keys *key.Column, never []int32) []int32 {
	order := make([]int32, 0, len(rows))
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

// joinRead looks for rising keys.
type joinRead struct {
	x      *joinFile
	fields []shardify.Field
	cols   []shardify.Column // what was found
	block  int               // that is in buf
	buf    []byte
	row    int // of the block: those before have smaller keys
	rest   []byte
}

// seek tells whether a key has a row, and puts it into rest, behind the key.
func (r *joinRead) seek(want []byte) (bool, error) {
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
func (r *joinRead) record(n, i int) (key, rest []byte, ok bool) {
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

// take adds the row that was found.
func (r *joinRead) take(f *found) bool {
	b := r.rest
	f.used = append(f.used, int32(binary.LittleEndian.Uint32(b)))
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
		c.Data, b = append(c.Data, b[:n]...), b[n:]
	}
	return len(b) == 0
}

func (r *joinRead) damaged() error {
	return shardify.Corrupt(r.x.blocks[max(r.block, 0)].at, "a scratch file of a join")
}
