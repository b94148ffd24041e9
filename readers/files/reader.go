package files

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage/local/dirfd"
)

// reader reads spans: a pass over the sizes, then one over the files, each
// straight into its place in a column.
type reader struct {
	*source
	dir     *dir   // the folder that the last file was in
	key     []byte // its name in dirs
	rel     []byte // and below its root
	root    int
	name    dirfd.Name
	noatime bool
	pace    dirfd.Pace
	place   []int   // of each field that is a value, among those of a sample
	values  int     // of a sample
	sizes   []int64 // of the span's files
	cols    []column
	ext     []byte
	label   []byte // of the last sample
	code    int64
}

// column is one that is being filled.
type column struct {
	data  []byte // a byte longer than the values: what proves the end of the last one
	pos   int64
	off   []int64
	valid []byte
	codes []int64
}

func newReader(s *source) *reader {
	r := &reader{source: s, root: -1, noatime: true, cols: make([]column, len(s.fields)), place: make([]int, len(s.fields)), code: -1}
	for j, f := range s.fields {
		if f.role == value {
			r.place[j] = r.values
			r.values++
		}
	}
	return r
}

// checkEvery is how many samples are read between looks at the context.
const checkEvery = 32

func (r *reader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if s.Input != 0 || s.Run != 0 || s.Lo < r.m.base || s.Hi < s.Lo || s.Hi > r.m.end() {
		return nil, fmt.Errorf("span %+v of samples %d to %d of files", s, r.m.base, r.m.end())
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := r.measure(ctx, s); err != nil {
		return nil, err
	}
	r.allocate(s, mem)
	r.pace.Begin()
	sizes := r.sizes
	for k := s.Lo; k < s.Hi; k++ {
		if (k-s.Lo)%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := r.sample(ctx, k, k-s.Lo, sizes); err != nil {
			return nil, err
		}
		sizes = sizes[r.values:]
	}
	return r.batch(s, mem), nil
}

// measure finds the sizes of the span's files and of each column.
func (r *reader) measure(ctx context.Context, s shardify.Span) error {
	r.sizes = r.sizes[:0]
	for i := range r.cols {
		r.cols[i] = column{}
	}
	for k := s.Lo; k < s.Hi; k++ {
		for j, f := range r.fields {
			if f.role != value {
				continue
			}
			i := r.m.file(k, f.member)
			if i == none {
				r.sizes = append(r.sizes, 0)
				continue
			}
			n := r.names.Table.Size(int(i))
			if n == shardify.SizeUnknown {
				var err error
				if n, err = r.stat(ctx, int(i)); err != nil {
					return r.fail(err, int(i), j, k)
				}
			}
			r.sizes = append(r.sizes, n)
			r.cols[j].pos += n
		}
	}
	return nil
}

// allocate takes the columns' buffers from mem.
func (r *reader) allocate(s shardify.Span, mem *shardify.Arena) {
	n := int(s.Samples())
	for j := range r.cols {
		c := &r.cols[j]
		switch r.fields[j].role {
		case label:
			c.codes = mem.Int64s(n)
		case ext:
			c.data = mem.Alloc(n)
		case joined:
		default:
			c.data = mem.Alloc(int(c.pos) + 1)
			c.off = mem.Int64s(n + 1)
			c.off[0] = 0
			if r.schema[j].Nullable {
				c.valid = mem.Alloc(n)
			}
		}
		c.pos = 0
	}
}

// sample reads sample k into place at of the columns; sizes begin with its own.
func (r *reader) sample(ctx context.Context, k, at int64, sizes []int64) error {
	for j, f := range r.fields {
		c := &r.cols[j]
		switch f.role {
		case label:
			c.codes[at] = r.class(k)
		case ext:
			c.data[at] = r.typeCode(k, f.member)
		case joined:
		default:
			if err := r.value(ctx, k, at, j, c.data[c.pos:c.pos+sizes[r.place[j]]+1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// value reads the file of field j of sample k, if it has one, into all of dst but
// its last byte.
func (r *reader) value(ctx context.Context, k, at int64, j int, dst []byte) error {
	c := &r.cols[j]
	i := r.m.file(k, r.fields[j].member)
	if c.valid != nil {
		c.valid[at] = 0
	}
	if i != none {
		if c.valid != nil {
			c.valid[at] = 1
		}
		if err := r.file(ctx, int(i), dst); err != nil {
			return r.fail(err, int(i), j, k)
		}
		if r.fields[j].text {
			if err := shardify.CheckText(dst[:len(dst)-1]); err != nil {
				return r.fail(err, int(i), j, k)
			}
		}
		c.pos += int64(len(dst)) - 1
	}
	c.off[at+1] = c.pos
	return nil
}

// class is the number of the sample's first folder.
func (r *reader) class(k int64) int64 {
	if l := r.names.Class(r.m.named(k)); r.code < 0 || !bytes.Equal(l, r.label) {
		r.label = append(r.label[:0], l...)
		r.code = r.codes[string(l)]
	}
	return r.code
}

// typeCode tells which of the member's types the sample's file has.
func (r *reader) typeCode(k int64, member int) byte {
	i := r.m.file(k, member)
	if i == none {
		return 0
	}
	_, _, e := r.names.Split(r.names.Rel(int(i)))
	r.ext = normalise(r.ext[:0], e)
	for code, t := range r.Members[member].Exts {
		if string(r.ext) == t {
			return byte(code)
		}
	}
	return 0
}

// batch hands out what was filled.
func (r *reader) batch(s shardify.Span, mem *shardify.Arena) *shardify.Batch {
	b := mem.Batch(len(r.fields))
	b.Samples = int(s.Samples())
	b.First = shardify.ID{Sample: s.Lo}
	for j := range r.cols {
		c := &r.cols[j]
		col := shardify.Column{Field: r.schema[j], Valid: c.valid}
		switch r.fields[j].role {
		case label:
			col.Data = shardify.Bytes(c.codes)
		case ext:
			col.Data = c.data
		case joined:
			col = r.joined[r.fields[j].member].Batch(s.Lo, s.Hi, mem)
		default:
			col.Data = c.data[:c.pos]
			col.Offsets = [][]int64{c.off}
		}
		b.Columns = append(b.Columns, col)
	}
	b.Keys = r.keys(s, mem)
	return b
}

func (r *reader) keys(s shardify.Span, mem *shardify.Arena) *shardify.Column {
	total := 0
	for k := s.Lo; k < s.Hi; k++ {
		total += r.keyLen(k)
	}
	data, off := mem.Alloc(total)[:0], mem.Int64s(int(s.Samples())+1)
	off[0] = 0
	for k := s.Lo; k < s.Hi; k++ {
		data = r.appendKey(data, k)
		off[k-s.Lo+1] = int64(len(data))
	}
	return &shardify.Column{
		Field: shardify.Field{Name: "__key__", DType: shardify.U8, Levels: 1, Media: "txt"},
		Data:  data, Offsets: [][]int64{off},
	}
}

func (r *reader) Close() error {
	r.leave(false)
	r.sizes, r.cols = nil, nil
	return nil
}
