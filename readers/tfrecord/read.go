package tfrecord

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index/tfrecord"
	"github.com/shardify/shardify/readers/internal/lines"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/readers/internal/rows/set"
	"github.com/shardify/shardify/readers/tfrecord/schema"
	"github.com/shardify/shardify/storage"
)

// pieceBytes is what there is at least between two places of the plan.
const pieceBytes = 1 << 20

var errState = shardify.Corrupt(-1, "survey of the plan: places of records")

// changed is the error of records that are not those of the survey.
func changed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", shardify.ErrChanged, fmt.Sprintf(format, args...))
}

// file is an open file; the readers of a source share it.
type file struct {
	storage.File
	leaves []schema.Leaf
	surveyed
}

// serial reports whether it is read from its beginning to its end: packed, or by steps of records, which take long
// to be read twice.
func (x *file) serial() bool {
	return x.packed || valuesOf(x.leaves) != nil
}

// Unwrap is the file below.
func (f *file) Unwrap() any { return f.File }

func openFile(_ context.Context, f storage.File, in *set.Input) (*file, error) {
	x, err := decode(in.Blob, in.Size, in.Samples)
	if err != nil {
		return nil, err
	}
	x.File = f
	return x, nil
}

// decode is the inverse of encode. The blob may come from a damaged plan.
func decode(b []byte, size, samples int64) (*file, error) {
	bad := false
	next := func() int64 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > 1<<60 {
			bad = true
			return 0
		}
		b = b[k:]
		return int64(n)
	}
	x := &file{}
	own := next()
	if bad || own > int64(len(b)) || json.Unmarshal(b[:own], &x.leaves) != nil {
		return nil, errState
	}
	b = b[own:]
	n := next()
	x.packed = n&1 != 0
	if n&2 != 0 {
		x.left = []lines.Left{}
	}
	if n >>= 2; n < 2 || n > int64(len(b)) {
		return nil, errState
	}
	for at := [2]int64{}; n > 0 && !bad; n-- {
		at[0] += next()
		at[1] += next()
		bad = bad || at[0] > 1<<60 || at[1] > samples || !x.packed && at[0] > size
		x.pieces = append(x.pieces, at)
	}
	if bad || len(b) > 0 || x.pieces[0] != [2]int64{} || x.pieces[len(x.pieces)-1][1] != samples {
		return nil, errState
	}
	return x, nil
}

// scanner is a Scanner of a whole file.
type scanner struct {
	*tfrecord.Scanner
	packed bool
}

func begin(f storage.File, size int64) (scanner, error) {
	p, err := tfrecord.PackingOf(f)
	if err != nil {
		return scanner{}, err
	}
	r := io.NewSectionReader(f, 0, size)
	if p == tfrecord.Gzip || p == tfrecord.Zlib {
		s := tfrecord.NewScanner(tfrecord.Unpack(p, f, r), 0, -1)
		s.Most = size * tfrecord.Expands
		return scanner{s, true}, nil
	}
	return scanner{tfrecord.NewScanner(r, 0, size), false}, nil
}

// Reader implements shardify.Source.
func (s *source) Reader(run uint32) (shardify.Reader, error) {
	if err := s.CheckRun(run); err != nil {
		return nil, err
	}
	return &reader{s: s, run: run}, nil
}

type reader struct {
	s       *source
	run     uint32
	input   uint32
	handle  *set.Handle[*file]
	decoder *decoder
	scan    scanner
	last    []byte // the record that scan is at, and its samples; of a file that is read in order
	samples [2]int64
	scratch shardify.Scratch
	closed  bool
}

// Close implements shardify.Reader.
func (r *reader) Close() error {
	r.drop()
	r.scratch.Close()
	r.closed = true
	return nil
}

func (r *reader) drop() {
	if r.handle != nil {
		r.handle.Release()
	}
	if r.handle, r.decoder, r.last = nil, nil, nil; r.run != 0 {
		r.scan = scanner{}
	}
}

