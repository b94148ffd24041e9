package survey

import (
	"context"

	"github.com/shardify/shardify/format"
	"github.com/shardify/shardify/internal/columns"
	"github.com/shardify/shardify/readers/internal/rows/set"
)

// Open surveys all inputs and compares their schemas, or restores what an earlier
// Open found from a.State, touching no file. a.Columns and the option "missing"
// apply; other options are the format's.
func Open(ctx context.Context, a format.OpenArgs, f Format) (*set.Set, error) {
	of := set.Of{Format: f.Name, Key: f.Key, Table: a.Table, Oversize: int64(f.Oversize), Beside: f.Beside != nil, Channels: f.Channels}
	if of.Oversize <= 0 {
		of.Oversize = 4
	}
	if a.State != nil {
		return set.Restore(of, a.State)
	}
	want, err := columns.New(a.Columns)
	if err != nil {
		return nil, err
	}
	alone := false
	for _, name := range f.Beside {
		hit, _ := want.Match(name) // no file needs to have it
		alone = alone || hit
	}
	s, err := look(ctx, a, &f, want)
	if err != nil {
		return nil, err
	}
	m := merger{seen: s, report: report{table: a.Table}, f: &f, want: want, alone: alone, rounds: a.Rounds}
	found, err := m.merge(ctx, Missing(a.Options[Option.Name]))
	if err != nil {
		return nil, err
	}
	return set.New(of, found)
}
