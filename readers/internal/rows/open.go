package rows

import (
	"context"
	"errors"
	"fmt"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/storage"
)

// Open surveys all inputs and compares their schemas, or restores what an earlier
// Open found from a.State, touching no file. a.Columns and the option "missing"
// apply; other options are the format's.
func Open(ctx context.Context, a format.OpenArgs, f Format) (*Set, error) {
	s := &Set{name: f.Name, key: f.Key, table: a.Table, beside: f.Beside != "", oversize: int64(f.Oversize)}
	if s.oversize <= 0 {
		s.oversize = 4
	}
	if a.State != nil {
		if err := s.decode(a.State); err != nil {
			return nil, shardify.Annotate(err, "open", "", "survey of the plan")
		}
		return s, s.stack(f.Channels)
	}
	want, err := NewWanted(a.Columns)
	if err != nil {
		return nil, err
	}
	m := merger{ctx: ctx, set: s, want: want, missing: Missing(a.Options[Option.Name])}
	if f.Beside != "" {
		m.alone, _ = want.Match(f.Beside) // no file needs to have it
	}
	c, err := survey(ctx, a, &f, want)
	if err != nil {
		return nil, err
	}
	m.collector = c
	if err := m.merge(); err != nil {
		return nil, err
	}
	s.lines, s.piece, s.parts, s.skipped = c.lines, c.piece, c.parts, c.skippedInputs()
	return s, s.stack(f.Channels)
}

// OpenFile opens a regular file for reading; anything else is refused. A file that has not size
// bytes is refused too, unless size is negative: it changed since the plan.
func OpenFile(ctx context.Context, fs storage.FS, path string, size int64) (storage.File, error) {
	f, err := fs.Open(ctx, path)
	if errors.Is(err, storage.ErrNotFile) {
		return nil, shardify.Unsupported("%v", storage.ErrNotFile)
	}
	if err != nil {
		return nil, err
	}
	if have := f.Size(); size >= 0 && have != size {
		f.Close()
		return nil, fmt.Errorf("%w: it has %d bytes, had %d", shardify.ErrChanged, have, size)
	}
	return f, nil
}
