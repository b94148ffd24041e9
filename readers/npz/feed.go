package npz

import (
	"context"
	"hash/crc32"
	"io"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/readers/npz/internal/members"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/zips"
)

// feed gives the bytes of rows one after another.
type feed interface {
	fill(p []byte) error
}

// inPlace is a feed of bytes of the file. It sums what it reads.
type inPlace struct {
	ctx  context.Context
	f    io.ReaderAt
	pos  int64
	sum  uint32
	sums bool
}

// plainBytes is what is read at once where nothing is summed: large, and yet a
// cancelled context is soon seen.
const plainBytes = 16 << 20

func (s *inPlace) fill(p []byte) error {
	piece := plainBytes
	if s.sums {
		piece = chunkBytes
		storage.Announce(s.f, func(yield func(storage.Range) bool) { yield(storage.Range{Off: s.pos, Len: int64(len(p))}) })
	}
	for len(p) > 0 {
		q := p[:min(len(p), piece)]
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if n, err := s.f.ReadAt(q, s.pos); n < len(q) {
			if err == io.EOF || err == nil {
				return shardify.Corrupt(s.pos+int64(n), "truncated while it was read")
			}
			return err
		}
		if s.sums {
			s.sum = crc32.Update(s.sum, crc32.IEEETable, q)
		}
		s.pos += int64(len(q))
		p = p[len(q):]
	}
	return nil
}

// decoded is a feed of a compressed member.
type decoded struct {
	*members.Stream
	ctx context.Context
}

func (s decoded) fill(p []byte) error {
	for len(p) > 0 {
		q := p[:min(len(p), chunkBytes)]
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.Stream.Fill(q); err != nil {
			return err
		}
		p = p[len(q):]
	}
	return nil
}

// column reads one column's rows of the span.
func (j *job) column(c int) error {
	r := j.group.region(j.fileIndex, c, j.src.byFile)
	lo, hi := j.lo, j.lo+j.span.Samples()
	single := j.group.columns[c].single
	if j.src.byFile || single {
		lo, hi = 0, r.rows
	}
	if !single && j.passes(c, &r) {
		j.pass(c, &r, lo, hi)
		return nil
	}
	out := j.outputs(c, &r, (hi-lo)*r.perRow)
	var err error
	switch {
	case r.method != zips.Stored:
		err = j.packed(c, &r, lo, hi, out)
	case r.scattered():
		err = j.scattered(c, &r, lo, hi, out)
	default:
		err = j.stored(c, &r, lo, hi, out)
	}
	if err != nil {
		return err
	}
	if single {
		j.repeat(c, out)
	}
	j.deliver(c, out)
	return nil
}

// repeat gives every sample of the span the one value of the file.
func (j *job) repeat(c int, out []output) {
	n := int(j.span.Samples())
	for i := range out {
		o := &out[i]
		w, one := &j.group.columns[c].wanted[i], o.data[:o.pos]
		wide := j.mem.Alloc(int(w.wide(o.leaf, int64(n*len(one)))))
		data := wide[len(wide)-n*len(one):]
		for k := range n {
			copy(data[k*len(one):], one)
		}
		if texts := o.texts; o.offs != nil {
			offs := j.mem.Int64s(n*texts + 1)
			offs[0] = 0
			for k := range n * texts {
				offs[k+1] = int64(k/texts*len(one)) + o.offs[k%texts+1]
			}
			o.offs, o.texts = offs, n*texts
		}
		o.wide, o.data, o.pos = wide, data, len(data)
	}
}

// stored reads rows in place and proves what it read.
func (j *job) stored(c int, r *region, lo, hi int64, out []output) error {
	from := int64(r.head) + lo*r.rowBytes
	src := &inPlace{ctx: j.ctx, f: j.file.f, pos: r.off + from, sums: r.flags&hasSum != 0}
	if lo == 0 {
		from, src.sum = 0, r.headSum // openFile has read the header
	}
	if err := j.convert(src, r, hi-lo, out); err != nil {
		return err
	}
	to := int64(r.head) + hi*r.rowBytes
	if !src.sums || from == to {
		return nil
	}
	if from == 0 && to == r.size() {
		if src.sum != r.crc {
			return members.BadSum(src.sum, r.crc)
		}
		return nil
	}
	j.batch.Proofs = append(j.batch.Proofs, shardify.Proof{
		Input: j.group.files[j.fileIndex].input, Object: j.object + uint32(c),
		Lo: from, Hi: to, Sum: src.sum, Total: r.size(), Want: r.crc,
	})
	return nil
}

// packed decodes rows, from where the last span ended if it can.
func (j *job) packed(c int, r *region, lo, hi int64, out []output) error {
	from := int64(r.head) + lo*r.rowBytes
	if r.scattered() {
		from = int64(r.head) // all of it, whatever is wanted
	}
	s := j.file.streams[c]
	if s == nil || s.Pos > from {
		s.Close()
		s = members.OpenStream(j.file.f, r.off, r.packed, r.size(), uint16(r.method), r.crc)
		j.file.streams[c] = s
		if err := s.Fill(j.buffer(int(r.head))[:r.head]); err != nil {
			return err
		}
		if s.Sum != r.headSum {
			return errChanged(j.group.columns[c].key)
		}
	}
	src := decoded{s, j.ctx}
	for s.Pos < from {
		if err := src.fill(j.buffer(0)[:min(from-s.Pos, chunkBytes)]); err != nil {
			return err
		}
	}
	var err error
	if r.scattered() {
		err = j.turnWhole(src, r, lo, hi, out)
	} else {
		err = j.convert(src, r, hi-lo, out)
	}
	if err != nil {
		return err
	}
	if err := s.Finish(); err != nil {
		return err
	}
	if s.Done || j.file.packed > maxStreams { // the memory serves the next member
		s.Close()
		j.file.streams[c] = nil
	}
	return nil
}
