package shuffle

import (
	"context"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/index"
)

// Emit takes samples in their final order; b is valid during the call, and what it needs
// more lives in mem.
type Emit func(b *shardify.Batch, mem *shardify.Arena) error

// batchBytes is the size of the batches that are passed on.
const batchBytes = 1 << 20

// orderBytes is what it takes to put a sample in order, beside its values.
const orderBytes = 64

// gatherer brings the samples of buckets together, in the order of their keys.
type gatherer struct {
	l     Layout
	keyer *Keyer
	pool  *shardify.Pool
	order sorter
	keys  []uint64
	// inside: the caller holds the grant of a span, and to wait for another could be to
	// wait for ever. What buckets take is then on top, one at a time.
	inside bool
}

func (s *Shuffle) gatherer() *gatherer {
	return &gatherer{l: s.Layout, keyer: s.Keyer, pool: s.Pool}
}

// bucket hands the samples of one bucket to emit, those of ranks [lo, hi) within it.
// parts is how many buckets its split has.
func (g *gatherer) bucket(ctx context.Context, from []*fragment, bucket, parts int, lo, hi int64, emit Emit) error {
	pieces, err := piecesOf(from, bucket)
	if err != nil {
		return err
	}
	var bytes, rows int64
	for _, p := range pieces {
		bytes += shardify.ClassBytes(p.hi - p.lo)
		rows += int64(p.rows)
	}
	if rows == 0 {
		return nil
	}
	mem, err := g.grant(ctx, 2*bytes+bytes/2+rows*orderBytes+batchBytes)
	if err != nil {
		return err
	}
	defer mem.Release()
	b, err := g.read(ctx, pieces, mem)
	if err != nil {
		return err
	}
	g.keys = g.keyer.keys(g.keys[:0], b)
	g.order.list = g.order.list[:0]
	for i, key := range g.keys {
		_, place := bucketOf(key, parts)
		g.order.list = append(g.order.list, ranked{place, int32(i)})
	}
	return g.emit(b, g.order.rows(b.IDs), lo, hi, emit)
}

func piecesOf(from []*fragment, bucket int) (pieces []piece, err error) {
	for _, f := range from {
		if pieces, err = f.pieces(pieces, bucket); err != nil {
			return nil, err
		}
	}
	return pieces, nil
}

// Bucket is all samples of a bucket, in any order. What they take is on top of what is
// granted to others.
func (x *Set) Bucket(ctx context.Context, bucket int, mem *shardify.Arena) (*shardify.Batch, error) {
	pieces, err := piecesOf(x.list, bucket)
	if err != nil {
		return nil, err
	}
	return x.s.gatherer().read(ctx, pieces, mem)
}

// grant is the memory for samples as read, as joined, and for what orders them.
func (g *gatherer) grant(ctx context.Context, bytes int64) (*shardify.Arena, error) {
	if g.inside {
		return g.pool.Overdraft(), nil
	}
	mem, err := g.pool.Grant(ctx, bytes)
	if err != nil {
		return nil, context.Cause(ctx)
	}
	return mem, nil
}

// read is all samples of the pieces, in any order.
func (g *gatherer) read(ctx context.Context, pieces []piece, mem *shardify.Arena) (*shardify.Batch, error) {
	raw := g.pool.Overdraft() // within the grant of mem; free as soon as the samples are joined
	defer raw.Release()
	var list []block
	for _, p := range pieces {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		b := raw.Alloc(int(p.hi - p.lo))
		err := readFull(p.f.blob, b, p.lo)
		if err == nil {
			if sum := index.CRC32C(0, b); sum != p.crc {
				err = shardify.Corrupt(p.lo, "crc32c of a piece is %08x, stored %08x", sum, p.crc)
			}
		}
		if err == nil {
			n := len(list)
			if list, err = g.l.blocks(list, b); err == nil && samplesOf(list[n:]) != p.rows {
				err = shardify.Corrupt(p.lo, "a piece of %d samples has %d", p.rows, samplesOf(list[n:]))
			}
		}
		if err != nil {
			p.f.failed(err)
			return nil, shardify.Annotate(err, "read", p.f.name, "")
		}
	}
	return g.l.join(list, mem), nil
}

func samplesOf(list []block) int {
	n := 0
	for i := range list {
		n += list[i].n
	}
	return n
}

// emit passes on rows [lo, hi) of an order in batches of the size of a span.
func (g *gatherer) emit(b *shardify.Batch, order []int32, lo, hi int64, emit Emit) error {
	order = order[max(lo, 0):min(hi, int64(len(order)))]
	step := int(max(int64(b.Samples)*batchBytes/max(b.Bytes(), 1), 1))
	for len(order) > 0 {
		n := min(step, len(order))
		if err := g.emitRows(b, order[:n], emit); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

func (g *gatherer) emitRows(b *shardify.Batch, rows []int32, emit Emit) error {
	mem := g.pool.Overdraft()
	defer mem.Release()
	part, err := b.Take(rows, mem)
	if err != nil {
		return err
	}
	return emit(part, mem)
}
