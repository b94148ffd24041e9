package key

import (
	"cmp"
	"context"
	"errors"

	"github.com/shardify/shardify"
)

// ErrTooLarge is that a table is larger than the memory for it.
var ErrTooLarge = errors.New("the table is larger than the memory for it")

// ReadAll reads all samples of a source, about span bytes at once, into one column for each
// field, of most bytes in all.
func ReadAll(ctx context.Context, src shardify.Source, span, most int64) (all []shardify.Column, rows int, err error) {
	for _, f := range src.Schema() {
		all = append(all, f.Empty())
	}
	var size int64
	for sp, err := range src.Spans(ctx, span) {
		if size += sp.Bytes; err != nil || size > most {
			return nil, 0, cmp.Or(err, ErrTooLarge)
		}
	}
	err = ReadEach(ctx, src, span, shardify.NewPool(most), func(b *shardify.Batch) error {
		for i := range all {
			all[i].Append(&b.Columns[i], rows, b.Samples)
		}
		rows += b.Samples
		return nil
	})
	return all, rows, err
}

// ReadEach reads all samples of a source in their order, about span bytes at once.
func ReadEach(ctx context.Context, src shardify.Source, span int64, pool *shardify.Pool, do func(b *shardify.Batch) error) error {
	var r shardify.Reader
	run := uint32(0)
	defer func() {
		if r != nil {
			r.Close()
		}
	}()
	for sp, err := range src.Spans(ctx, span) {
		if err != nil {
			return err
		}
		if r == nil || run != sp.Run {
			if r != nil {
				r.Close()
			}
			if r, err = src.Reader(sp.Run); err != nil {
				return err
			}
			run = sp.Run
		}
		mem, err := pool.Grant(ctx, sp.Bytes)
		if err != nil {
			return err
		}
		b, err := r.Read(ctx, sp, mem)
		if err == nil {
			err = do(b)
		}
		mem.Release()
		if err != nil {
			return err
		}
	}
	return nil
}
