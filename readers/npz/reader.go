package npz

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/npz/internal/members"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/zips"
)

// Reader implements shardify.Source.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	return &reader{src: s, run: run, open: make([]openFile, len(s.groups))}, nil
}

// reader reads spans. It holds at most one file of each group open.
type reader struct {
	src     *source
	run     uint32
	open    []openFile
	scratch []byte
	closed  bool
}

// openFile is a file that spans are being read from.
type openFile struct {
	f       storage.File
	index   int               // in the group's files
	streams []*members.Stream // by column; nil until a compressed column is read
	whole   []bool            // by column: its sum was checked by a pass of its own
	packed  int               // wanted columns that are compressed
}

func (o *openFile) close() error {
	for _, s := range o.streams {
		s.Close()
	}
	f := o.f
	*o = openFile{}
	if f == nil {
		return nil
	}
	return f.Close()
}

// Close implements shardify.Reader.
func (r *reader) Close() (err error) {
	for i := range r.open {
		err = errors.Join(err, r.open[i].close())
	}
	r.closed = true
	return err
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("npz: Read after Close")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at, err := r.locate(sp)
	if err != nil {
		return nil, err
	}
	b := mem.Batch(len(r.src.schema))
	b.Samples = int(sp.Samples())
	b.First = shardify.ID{Input: sp.Input, Sample: sp.Lo}
	job := job{reader: r, ctx: ctx, span: sp, mem: mem, batch: b}
	first := r.src.groups[0].files[at[0]].first + sp.Lo
	for i, g := range r.src.groups {
		job.group, job.fileIndex, job.file = g, at[i], &r.open[i]
		job.lo = first - g.files[at[i]].first
		if err := job.read(); err != nil {
			r.open[i].close() // a decoder stopped anywhere is of no use
			return nil, shardify.Annotate(err, "read", r.src.table.Shown(int(g.files[at[i]].input)), "")
		}
		job.object += uint32(len(g.columns))
	}
	if err := r.src.named.Finish(b, sp.Input, mem); err != nil {
		return nil, shardify.Annotate(err, "read", r.src.table.Shown(int(sp.Input)), "")
	}
	return b, nil
}

// locate checks a span and finds the file of each group that it is in.
func (r *reader) locate(sp shardify.Span) ([]int, error) {
	wrong := func(what string, args ...any) error {
		return fmt.Errorf("npz: span [%d, %d) of input %d, run %d: %s", sp.Lo, sp.Hi, sp.Input, sp.Run, fmt.Sprintf(what, args...))
	}
	files := r.src.groups[0].files
	k := sort.Search(len(files), func(k int) bool { return files[k].input >= sp.Input })
	switch {
	case k == len(files) || files[k].input != sp.Input:
		return nil, wrong("no such input")
	case sp.Lo < 0 || sp.Hi <= sp.Lo || sp.Hi > files[k].samples:
		return nil, wrong("the input has %d samples", files[k].samples)
	case sp.Run != files[k].run || r.run != sp.Run:
		return nil, wrong("the input is of run %d, the reader of run %d", files[k].run, r.run)
	}
	at := make([]int, len(r.src.groups))
	at[0] = k
	lo, hi := files[k].first+sp.Lo, files[k].first+sp.Hi
	for i := 1; i < len(at); i++ {
		fs := r.src.groups[i].files
		at[i] = sort.Search(len(fs), func(k int) bool { return fs[k].first+fs[k].samples > lo })
		if at[i] == len(fs) || hi > fs[at[i]].first+fs[at[i]].samples {
			return nil, wrong("crosses a border of %s", r.src.table.Roots[i])
		}
	}
	return at, nil
}

// job is the reading of one span from one group.
type job struct {
	*reader
	ctx       context.Context
	span      shardify.Span
	mem       *shardify.Arena
	batch     *shardify.Batch
	group     *group
	fileIndex int
	file      *openFile
	lo        int64 // first sample in the file
	object    uint32
}

func (j *job) read() error {
	if !j.group.delivers() {
		return nil
	}
	if err := j.openFile(); err != nil {
		return err
	}
	for c := range j.group.columns {
		if len(j.group.columns[c].wanted) == 0 {
			continue
		}
		if err := j.column(c); err != nil {
			return shardify.Annotate(j.locateError(err, c), "read", "", j.objectName(c))
		}
	}
	return nil
}

// objectName is the member of a column; an .npy file has none.
func (j *job) objectName(c int) string {
	if j.group.parts[j.fileIndex*len(j.group.columns)+c].flags&hasSum == 0 {
		return ""
	}
	return j.group.columns[c].key + ".npy"
}

// locateError turns a sample that counts from the start of the span into one of
// the input.
func (j *job) locateError(err error, c int) error {
	var bad *badValue
	if !errors.As(err, &bad) {
		return err
	}
	e := shardify.Corrupt(-1, "%s", bad.what)
	e.Sample = j.span.Lo
	if r := j.group.region(j.fileIndex, c, j.src.byFile); !j.src.byFile && r.perRow > 0 {
		e.Sample += bad.item / r.perRow
	}
	if e.Field = bad.field; e.Field == j.group.columns[c].key {
		e.Field = ""
	}
	return e
}

// openFile makes the span's file the open one and checks that it is still what
// the survey saw.
func (j *job) openFile() error {
	if j.file.f != nil && j.file.index == j.fileIndex {
		return nil
	}
	if err := j.file.close(); err != nil {
		return err
	}
	info := &j.group.files[j.fileIndex]
	name := j.src.table.Path(int(info.input))
	f, err := storages.Of(j.src.table).Open(j.ctx, name)
	if errors.Is(err, storage.ErrNotFile) {
		return fmt.Errorf("%w: it is %w now", shardify.ErrChanged, storage.ErrNotFile)
	}
	if err == nil && f.Size() != info.size {
		f.Close()
		err = fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, f.Size(), info.size)
	}
	if err != nil {
		return err
	}
	n := len(j.group.columns)
	*j.file = openFile{f: f, index: j.fileIndex, streams: make([]*members.Stream, n), whole: make([]bool, n)}
	for c := range j.group.columns {
		p := &j.group.parts[j.fileIndex*n+c]
		if len(j.group.columns[c].wanted) == 0 {
			continue
		}
		if p.method != zips.Stored {
			j.file.packed++
			continue
		}
		head := j.buffer(int(p.head))[:p.head]
		if n, err := f.ReadAt(head, p.off); n < len(head) {
			if err == io.EOF || err == nil {
				err = shardify.Corrupt(p.off+int64(n), "truncated while it was read")
			}
			return err
		}
		if crc32.ChecksumIEEE(head) != p.headSum {
			return errChanged(j.group.columns[c].key)
		}
	}
	return nil
}

func errChanged(key string) error {
	return fmt.Errorf("%w: the header of %s is another", shardify.ErrChanged, key)
}

// buffer is the reader's own memory, of chunkBytes or n.
func (r *reader) buffer(n int) []byte {
	if n = max(n, chunkBytes); len(r.scratch) < n {
		r.scratch = make([]byte, n)
	}
	return r.scratch
}
