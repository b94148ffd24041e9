package files

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/internal/walk"
	"github.com/shardify/shardify/internal/walk/dirfd"
)

// reader reads spans: a pass over the sizes, then one over the files, each
// straight into its column.
type reader struct {
	*source
	dir     *dir   // the folder that the last file was in
	key     []byte // its name in dirs
	rel     []byte // and below its root
	root    int
	name    dirfd.Name
	noatime bool
	sizes   []int64 // of the span's files, in the order in which they are read
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
	return &reader{source: s, root: -1, noatime: true, cols: make([]column, len(s.fields)), code: -1}
}

// checkEvery is how many samples are read between looks at the context.
const checkEvery = 32

func (r *reader) Read(ctx context.Context, s shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if s.Input != 0 || s.Run != 0 || s.Lo < 0 || s.Hi < s.Lo || s.Hi > int64(r.m.samples) {
		return nil, fmt.Errorf("span %+v of %d samples of files", s, r.m.samples)
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := r.measure(ctx, s); err != nil {
		return nil, err
	}
	r.allocate(s, mem)
	sizes := r.sizes
	for k := s.Lo; k < s.Hi; k++ {
		if (k-s.Lo)%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		n, err := r.sample(ctx, k, k-s.Lo, sizes)
		if err != nil {
			return nil, err
		}
		sizes = sizes[n:]
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
			n := r.names.table.Size(int(i))
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

// sample reads sample k into place at of the columns and returns how many sizes
// it used.
func (r *reader) sample(ctx context.Context, k, at int64, sizes []int64) (used int, err error) {
	for j, f := range r.fields {
		c := &r.cols[j]
		switch f.role {
		case label:
			c.codes[at] = r.class(k)
			continue
		case ext:
			c.data[at] = r.typeCode(k, f.member)
			continue
		}
		i, n := r.m.file(k, f.member), sizes[used]
		used++
		if c.valid != nil {
			c.valid[at] = 0
		}
		if i != none {
			if c.valid != nil {
				c.valid[at] = 1
			}
			if err := r.file(ctx, int(i), c.data[c.pos:c.pos+n+1]); err != nil {
				return 0, r.fail(err, int(i), j, k)
			}
			c.pos += n
		}
		c.off[at+1] = c.pos
	}
	return used, nil
}

// class is the number of the sample's first folder.
func (r *reader) class(k int64) int64 {
	if l := r.names.label(r.m.named(k)); r.code < 0 || !bytes.Equal(l, r.label) {
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
	_, _, e := r.names.split(r.names.rel(int(i)))
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

// retries is how often a file is opened anew after an error that a network file
// system gives for a moment.
const retries = 3

var backoff = [retries]time.Duration{50 * time.Millisecond, 250 * time.Millisecond, time.Second}

// again calls do until it gives no transient error.
func (r *reader) again(ctx context.Context, do func() error) error {
	for try := 0; ; try++ {
		err := do()
		if err == nil || try == retries || !dirfd.Transient(err) {
			return err
		}
		r.leave(true)
		select {
		case <-time.After(backoff[try]):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// file fills all of dst but its last byte with the content of file i.
func (r *reader) file(ctx context.Context, i int, dst []byte) error {
	if err := r.once(i, dst); err != nil {
		if !dirfd.Transient(err) {
			return err
		}
		return r.again(ctx, func() error { return r.once(i, dst) })
	}
	return nil
}

func (r *reader) once(i int, dst []byte) error {
	if err := r.enter(i); err != nil {
		return err
	}
	h, err := r.dir.OpenFile(&r.name, r.noatime)
	if err != nil && r.noatime && dirfd.Refused(err) {
		r.noatime = false
		h, err = r.dir.OpenFile(&r.name, false)
	}
	if err != nil {
		return err
	}
	err = fill(h, dst)
	h.Close()
	if errors.Is(err, syscall.EISDIR) {
		return dirfd.ErrNotFile
	}
	return err
}

// maxRead bounds one read: the kernel gives no more than 2 GiB, and a read that
// it cut short must not be taken for the end.
const maxRead = 1 << 30

// fill reads a file of len(dst)-1 bytes. It asks for a byte more than there
// should be: not to get it is the proof that the file ends here, without a stat
// or a further read.
func fill(h dirfd.Handle, dst []byte) error {
	size, got := len(dst)-1, 0
	for {
		ask := min(len(dst)-got, maxRead)
		n, err := h.Read(dst[got : got+ask])
		if err != nil {
			return err
		}
		got += n
		switch {
		case got > size, n == 0 && got < size:
			return changed(h, int64(size))
		case got == size && n < ask:
			return nil
		}
	}
}

// changed says what a file is that is not what was planned.
func changed(h dirfd.Handle, planned int64) error {
	info, err := h.Info()
	switch {
	case err != nil:
		return err
	case info.Type != dirfd.File:
		return dirfd.ErrNotFile
	case info.Size == planned:
		return fmt.Errorf("read other than the %d bytes it has: %w", planned, ErrChanged)
	}
	return fmt.Errorf("%d bytes, planned %d: %w", info.Size, planned, ErrChanged)
}

// stat finds the size of a file that the plan does not know.
func (r *reader) stat(ctx context.Context, i int) (size int64, err error) {
	err = r.again(ctx, func() error {
		if err := r.enter(i); err != nil {
			return err
		}
		info, err := r.dir.Stat(&r.name)
		switch {
		case err != nil:
			return err
		case info.Type != dirfd.File:
			return dirfd.ErrNotFile
		case info.Size > maxFile:
			return tooLarge(info.Size)
		}
		size = info.Size
		return nil
	})
	return size, err
}

// enter opens the folder of file i, if the reader is not there already, and
// sets the file's name.
func (r *reader) enter(i int) error {
	rel, root := r.names.rel(i), r.names.table.Root(i)
	d := bytes.LastIndexByte(rel, '/') + 1
	r.name.Set(rel[d:])
	if r.dir != nil && root == r.root && bytes.Equal(rel[:d], r.rel) {
		return nil
	}
	r.leave(false)
	r.key = append(binary.LittleEndian.AppendUint32(r.key[:0], uint32(root)), rel[:d]...)
	dir, err := r.dirs.hold(r.key, func() string { return r.names.folder(root, rel[:d]) })
	if err != nil {
		return reasonOf(err)
	}
	r.dir, r.root, r.rel = dir, root, append(r.rel[:0], rel[:d]...)
	return nil
}

// leave gives up the folder; after an error it must not be used again.
func (r *reader) leave(forget bool) {
	if r.dir == nil {
		return
	}
	if forget {
		r.dirs.forget(r.dir)
	}
	r.dirs.release(r.dir)
	r.dir = nil
}

func (r *reader) fail(err error, i, j int, sample int64) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	err = reasonOf(err)
	if errors.Is(err, dirfd.ErrNotFile) {
		err = fmt.Errorf("%w any more: %w", err, ErrChanged)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("gone: %w: %w", ErrChanged, err)
	}
	e := &shardify.Error{Op: "read", File: walk.Quote(r.names.table.Path(i)), Field: r.schema[j].Name, Sample: sample, Offset: -1, Err: err}
	var inner *shardify.Error
	if errors.As(err, &inner) {
		e.Err = inner.Err
	}
	return e
}

// reasonOf drops the path that a file system error repeats.
func reasonOf(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (r *reader) Close() error {
	r.leave(false)
	r.sizes, r.cols = nil, nil
	return nil
}
