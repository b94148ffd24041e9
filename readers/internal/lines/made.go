package lines

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/storage"
)

// made surveys a file whose text is made.
func (s *Survey) made(ctx context.Context, f storage.File, path string) (*Index, error) {
	all, err := s.Made.Look(ctx, f, path)
	if err != nil {
		return nil, err
	}
	rows, n := all.Rows, len(all.Rows)-1
	sizes := make([]int64, n)
	errs := make([]error, n)
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for w := range min(s.Workers, n) {
		g.Go(func() error {
			m, err := s.Made.Open(ctx, f, path, all.State)
			if err != nil {
				return err
			}
			defer m.Close()
			p := &Piece{}
			for k := int(next.Add(1) - 1); k < n; k = int(next.Add(1) - 1) {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				*p = Piece{Data: p.Data[:0], Line: rows[k], number: k, made: s.Made}
				if p.Data, err = m.Piece(ctx, k, rows[k], rows[k+1], p.Data); err != nil {
					errs[k] = err
					return err
				}
				if len(p.Data) > maxMade {
					errs[k] = shardify.Unsupported("%s of text of %s %d and those behind it, more than %s", shardify.FormatSize(int64(len(p.Data))), s.Made.Record, rows[k]+1, shardify.FormatSize(maxMade))
					return errs[k]
				}
				sizes[k] = int64(len(p.Data))
				have, err := s.Work(w, p)
				if err == nil && have != rows[k+1]-rows[k] {
					err = fmt.Errorf("%w: %d records where there were %d", shardify.ErrChanged, have, rows[k+1]-rows[k])
				}
				if err != nil {
					errs[k] = err
					return err
				}
			}
			return nil
		})
	}
	err = g.Wait()
	if first := slices.IndexFunc(errs, func(err error) bool { return err != nil }); first >= 0 {
		return nil, errs[first]
	}
	if err != nil {
		return nil, err
	}
	x := &Index{Off: make([]int64, n+1), Row: rows, Pieces: all, made: true, state: all.State}
	for k := range n {
		x.Off[k+1] = x.Off[k] + sizes[k]
	}
	return x, nil
}

// maxMade bounds a piece in memory.
const maxMade = 256 << 20
