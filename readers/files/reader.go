package files

import (
	"bytes"
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/readers/internal/exts"
	"github.com/shardify/shardify/readers/internal/labels"
	"github.com/shardify/shardify/storage/local/dirfd"
)

// reader reads spans: a pass over the sizes, then one over the files, each
// straight into its place in a column or frame.
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
	frame   []byte // of a span that has one
	at      int64  // in frame
	ext     []byte
	label   []byte // of the last sample
	joined  labels.Cursor
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
	r := &reader{source: s, root: -1, noatime: true, cols: make([]column, len(s.fields)), place: make([]int, len(s.fields)), code: -1, joined: labels.Cursor{Values: s.joined}}
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
	if s.Frame != nil && !r.fits(s.Frame) {
		s.Frame = nil
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
		if err := r.sample(ctx, k, k-s.Lo, sizes, s.Frame); err != nil {
			return nil, err
		}
		sizes = sizes[r.values:]
	}
	return r.batch(s, mem)
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
			n := r.files.Table.Size(int(i))
			if n == format.SizeUnknown {
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
	r.frame, r.at = nil, 0
	if s.Frame != nil {
		r.frame, r.at = mem.Alloc(int(r.frameBytes(s))+1), int64(s.Frame.Lead)
	}
	for j := range r.cols {
		c := &r.cols[j]
		switch r.fields[j].role {
		case label:
			c.codes = mem.Int64s(n)
		case ext:
			c.data = mem.Alloc(n)
		case joined:
		default:
			if r.frame == nil {
				c.data = mem.Alloc(int(c.pos) + 1)
			}
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
func (r *reader) sample(ctx context.Context, k, at int64, sizes []int64, frame *shardify.Frame) error {
	for j, f := range r.fields {
		c := &r.cols[j]
		switch f.role {
		case label:
			c.codes[at] = r.class(k)
		case ext:
			c.data[at] = r.typeCode(k, f.member)
		case joined:
		default:
			if frame != nil {
				continue
			}
			if err := r.value(ctx, k, at, j, c.data[c.pos:c.pos+sizes[r.place[j]]+1]); err != nil {
				return err
			}
		}
	}
	if frame == nil {
		return nil
	}
	for _, v := range frame.Values {
		n := sizes[r.place[v.Field]]
		r.at += int64(v.Before)
		if err := r.value(ctx, k, at, v.Field, r.frame[r.at:r.at+n+1]); err != nil {
			return err
		}
		r.at += frame.End(0, n)
	}
	r.at += int64(frame.After)
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
			if err := format.CheckText(dst[:len(dst)-1]); err != nil {
				return r.fail(err, int(i), j, k)
			}
		}
		c.pos += int64(len(dst)) - 1
	}
	c.off[at+1] = c.pos
	return nil
}

// fits reports whether a frame has a place for every value, and for nothing else.
func (r *reader) fits(f *shardify.Frame) bool {
	seen := make([]bool, len(r.fields))
	for _, v := range f.Values {
		if v.Field >= len(r.fields) || r.fields[v.Field].role != value || seen[v.Field] {
			return false
		}
		seen[v.Field] = true
	}
	return len(f.Values) == r.values
}

// Fit counts by the planned sizes.
func (r *reader) Fit(s shardify.Span, n int64) int64 {
	if s.Lo < r.m.base || s.Hi > r.m.end() || !r.fits(s.Frame) {
		return s.Samples()
	}
	k := s.Lo
	for ; k < s.Hi && n > 0; k++ {
		for _, v := range s.Frame.Values {
			size := int64(0)
			if i := r.m.file(k, r.fields[v.Field].member); i != none {
				size = r.planned(int(i))
			}
			n -= int64(v.Before) + s.Frame.End(0, size)
		}
		n -= int64(s.Frame.After)
	}
	return k - s.Lo
}

// frameBytes is the size of the frame of a span that is measured.
func (r *reader) frameBytes(s shardify.Span) int64 {
	f, sizes := s.Frame, r.sizes
	n := int64(f.Lead) + int64(f.After)*s.Samples()
	for range s.Samples() {
		for _, v := range f.Values {
			n += int64(v.Before) + f.End(0, sizes[r.place[v.Field]])
		}
		sizes = sizes[r.values:]
	}
	return n
}

// class is the number of the sample's first folder.
func (r *reader) class(k int64) int64 {
	if l := r.names.Class(r.m.named(k)); r.code < 0 || !bytes.Equal(l, r.label) {
		r.label = append(r.label[:0], l...)
		r.code = r.codes[string(l)]
	}
	return r.code
}

// typeCode returns which of the member's types the sample's file has.
func (r *reader) typeCode(k int64, member int) byte {
	i := r.m.file(k, member)
	if i == none {
		return 0
	}
	_, _, e := r.names.Split(int(i))
	r.ext = exts.Normalise(r.ext[:0], e)
	for code, t := range r.Members[member].Exts {
		if string(r.ext) == t {
			return byte(code)
		}
	}
	return 0
}

// batch returns what was filled.
func (r *reader) batch(s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	var joins []shardify.Column
	if r.columns != nil {
		var err error
		if joins, err = r.joined.Batch(s.Lo, s.Hi, r.columns, mem); err != nil {
			return nil, err
		}
	}
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
			col, joins = joins[0], joins[1:]
		default:
			if col.Framed = r.frame != nil; !col.Framed {
				col.Data = c.data[:c.pos]
			}
			col.Offsets = [][]int64{c.off}
		}
		b.Columns = append(b.Columns, col)
	}
	if r.frame != nil {
		b.Frame, b.Framed = s.Frame, r.frame[:r.at]
	}
	b.Keys = r.keys(s, mem)
	return b, nil
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