// Read implements shardify.Reader.
func (r *reader) Read(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (*shardify.Batch, error) {
	if r.closed {
		return nil, errors.New("tfrecord: Read after Close")
	}
	in, b, err := r.s.BeginRun(ctx, sp, r.run, mem)
	if err != nil {
		return nil, err
	}
	if r.handle == nil || r.input != in.Index {
		r.drop()
		if r.handle, err = r.s.Acquire(ctx, &in); err != nil {
			r.handle = nil
			return nil, err
		}
		if r.input = in.Index; r.decoder == nil {
			if r.decoder, err = newDecoder(r.s.records, r.handle.Value, b, &in); err != nil {
				r.drop()
				return nil, shardify.Annotate(err, "read", in.Name(), "")
			}
		}
	}
	if err := r.read(ctx, sp, b, mem); err != nil {
		r.drop()
		return nil, shardify.Annotate(err, "read", in.Name(), "")
	}
	return r.s.Finish(&in, b, mem)
}

// seek makes scan begin at a record at or before sp.Lo, and returns its first sample.
func (r *reader) seek(ctx context.Context, sp shardify.Span, mem *shardify.Arena) (at int64, err error) {
	f := r.handle.Value
	hold := func(n int64) error { return r.scratch.Hold(ctx, mem, n+r.decoder.held()) }
	p := f.pieces
	a := sort.Search(len(p)-1, func(k int) bool { return p[k+1][1] > sp.Lo })
	z := sort.Search(len(p), func(k int) bool { return p[k][1] >= sp.Hi }) // the piece behind
	if a >= len(p)-1 || z >= len(p) {
		return 0, errState
	}
	if r.run != 0 {
		if r.scan.Scanner == nil || r.samples[0] > sp.Lo || !f.packed && p[a][1] > r.samples[1] {
			if r.scan, err = begin(f, f.Size()); err != nil {
				return 0, err
			}
			if r.last, r.samples = nil, [2]int64{}; !f.packed {
				r.scan.Reset(io.NewSectionReader(f, p[a][0], f.Size()-p[a][0]), p[a][0], f.Size()-p[a][0])
				r.samples = [2]int64{p[a][1], p[a][1]}
			}
		}
		r.scan.Hold = hold
		if r.samples[1] > sp.Lo {
			return r.samples[0], nil
		}
		return r.samples[1], nil
	}
	lo, size := p[a][0], p[z][0]-p[a][0]
	if r.scan.Scanner == nil {
		r.scan = scanner{Scanner: &tfrecord.Scanner{}}
	}
	r.scan.Reset(io.NewSectionReader(f, lo, size), lo, size)
	r.scan.Hold = hold
	return p[a][1], nil
}

func (r *reader) read(ctx context.Context, sp shardify.Span, b *shardify.Batch, mem *shardify.Arena) error {
	at, err := r.seek(ctx, sp, mem)
	if err != nil {
		return err
	}
	d := r.decoder
	d.begin(b, sp.Bytes, mem)
	for k := 0; at < sp.Hi; k++ {
		record, n := r.last, int(r.samples[1]-r.samples[0])
		if r.run == 0 || r.last == nil || r.samples[1] <= at {
			if record, err = r.scan.Next(); err == nil {
				n, err = d.samples(record)
			} else if err == io.EOF {
				err = changed("there are fewer records")
			}
		}
		r.last, r.samples = record, [2]int64{at, at + int64(n)}
		if lo, hi := max(at, sp.Lo), min(at+int64(n), sp.Hi); err == nil && lo < hi {
			err = d.record(record, int(lo-at), int(hi-at))
		}
		if err != nil {
			return shardify.Amend(err, func(e *shardify.Error) {
				if e.Sample = at; e.Offset < 0 && !r.scan.packed {
					e.Offset = r.scan.At()
				}
			})
		}
		if at += int64(n); k%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if err := d.end(b, mem); err != nil {
		return err
	}
	for i := range b.Columns {
		if err := rows.CheckText(&b.Columns[i], sp.Lo); err != nil {
			return err
		}
	}
	return r.scratch.Hold(ctx, mem, r.scan.Held()+d.held())
}
