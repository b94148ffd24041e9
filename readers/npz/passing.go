package npz

import (
	"context"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/codecs/npy"
	"github.com/shardify/shardify/readers/internal/rows"
	"github.com/shardify/shardify/storage"
	"github.com/shardify/shardify/storage/local"
	"github.com/shardify/shardify/storage/storages"
	"github.com/shardify/shardify/storage/zips"
)

// passes reports whether column c of the span can be passed on as the file has it, piece by
// piece, instead of being held in memory.
func (j *job) passes(c int, r *region) bool {
	if !j.span.Stream || r.method != zips.Stored || r.turned() || len(r.item.Leaves) != 1 {
		return false
	}
	l := &r.item.Leaves[0]
	return j.straight(l, r) && !j.group.columns[c].wanted[0].widens(l) && !l.Scalar.IsText() && !l.Scalar.Repairs() && int64(l.Values()*l.Scalar.Size)*r.perRow == r.rowBytes
}

// Held implements format.Passer.
func (s *source) Held(sp shardify.Span) (n int64) {
	r := &reader{src: s, run: sp.Run}
	at, err := r.locate(sp)
	if err != nil {
		return sp.Bytes
	}
	for i, g := range s.groups {
		j := job{reader: r, span: sp, group: g}
		for c := range g.columns {
			x := g.region(at[i], c, s.byFile)
			if w := g.columns[c].wanted; len(w) > 0 && (g.columns[c].single || !j.passes(c, &x)) {
				count := sp.Samples()
				if s.byFile {
					count = x.rows
				}
				n = rows.SatAdd(n, rows.SatMul(x.cost(w), count))
			}
		}
	}
	return n
}

// straight: the leaf is the whole of the item.
func (j *job) straight(l *npy.Leaf, r *region) bool {
	return len(l.Runs) == 1 && l.Runs[0] == 0 && l.RunBytes == l.Values()*l.Scalar.Size
}

// pass adds column c to the batch as a stream of the file's bytes. The stream
// opens the file itself: the reader may have gone on to the next one by the time
// it is read.
func (j *job) pass(c int, r *region, lo, hi int64) {
	b, input := j.batch, j.group.files[j.fileIndex].input
	proof := shardify.Proof{
		Input: input, Object: j.object + uint32(c), Lo: int64(r.head) + lo*r.rowBytes, Hi: int64(r.head) + hi*r.rowBytes,
		Total: r.size(), Want: r.crc,
	}
	col := shardify.Column{Field: j.src.schema[len(b.Columns)], StreamBytes: proof.Hi - proof.Lo}
	feed := inPlace{ctx: j.ctx, pos: r.off + proof.Lo, sums: r.flags&hasSum != 0}
	if lo == 0 {
		proof.Lo, feed.sum = 0, r.headSum // openFile has read the header
	}
	path, object, size, fs := j.src.table.Path(int(input)), j.objectName(c), j.group.files[j.fileIndex].size, storages.Of(j.src.table)
	left := col.StreamBytes
	ctx := j.ctx
	col.Stream = func(yield func([]byte) error) error {
		err := streamFile(ctx, fs, path, size, feed, left, func(sum uint32, p []byte) error {
			proof.Sum = sum
			return yield(p)
		})
		if err != nil {
			return shardify.Annotate(err, "read", path, object)
		}
		if feed.sums {
			b.Proofs = append(b.Proofs, proof)
		}
		return nil
	}
	if col.Ragged {
		col.Offsets = [][]int64{j.even(int(j.span.Samples()), int(col.StreamBytes)/max(col.ElemBytes(), 1))}
	}
	b.Columns = append(b.Columns, col)
	if col.Ragged {
		b.Columns = append(b.Columns, j.shapeColumn(c))
	}
}

// streamFile yields left bytes of a file in pieces that stay in the processor's
// cache, with the sum of all so far.
func streamFile(ctx context.Context, fs storage.FS, path string, size int64, feed inPlace, left int64, yield func(sum uint32, p []byte) error) error {
	f, err := fs.Open(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.Size() != size {
		return fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, f.Size(), size)
	}
	feed.f, feed.ctx = local.Sequential(f), ctx
	buf := make([]byte, min(left, chunkBytes))
	for left > 0 {
		p := buf[:min(left, int64(len(buf)))]
		if err := feed.fill(p); err != nil {
			return err
		}
		if err := yield(feed.sum, p); err != nil {
			return err
		}
		left -= int64(len(p))
	}
	return nil
}
