package op

import (
	"fmt"
	"slices"
	"sync"

	"github.com/shardify/shardify"
)

// Fork is a copy of a batch whose columns and counts may be changed.
func Fork(b *shardify.Batch) *shardify.Batch {
	out := *b
	out.Columns = slices.Clone(b.Columns)
	out.Counts = slices.Clip(b.Counts)
	return &out
}

// Count adds to a batch what was done to n values.
func Count(b *shardify.Batch, n int64, format string, args ...any) {
	if n > 0 {
		b.Counts = append(b.Counts, shardify.Count{Name: fmt.Sprintf(format, args...), N: n})
	}
}

// Match checks that a batch has as many columns as the schema that was given.
func Match(b *shardify.Batch, n int) error {
	if len(b.Columns) != n {
		return shardify.Mismatch("batch of %d columns for a schema of %d fields", len(b.Columns), n)
	}
	return nil
}

// SampleAt is the sample that value i of a column belongs to, values counted as numbers.
func SampleAt(c *shardify.Column, samples, i int) int {
	lo, hi := 0, samples
	for lo+1 < hi {
		mid := (lo + hi) / 2
		if from, _ := c.Range(mid, mid); from <= i*c.DType.Size() {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// AtSample fills in which sample an error is about.
func AtSample(err error, b *shardify.Batch, i int) error {
	return shardify.Amend(err, func(e *shardify.Error) { e.Sample = b.ID(i).Sample })
}

// Marks is a mark for each of n samples, of undefined values, from a pool of *[]byte.
func Marks(pool *sync.Pool, n int) *[]byte {
	m, _ := pool.Get().(*[]byte)
	if m == nil {
		m = new([]byte)
	}
	if cap(*m) < n {
		*m = make([]byte, n)
	}
	*m = (*m)[:n]
	return m
}

// Mark is 1 for true.
func Mark(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Select is the samples of a batch that are marked by 1.
func Select(b *shardify.Batch, keep []byte, mem *shardify.Arena) (*shardify.Batch, error) {
	n := 0
	for _, k := range keep {
		n += int(k)
	}
	if n == b.Samples {
		return b, nil
	}
	rows := shardify.View[int32](mem.Alloc(n * 4))
	n = 0
	for i, k := range keep {
		if k != 0 {
			rows[n] = int32(i)
			n++
		}
	}
	out, err := b.Take(rows, mem)
	if err != nil {
		return nil, err
	}
	out.Counts, out.Proofs = b.Counts, b.Proofs
	return out, nil
}

// Repeat fills dst with copies of v.
func Repeat(dst, v []byte) {
	if len(v) == 0 {
		return
	}
	for n := copy(dst, v); n > 0 && n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}
