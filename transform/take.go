package transform

import "github.com/shardify/shardify"

// selected is the samples of a batch that are marked.
func selected(b *shardify.Batch, keep []byte, mem *shardify.Arena) (*shardify.Batch, error) {
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
